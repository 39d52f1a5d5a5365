// The routes of the compat extension.

import { get, post } from "../core/api.js";
import { readStatus } from "../core/service.js";

/** @typedef {{ id: string, title: string, content: string, softmax_score: number, bm25_score: number }} RetrievedDocument */

/**
 * @typedef {object} Retrieval
 * @property {boolean} success
 * @property {string} message
 * @property {RetrievedDocument[]} documents
 * @property {number} total_retrieved
 */

/** @typedef {{ temperature: number, llm_tools_cutoff: number, ignore_zero: boolean }} RetrieverSettings */
/** @typedef {{ current: string, folder: string, files: { file: string, bytes: number, current: boolean }[] }} CatalogFiles */
/** @typedef {{ message: string, count: number }} ChangeReport */

export const RETRIEVE = "/retrieve";

/**
 * @param {object} body
 * @param {AbortSignal} signal
 * @returns {Promise<Retrieval>}
 */
export const retrieve = (body, signal) => post(RETRIEVE, body, { signal });

/** @returns {Promise<RetrieverSettings>} */
export const readSettings = () => get("/settings");

/** @param {Partial<RetrieverSettings>} partial */
export const changeSettings = (partial) => post("/settings", partial);

/**
 * Reads the settings in force, and the origin of each.
 *
 * @returns {Promise<{ values: RetrieverSettings, origins: Record<string, string> }>}
 */
export async function readSettingsWithOrigins() {
  const [values, { configuration }] = await Promise.all([readSettings(), readStatus()]);
  const origins = configuration.map(({ key, origin }) => [key.replace("bm25s.", ""), origin]);
  return { values, origins: Object.fromEntries(origins) };
}

/** @returns {Promise<CatalogFiles>} */
export const listFiles = () => get("/document-files");

/**
 * @param {string} file
 * @returns {Promise<ChangeReport>}
 */
export const switchFile = (file) => post("/switch-document-file", { file });

/** @returns {Promise<ChangeReport>} */
export const reloadFile = () => post("/documents/reload");
