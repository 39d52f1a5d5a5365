// Why a document has its rank, as facts: which words matched, and which documents ranked above.

import { fact, h } from "./dom.js";
import { formatCount, formatNumber } from "./format.js";

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
  const { covered, dense, named = 0, lexical, learned = 0 } = why.signals;
  const change = `${learned < 0 ? "−" : "+"}${Math.abs(learned).toFixed(2)}`;
  return [
    fact("Rank", place),
    isNumber(why.relevance) &&
      bar("Relevance", why.relevance, "estimated probability that it is what the query asks for"),
    isNumber(covered) &&
      bar("Keyword", covered, `share of the query's terms in it, rare terms counting more${scoreOf(lexical)}`),
    isNumber(dense) && bar("Semantic", dense, "similarity of its meaning to the query's"),
    fact("Name", named > 0 && "The query contains its name, which ranks it higher."),
    fact(
      "Score",
      isNumber(why.score) && why.score !== why.relevance && `${why.score.toFixed(3)}, by which it is ranked`,
    ),
    fact("Learned", !change.endsWith("0.00") && `from earlier use: ${change}`),
    causeFacts(why),
  ];
}

/**
 * @param {unknown} value
 * @returns {value is number}
 */
const isNumber = (value) => typeof value === "number";

/** @param {number | undefined} lexical */
const scoreOf = (lexical) => (isNumber(lexical) ? ` (BM25 ${formatNumber(lexical)})` : "");

/**
 * A value from 0 to 1 as a bar, with its meaning.
 *
 * @param {string} name
 * @param {number} value
 * @param {string} meaning
 */
const bar = (name, value, meaning) =>
  fact(name, [
    h("span", { class: "part-value" }, value.toFixed(2)),
    h(
      "span",
      { class: "track", "aria-hidden": "true" },
      h("span", { class: "fill", "--share": Math.max(0, Math.min(value, 1)) }),
    ),
    h("span", { class: "muted" }, meaning),
  ]);

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
    fact("Selection", why.cut),
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
