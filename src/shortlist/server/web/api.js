// Asks the service. Every failure becomes a ServiceError with a sentence that can be shown as it is.

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

/** A path with each part encoded: a document's id may hold anything. */
export const path = (...parts) => `/${parts.map(encodeURIComponent).join("/")}`;

/** Hears server-sent events, `heard(name, data)` for each, and gives back the data of the last one, the answer. */
export async function events(where, body, heard, { signal }) {
  const response = await reach("POST", where, { body, signal, accept: "text/event-stream" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      if (error.name === "AbortError") throw error;
      return { done: true };
    });
    if (done) throw new ServiceError("The answer broke off. Ask again.", { title: "No connection" });
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = block.match(/^event: (\w+)\ndata: (.*)$/) ?? [];
      if (!name) continue;
      const told = JSON.parse(data);
      if (name === "error") throw problem(told);
      if (name === "answer") return told;
      heard(name, told);
    }
  }
}

const call = async (method, where, options) => answered(await reach(method, where, options));

/** The response to a request that the service was content with; it asks for the token until one fits. */
async function reach(method, where, { body, signal, accept = "application/json" } = {}) {
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
      linked(false);
      throw new ServiceError(
        "The service does not answer. It may have been stopped; start it again with: shortlist serve.",
        { title: "No connection" },
      );
    }
    linked(true);
    if (response.status === 401) {
      if (sent === sessionStorage.getItem(TOKEN))
        await (asking ??= askForToken(Boolean(sent)).finally(() => {
          asking = null;
        }));
      continue;
    }
    if (!response.ok) throw problem({ status: response.status, ...(await answered(response)) });
    return response;
  }
}

async function answered(response) {
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

function linked(fine) {
  const element = document.getElementById("link");
  if (element.dataset.fine === String(fine)) return;
  element.dataset.fine = String(fine);
  element.textContent = fine ? "Connected" : "No connection";
}

/** Resolves once a token was given; it is kept for this browser tab only. */
function askForToken(wasWrong) {
  return new Promise((resolve) => {
    const input = h("input", {
      id: "token",
      name: "token",
      type: "password",
      autocomplete: "off",
      required: true,
      spellcheck: "false",
    });
    const give = (event) => {
      event.preventDefault();
      sessionStorage.setItem(TOKEN, input.value.trim());
      dialog.remove();
      resolve();
    };
    const dialog = h(
      "dialog",
      {
        class: "dialog small",
        "aria-labelledby": "token-title",
        oncancel: (event) => event.preventDefault(),
      },
      h(
        "form",
        { onsubmit: give },
        h("h2", { id: "token-title" }, "This service asks for a token"),
        h(
          "p",
          { class: "muted" },
          wasWrong
            ? "The token was not accepted. Try another one."
            : "It is the token that the service was started with. It is kept until you close this browser tab.",
        ),
        h("label", { for: "token" }, "Token"),
        input,
        h("div", { class: "actions" }, h("button", { class: "primary" }, "Continue")),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}
