// The text of an answer to copy: its citations as numbers, and the cited sources below.

import { formatSource } from "./passage.js";

/** @import { Answer } from "../core/types.js" */

/**
 * @param {Answer} answer
 * @returns {string}
 */
export function formatAnswer({ text, sentences, evidence }) {
  const citations = sentences.flatMap((sentence) => sentence.citations);
  const numbered = citations.reduce((all, { marker, number }) => all.replaceAll(marker, `[${number}]`), text);
  const numbers = [...new Set(citations.map(({ number }) => number))].filter((number) => evidence[number - 1]);
  const sources = numbers.sort((one, other) => one - other).map((at) => `[${at}] ${formatSource(evidence[at - 1])}`);
  return [numbered, sources.join("\n")].filter(Boolean).join("\n\n");
}
