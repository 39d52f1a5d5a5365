// Requests to the service. Every failure becomes a ServiceError with a message that can be shown as it is.

import { h } from "./dom.js";

const TOKEN = "shortlist-token";
let asking = null;

class ServiceError extends Error {
  constructor(message, { status = 0, type = "", title = "", fields = {} } = {}) {
    super(message);
    this.status = status;
    this.type = type;
    this.title = title;
    this.fields = fields;
  }
}

export const get = (path, options) => call("GET", path, options);
export const post = (path, body, options) => call("POST", path, { ...options, body });
export const remove = (path, options) => call("DELETE", path, options);

/** A path with each part encoded: a document's id may contain any character. */
export const path = (...parts) => `/${parts.map(encodeURIComponent).join("/")}`;

/** Reads server-sent events, calls `onEvent(name, data)` for each, and returns the data of the last one, the answer. */
export async function events(where, body, onEvent, { signal }) {
  const response = await send("POST", where, { body, signal, accept: "text/event-stream" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      return { done: true };
    });
    if (done) throw new ServiceError("The answer was interrupted. Try again.", { title: "No connection" });
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = block.match(/^event: (\w+)\ndata: (.*)$/) ?? [];
      if (!name) continue;
      const parsed = JSON.parse(data);
      if (name === "error") throw problem(parsed);
      if (name === "answer") return parsed;
      onEvent(name, parsed);
    }
  }
}

const call = async (method, where, options) => parse(await send(method, where, options));

/** The response to a successful request. Asks for the token until it is accepted. */
async function send(method, where, { body, signal, accept = "application/json" } = {}) {
  for (;;) {
    const sent = sessionStorage.getItem(TOKEN);
    const headers = { accept };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (sent) headers.authorization = `Bearer ${sent}`;
    let response;
    try {
      response = await fetch(where, {
        method,
        headers,
        signal,
        body: body === undefined ? undefined : JSON.stringify(body),
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      showConnection(false);
      throw new ServiceError(
        "The service does not answer. If it was stopped, start it again: shortlist serve.",
        { title: "No connection" },
      );
    }
    showConnection(true);
    if (response.status === 401) {
      if (sent === sessionStorage.getItem(TOKEN))
        await (asking ??= askForToken(Boolean(sent)).finally(() => {
          asking = null;
        }));
      continue;
    }
    if (!response.ok) throw problem({ status: response.status, ...(await parse(response)) });
    return response;
  }
}

async function parse(response) {
  const text = await response.text();
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return { detail: text.slice(0, 300) };
  }
}

function problem({ status, type, title, detail, errors = [] }) {
  const fields = Object.fromEntries(errors.map(({ where, message }) => [where.split(".").at(-1), message]));
  return new ServiceError(detail || `The service answered ${status}.`, { status, type, title, fields });
}

function showConnection(isFine) {
  const element = document.getElementById("link");
  if (element.dataset.fine === String(isFine)) return;
  element.dataset.fine = String(isFine);
  element.textContent = isFine ? "Connected" : "No connection";
}

export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

/** Resolves once a token was entered; it is stored for this browser tab only. Fails if the dialog is closed. */
function askForToken(wasWrong) {
  return new Promise((resolve, reject) => {
    const input = h("input", {
      id: "token",
      name: "token",
      type: "password",
      autocomplete: "off",
      required: true,
      spellcheck: "false",
    });
    const submit = (event) => {
      event.preventDefault();
      sessionStorage.setItem(TOKEN, input.value.trim());
      resolve();
      dialog.close();
    };
    const close = () => {
      dialog.remove();
      reject(new ServiceError("Without a token the service answers nothing.", { status: 401, title: "No token" }));
    };
    const dialog = h(
      "dialog",
      {
        class: "dialog small",
        "aria-labelledby": "token-title",
        onclose: close,
      },
      h(
        "form",
        { onsubmit: submit },
        h("h2", { id: "token-title" }, "This service requires a token"),
        h(
          "p",
          { class: "muted" },
          wasWrong
            ? "The token was not accepted. Try another one."
            : "Enter the token that the service was started with. It is stored until you close this browser tab.",
        ),
        h("label", { for: "token" }, "Token"),
        input,
        h(
          "div",
          { class: "actions" },
          h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
          h("button", { class: "primary" }, "Continue"),
        ),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
