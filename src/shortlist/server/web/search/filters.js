// The metadata filter of a search: pairs of a key and a value.

/** @import { Data } from "../core/types.js" */
/** @import { Pair } from "./types.js" */

/**
 * The filter of the API: all keys must match; of several values of one key, any.
 *
 * @param {Pair[]} pairs
 * @returns {Data}
 */
export function toFilter(pairs) {
  /** @type {Map<string, Pair[1][]>} */
  const values = new Map();
  for (const [key, value] of pairs) values.set(key, [...(values.get(key) ?? []), value]);
  return Object.fromEntries([...values].map(([key, all]) => [key, all.length > 1 ? { $in: all } : all[0]]));
}

/**
 * Reads the pairs in the parameter of an address; none if it is not valid.
 *
 * @param {string} text
 * @returns {Pair[]}
 */
export function readFilters(text) {
  try {
    const pairs = JSON.parse(text);
    return Array.isArray(pairs) && pairs.every(isPair) ? pairs : [];
  } catch {
    return [];
  }
}

/**
 * Reads a pair that was typed as key=value; null if it is not valid. A number or a boolean is read as in JSON; anything
 * else is text, which quotes force.
 *
 * @param {string} text
 * @returns {Pair | null}
 */
export function parsePair(text) {
  const at = text.indexOf("=");
  const key = text.slice(0, Math.max(at, 0)).trim();
  return isKey(key) ? [key, parseValue(text.slice(at + 1).trim())] : null;
}

/** @param {Pair} pair */
export const formatPair = ([key, value]) => `${key}=${value}`;

/**
 * Lists the pairs of metadata, with dotted keys. Each item of a list is a value.
 *
 * @param {Data} metadata
 * @param {string} [prefix]
 * @returns {Pair[]}
 */
export function listPairs(metadata, prefix = "") {
  return Object.entries(metadata).flatMap(([name, value]) => {
    const key = prefix + name;
    if (isPlain(value)) return [/** @type {Pair} */ ([key, value])];
    if (Array.isArray(value)) return value.filter(isPlain).map((item) => /** @type {Pair} */ ([key, item]));
    return value && typeof value === "object" ? listPairs(value, `${key}.`) : [];
  });
}

/** @param {unknown} pair */
const isPair = (pair) => Array.isArray(pair) && pair.length === 2 && isKey(pair[0]) && isPlain(pair[1]);

/** @param {unknown} key */
const isKey = (key) => typeof key === "string" && key !== "" && !key.startsWith("$");

/** @param {unknown} value */
const isPlain = (value) => ["string", "number", "boolean"].includes(typeof value);

/** @param {string} text */
function parseValue(text) {
  try {
    const value = JSON.parse(text);
    return isPlain(value) ? value : text;
  } catch {
    return text;
  }
}
