// Lists that are stored in this browser only: recent queries, and runs of Eval.

/**
 * @template Item
 * @param {string} key
 * @returns {Item[]} the newest first; none if they cannot be read
 */
export function readList(key) {
  try {
    const items = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(items) ? items : [];
  } catch {
    return [];
  }
}

/**
 * Adds an item in front, and drops those that it replaces and the oldest.
 *
 * @template Item
 * @param {string} key
 * @param {Item} item
 * @param {{ max: number, replaces?: (older: Item) => boolean }} options
 * @returns {Item[]}
 */
export function addToList(key, item, { max, replaces = () => false }) {
  const older = /** @type {Item[]} */ (readList(key)).filter((other) => !replaces(other));
  const items = [item, ...older].slice(0, max);
  try {
    localStorage.setItem(key, JSON.stringify(items));
  } catch {
    // the storage is full or not allowed: the list lasts until the next reload
  }
  return items;
}

/** @param {string} key */
export const clearList = (key) => localStorage.removeItem(key);
