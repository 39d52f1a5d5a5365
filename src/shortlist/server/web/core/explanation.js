// Why a document has its rank, as facts: which words matched, and which documents ranked above.

import { fact, h } from "./dom.js";
import { formatCount } from "./format.js";

/** @import { Child } from "./dom.js" */
/** @import { Competitor, Explanation } from "./types.js" */

/**
 * The place of a document in a search, and what explains it.
 *
 * @param {Explanation} why
 * @returns {Child}
 */
export function rankFacts(why) {
  const candidates = formatCount(why.looked_at, "candidate");
  const place = why.rank ? `${why.rank} of ${candidates}` : `not in the top ${why.looked_at}`;
  const { learned = 0, ...others } = why.signals;
  const signals = Object.entries(others).map(([name, value]) => `${name} ${value.toFixed(2)}`);
  const change = `${learned < 0 ? "−" : "+"}${Math.abs(learned).toFixed(2)}`;
  return [
    fact("Rank", place),
    fact("Score", why.score !== null && `${why.score.toFixed(3)} (${signals.join(", ")})`),
    fact("Learned", !change.endsWith("0.00") && `from earlier use: ${change}`),
    causeFacts(why),
  ];
}

/**
 * The words of the query, what ranks above, and what the selection did.
 *
 * @param {Explanation} why
 * @returns {Child}
 */
export function causeFacts(why) {
  /** @type {[kind: string, words: string[], where: string][]} */
  const kinds = [
    ["matched", why.matched, why.wanted ? "in the document" : "in the returned document"],
    ["elsewhere", why.elsewhere, "only in other documents"],
    ["nowhere", why.unknown, "in no document"],
  ];
  const words = kinds.filter(([, list]) => list.length);
  return [
    words.length > 0 && fact("Words", words.map(wordList)),
    why.above.length > 0 && fact("Ranked above", h("ol", { class: "above" }, why.above.map(competitor))),
    fact("Cut", why.cut),
  ];
}

/** @param {[kind: string, words: string[], where: string]} words */
const wordList = ([kind, words, where]) =>
  h(
    "span",
    { class: `words ${kind}` },
    words.map((word) => h("span", { class: "word", dir: "auto" }, word)),
    h("span", { class: "muted" }, where),
  );

/** @param {Competitor} competitor */
function competitor({ rank, id, score, matched }) {
  const words = matched.length ? `matches ${matched.join(", ")}` : "no matching word";
  return h(
    "li",
    {},
    h("span", { class: "muted" }, `${rank}.`),
    h("code", {}, id),
    h("span", { class: "muted" }, `${score.toFixed(3)}, ${words}`),
  );
}
