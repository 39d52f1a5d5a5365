// The modes of a search.

/** @import { Option } from "./controls.js" */

/** @type {Option[]} */
export const MODES = [
  ["auto", "Auto", "Keyword and semantic search, blended."],
  ["lexical", "Lexical", "Keyword search (BM25)."],
  ["dense", "Dense", "Semantic search (cosine of vectors)."],
  ["hybrid", "Hybrid", "Reciprocal rank fusion of both."],
];

/** @param {string} mode */
export const isMode = (mode) => MODES.some(([name]) => name === mode);
