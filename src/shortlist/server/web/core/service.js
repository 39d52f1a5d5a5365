// The routes of the service, and their answers as the page needs them.

import { events, get, path, post, remove } from "./api.js";
import { h } from "./dom.js";

// The corpus behind POST /retrieve, which can be changed over HTTP.
const SERVED = "catalog";

/** All corpora; `served` marks the catalog, and `documents` is null for a corpus that was never built. */
export async function corpora() {
  const { corpora: rows } = await get("/v1/corpora");
  return rows.map((row) => ({ ...row, served: row.name === SERVED }));
}

export const RETRIEVE = "/retrieve";
export const discoverPath = (corpus) => path("v1", "corpora", corpus, "discover");
export const retrieve = (body, signal) => post(RETRIEVE, body, { signal });
export const discover = (corpus, body, signal) => post(discoverPath(corpus), body, { signal });
export const explain = (corpus, body) => post(path("v1", "corpora", corpus, "explain"), body);
export const disclose = async (corpus, id) =>
  (await post(path("v1", "corpora", corpus, "disclose"), { ids: [id], level: "bundled" })).documents[0];

/** Reports that a query led to a document: `{query, id, shown}`. */
export const feedback = (corpus, body) => post(path("v1", "corpora", corpus, "feedback"), body);
export const usage = (corpus) => get(path("v1", "corpora", corpus, "usage"));
export const forget = (corpus) => remove(path("v1", "corpora", corpus, "usage"));

/** The answer; `onEvent(name, data)` is called while it is written. */
export const ask = (corpus, body, onEvent, signal) =>
  events(path("v1", "corpora", corpus, "ask"), body, onEvent, { signal });
/** The name of the language model that answers; empty if there is none. */
export const languageModel = async () => (await get("/status")).llm;

/** The evaluation of a corpus; `onEvent("progress", {step, share})` is called while it runs. */
export const evaluate = (corpus, body, onEvent, signal) =>
  events(path("v1", "corpora", corpus, "eval"), body, onEvent, { signal });
export const lint = (corpus, onEvent, signal) => events(path("v1", "corpora", corpus, "lint"), {}, onEvent, { signal });

export const documents = (corpus, { offset, limit, q }) =>
  get(`${path("v1", "corpora", corpus, "documents")}?${new URLSearchParams({ offset, limit, q })}`);
export const has = async (corpus, id) =>
  (await documents(corpus, { offset: 0, limit: 10_000, q: id })).documents.some((one) => one.id === id);
export const save = (document) => post("/documents", document);
export const drop = (id) => remove(path("documents", id));

export const settings = () => get("/settings");

/** Each setting in force, and its origin. */
export async function settingsWithOrigins() {
  const { settings: inForce, configuration } = await get("/status");
  const rows = configuration.map(({ key, origin }) => [key.replace("bm25s.", ""), origin]);
  return { inForce, origins: Object.fromEntries(rows) };
}

export const change = (partial) => post("/settings", partial);
export const files = () => get("/document-files");
export const switchTo = (file) => post("/switch-document-file", { file });
export const reload = () => post("/documents/reload");
export const status = () => get("/status");

/** The MCP servers and what is pending approval, or `problem` if they cannot be read; null if MCP is disabled. */
export async function mcp({ configuration }) {
  if (!configuration.find(({ key }) => key === "mcp.enabled").value) return null;
  try {
    return await get("/v1/mcp");
  } catch (error) {
    if (!error.status) throw error;
    return { servers: [], pending: [], pending_files: [], problem: error.message };
  }
}

/** The options of a corpus select box; a corpus that was never built is disabled. */
export function choices(rows) {
  return rows.map((row) =>
    h(
      "option",
      { value: row.name, disabled: row.documents === null },
      `${row.name} (${row.documents === null ? "not built" : row.documents.toLocaleString("en")})`,
    ),
  );
}

/** The corpus with this name, or else the catalog. */
export const preferred = (rows, name) =>
  rows.find((row) => row.name === name && row.documents !== null) ?? rows.find((row) => row.served);
