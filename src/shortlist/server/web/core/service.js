// The routes of the service, and their answers as the page needs them.

import { get, path, post, postFile, readEvents, remove, ServiceError } from "./api.js";

/** @import { EventListener } from "./api.js" */
/** @import * as Types from "./types.js" */

// The corpus that can be changed over HTTP.
const SERVED = "catalog";

/**
 * Lists the corpora, without built-in ones that were never built.
 *
 * @returns {Promise<Types.Corpus[]>}
 */
export async function listCorpora() {
  const { corpora } = await get("/v1/corpora");
  return corpora
    .filter((/** @type {Types.Corpus} */ { name, kind, documents }) => name !== kind || documents !== null)
    .map((/** @type {Types.Corpus} */ row) => ({ ...row, served: row.name === SERVED }));
}

/** @param {string} corpus */
export const discoverPath = (corpus) => path("v1", "corpora", corpus, "discover");

/**
 * @param {string} corpus
 * @param {object} body
 * @param {AbortSignal} signal
 * @returns {Promise<Types.Discovery>}
 */
export const discover = (corpus, body, signal) => post(discoverPath(corpus), body, { signal });

/**
 * @param {string} corpus
 * @param {object} body
 * @returns {Promise<Types.Explanation>}
 */
export const explain = (corpus, body) => post(path("v1", "corpora", corpus, "explain"), body);

/**
 * @param {string} corpus
 * @param {string} id
 * @returns {Promise<Types.Disclosure>}
 */
export const disclose = async (corpus, id) =>
  (await post(path("v1", "corpora", corpus, "disclose"), { ids: [id], level: "bundled" })).documents[0];

/**
 * Reports that a query led to a document, or that it was wrong; with `undo`, takes that back.
 *
 * @param {string} corpus
 * @param {{ query: string, id: string, outcome: "called" | "wrong", shown: string[], session: string, undo?: boolean }} body
 * @returns {Promise<{ learning: "on" | "log" | "off" }>}
 */
export const sendFeedback = (corpus, body) => post(path("v1", "corpora", corpus, "feedback"), body);

/**
 * @param {string} corpus
 * @returns {Promise<{ uses: number }>}
 */
export const readUsage = (corpus) => get(path("v1", "corpora", corpus, "usage"));

/** @param {string} corpus */
export const forgetUsage = (corpus) => remove(path("v1", "corpora", corpus, "usage"));

/**
 * Answers a question; `onEvent` is called while the answer is written.
 *
 * @param {string} corpus
 * @param {object} body
 * @param {EventListener} onEvent
 * @param {AbortSignal} signal
 * @returns {Promise<Types.Answer>}
 */
export const ask = (corpus, body, onEvent, signal) =>
  readEvents(path("v1", "corpora", corpus, "ask"), body, onEvent, signal);

/**
 * Evaluates a corpus; `onEvent("progress", {step, share})` is called while it runs.
 *
 * @param {string} corpus
 * @param {object} body
 * @param {EventListener} onEvent
 * @param {AbortSignal} signal
 * @returns {Promise<Types.Evaluation>}
 */
export const evaluate = (corpus, body, onEvent, signal) =>
  readEvents(path("v1", "corpora", corpus, "eval"), body, onEvent, signal);

/**
 * @param {string} corpus
 * @param {EventListener} onEvent
 * @param {AbortSignal} signal
 * @returns {Promise<Types.Findings>}
 */
export const lint = (corpus, onEvent, signal) => readEvents(path("v1", "corpora", corpus, "lint"), {}, onEvent, signal);

/**
 * @param {string} corpus
 * @param {{ offset: number, limit: number, q: string, sort?: string, descending?: boolean }} page
 * @returns {Promise<Types.DocumentList>}
 */
export const listDocuments = (corpus, { offset, limit, q, sort = "added", descending = false }) => {
  const query = new URLSearchParams({ offset: `${offset}`, limit: `${limit}`, q, sort, descending: `${descending}` });
  return get(`${path("v1", "corpora", corpus, "documents")}?${query}`);
};

/**
 * @param {string} corpus
 * @param {string} id
 */
export const hasDocument = async (corpus, id) =>
  (await listDocuments(corpus, { offset: 0, limit: 10_000, q: id })).documents.some((document) => document.id === id);

/**
 * @param {string} corpus
 * @param {Types.ListedDocument} document
 */
export const saveDocument = (corpus, document) =>
  post(path("v1", "corpora", corpus, "documents"), { documents: [document] });

/**
 * @param {string} corpus
 * @param {string} id
 */
export const deleteDocument = (corpus, id) => remove(path("v1", "corpora", corpus, "documents", id));

/**
 * Deletes the documents with these ids, or all that contain a text.
 *
 * @param {string} corpus
 * @param {{ ids: string[] } | { q: string }} which
 * @returns {Promise<{ removed: number }>}
 */
export const deleteDocuments = (corpus, which) => post(path("v1", "corpora", corpus, "documents", "delete"), which);

/**
 * @param {string} corpus
 * @param {string} where its path below the folder of the corpus
 * @param {Blob} content
 * @param {AbortSignal} signal
 */
export const uploadFile = (corpus, where, content, signal) =>
  postFile(`${path("v1", "corpora", corpus, "files")}?${new URLSearchParams({ path: where })}`, content, signal);

/**
 * Indexes uploaded files; `onEvent("progress", {step, share})` is called while it runs.
 *
 * @param {string} corpus
 * @param {EventListener} onEvent
 * @param {AbortSignal} signal
 * @returns {Promise<Types.BuildReport>}
 */
export const buildUploaded = (corpus, onEvent, signal) =>
  readEvents(path("v1", "corpora", corpus, "build"), {}, onEvent, signal);

/** @returns {Promise<Types.Status>} */
export const readStatus = () => get("/status");

/**
 * The MCP servers and what is pending approval; null if MCP is disabled.
 *
 * @param {Types.Status} status
 * @returns {Promise<Types.McpServers | null>}
 */
export async function listMcpServers({ configuration }) {
  if (!configuration.find(({ key }) => key === "mcp.enabled")?.value) return null;
  try {
    return await get("/v1/mcp");
  } catch (error) {
    if (!(error instanceof ServiceError) || !error.status) throw error;
    return { servers: [], pending: [], pending_files: [], problem: error.message };
  }
}
