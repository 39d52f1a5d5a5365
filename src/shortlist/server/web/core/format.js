// Numbers as text.

/**
 * @param {number} value
 * @param {number} [digits] the maximum number of decimals
 */
export const formatNumber = (value, digits = 2) =>
  Number(value).toLocaleString("en", { maximumFractionDigits: digits });

/**
 * Formats a count with its noun: 1 document, 2,000 documents.
 *
 * @param {number} count
 * @param {string} noun
 */
export const formatCount = (count, noun) => `${Number(count).toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** @param {number} bytes */
export function formatBytes(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${formatNumber(bytes / 1024, 1)} KB` : `${formatNumber(bytes / 1024 ** 2, 1)} MB`;
}

/**
 * Rounds up to a round number, so that a scale stays the same while values change a little.
 *
 * @param {number} value
 * @param {number[]} [steps] the round numbers from 1 to 10
 */
export function roundUp(value, steps = [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (steps.find((step) => step * power >= value * 0.999_999) ?? 10);
}

/**
 * Escapes a text for a regular expression.
 *
 * @param {string} text
 */
export const escapePattern = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
