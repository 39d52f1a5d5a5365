// Requests to the service. Every failure becomes a ServiceError with a message that can be shown as it is.

import { askForToken, readToken } from "./token.js";

/** @typedef {{ status?: number, type?: string, title?: string, fields?: Record<string, string> }} ProblemDetails */
/** @typedef {{ body?: unknown, raw?: Blob, signal?: AbortSignal, accept?: string }} RequestOptions */
/** @typedef {(name: string, data: any) => void} EventListener called for each event of an answer */

/** @type {Promise<boolean> | null} */
let tokenRequest = null; // shared by all requests that wait for a token

export class ServiceError extends Error {
  /**
   * @param {string} message
   * @param {ProblemDetails} [details]
   */
  constructor(message, { status = 0, type = "", title = "", fields = {} } = {}) {
    super(message);
    this.status = status;
    this.type = type;
    this.title = title;
    this.fields = fields;
  }
}

/**
 * @param {string} where
 * @returns {Promise<any>}
 */
export const get = (where) => call("GET", where);

/**
 * @param {string} where
 * @param {unknown} [body]
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<any>}
 */
export const post = (where, body, options) => call("POST", where, { ...options, body });

/**
 * Sends the content of a file.
 *
 * @param {string} where
 * @param {Blob} raw
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export const postFile = (where, raw, signal) => call("POST", where, { raw, signal });

/**
 * @param {string} where
 * @returns {Promise<any>}
 */
export const remove = (where) => call("DELETE", where);

/**
 * Encodes each part of a path: the id of a document may contain any character.
 *
 * @param {...string} parts
 */
export const path = (...parts) => `/${parts.map(encodeURIComponent).join("/")}`;

/**
 * Reads server-sent events and returns the data of the last one, the answer.
 *
 * @param {string} where
 * @param {unknown} body
 * @param {EventListener} onEvent
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export async function readEvents(where, body, onEvent, signal) {
  const response = await send("POST", where, { body, signal, accept: "text/event-stream" });
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read().catch((error) => {
      if (isAbort(error)) throw error;
      return { value: "", done: true };
    });
    if (done) throw new ServiceError("The answer was interrupted. Try again.", { title: "No connection" });
    const blocks = (text + value).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, name, data] = block.match(/^event: (\w+)\ndata: (.*)$/) ?? [];
      if (!name) continue;
      const parsed = JSON.parse(data);
      if (name === "error") throw toError(parsed);
      if (name === "answer") return parsed;
      onEvent(name, parsed);
    }
  }
}

/**
 * Whether a request was aborted.
 *
 * @param {unknown} error
 */
export const isAbort = (error) => error instanceof DOMException && error.name === "AbortError";

/**
 * @param {string} method
 * @param {string} where
 * @param {RequestOptions} [options]
 */
const call = async (method, where, options) => parse(await send(method, where, options));

/**
 * Sends a request until it succeeds with a token that is accepted.
 *
 * @param {string} method
 * @param {string} where
 * @param {RequestOptions} [options]
 */
async function send(method, where, { body, raw, signal, accept = "application/json" } = {}) {
  for (;;) {
    const token = readToken();
    /** @type {Record<string, string>} */
    const headers = { accept };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (raw) headers["content-type"] = "application/octet-stream";
    if (token) headers.authorization = `Bearer ${token}`;
    const response = await fetchOrFail(where, {
      method,
      headers,
      signal,
      body: raw ?? (body === undefined ? undefined : JSON.stringify(body)),
    });
    if (response.status === 401) {
      if (token === readToken()) await waitForToken(Boolean(token));
      continue;
    }
    if (!response.ok) throw toError({ status: response.status, ...(await parse(response)) });
    return response;
  }
}

/**
 * @param {string} where
 * @param {RequestInit} options
 */
async function fetchOrFail(where, options) {
  try {
    const response = await fetch(where, options);
    showConnection(true);
    return response;
  } catch (error) {
    if (isAbort(error)) throw error;
    showConnection(false);
    throw new ServiceError("The service does not answer. If it was stopped, start it again: shortlist serve.", {
      title: "No connection",
    });
  }
}

/** @param {boolean} wasWrong */
async function waitForToken(wasWrong) {
  tokenRequest ??= askForToken(wasWrong).finally(() => {
    tokenRequest = null;
  });
  if (!(await tokenRequest))
    throw new ServiceError("Enter a token to use this service.", { status: 401, title: "No token" });
}

/** @param {Response} response */
async function parse(response) {
  const text = await response.text();
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return { detail: text.slice(0, 300) };
  }
}

/**
 * @param {ProblemDetails & { detail?: string, errors?: { where: string, message: string }[] }} problem
 */
function toError({ status, type, title, detail, errors = [] }) {
  const fields = Object.fromEntries(errors.map(({ where, message }) => [where.split(".").at(-1), message]));
  return new ServiceError(detail || `The service answered ${status}.`, { status, type, title, fields });
}

/** @param {boolean} isFine */
function showConnection(isFine) {
  const element = document.getElementById("link");
  if (!element || element.dataset.fine === String(isFine)) return;
  element.dataset.fine = String(isFine);
  element.textContent = isFine ? "Connected" : "No connection";
}
