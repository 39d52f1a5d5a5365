// The query of a search: its options, their ranges, and its form in an address.

import { isMode } from "../core/modes.js";
import { readFilters } from "./filters.js";

/** @import { Option } from "../core/controls.js" */
/** @import { Params } from "../core/route.js" */
/** @import { Query, View } from "./types.js" */

// The name of the view in an address.
const VIEW_PARAMETER = "look";

// The former name of a value in addresses that were saved.
const FORMER_NAMES = { min_score: "min_relevance" };

/** @type {Query} */
export const DEFAULTS = {
  corpus: "",
  q: "",
  view: "discover",
  mode: "auto",
  k: 10,
  strategy: "",
  rel: 0.9,
  max_k: 3,
  gap_ratio: 0.5,
  min_relevance: 0,
  temperature: 0.5,
  cutoff: 10,
  ignore_zero: true,
  filters: [],
};

/** @type {Option[]} */
export const STRATEGIES = [
  ["", "Adaptive", "The best document, and others that are nearly as relevant: up to five."],
  ["conservative", "Conservative", "The best document and others close to it."],
  ["top_k", "Top k", "The first documents, whatever their scores."],
  ["rel_threshold", "Relative threshold", "Documents close to the best."],
  ["abs_threshold", "Absolute threshold", "Documents at or above the threshold."],
  ["score_gap", "Score gap", "Documents before the first large drop."],
  ["softmax", "Softmax", "Documents with a sufficient share."],
];

/**
 * The values that each strategy takes.
 * @type {Record<string, RangeName[]>}
 */
export const STRATEGY_VALUES = {
  "": [],
  conservative: ["rel", "max_k"],
  top_k: ["max_k"],
  rel_threshold: ["rel", "max_k"],
  abs_threshold: ["max_k"],
  score_gap: ["gap_ratio", "max_k"],
  softmax: ["temperature", "cutoff", "max_k"],
};

/** @typedef {"k" | "rel" | "max_k" | "gap_ratio" | "min_relevance" | "temperature" | "cutoff"} RangeName */

/** @type {Record<RangeName, [min: number, max: number]>} */
export const RANGES = {
  k: [1, 100],
  rel: [0, 1],
  max_k: [1, 20],
  gap_ratio: [0, 1],
  min_relevance: [0, 1],
  temperature: [0.1, 10],
  cutoff: [0, 100],
};

/**
 * Reads the valid values of an address.
 *
 * @param {Params} params
 * @param {View[]} views
 * @returns {Partial<Query>}
 */
export function readQuery(params, views) {
  /** @type {Record<string, unknown>} */
  const query = {};
  const toggles = new Set(views.flatMap((view) => Object.keys(view.toggles)));
  for (const [given, text = ""] of Object.entries(params)) {
    const name = /** @type {Record<string, string>} */ (FORMER_NAMES)[given] ?? given;
    if (name === VIEW_PARAMETER && views.some((view) => view.id === text)) query.view = text;
    if (name === "filters") query.filters = readFilters(text);
    if (name === "mode" && isMode(text)) query.mode = text;
    if (name === "strategy" && text in STRATEGY_VALUES) query.strategy = text;
    if (toggles.has(name) && ["true", "false"].includes(text)) query[name] = text === "true";
    if (name in RANGES && isInRange(/** @type {RangeName} */ (name), Number(text))) query[name] = Number(text);
  }
  return query;
}

/**
 * @param {RangeName} name
 * @param {number} value
 */
function isInRange(name, value) {
  const [min, max] = RANGES[name];
  return value >= min && value <= max;
}

/**
 * The parameters of an address: all values that are not defaults.
 *
 * @param {Query} query
 * @param {Query} defaults
 * @param {boolean} isServed whether the corpus is the catalog, which needs no name
 * @returns {Record<string, unknown>}
 */
export function queryParams({ corpus, q, filters, ...values }, defaults, isServed) {
  /** @type {Record<string, unknown>} */
  const standard = { ...defaults };
  const changed = Object.entries(values).filter(([name, value]) => value !== standard[name]);
  const named = changed.map(([name, value]) => [name === "view" ? VIEW_PARAMETER : name, value]);
  return {
    corpus: isServed ? "" : corpus,
    q,
    ...Object.fromEntries(named),
    filters: filters.length ? JSON.stringify(filters) : "",
  };
}
