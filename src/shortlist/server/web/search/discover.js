// The view of `discover`: it searches any corpus, and shows which candidates were selected and why.

import { visible } from "../core/dom.js";
import { formatNumber, roundUp } from "../core/format.js";
import { discover, discoverPath } from "../core/service.js";
import { STRATEGY_VALUES } from "./query.js";
import { discoverBody } from "./request.js";

/** @import { Discovery } from "../core/types.js" */
/** @import { Gauge, Line, Outcome, Query, Row, View } from "./types.js" */

/** @type {View} */
export const discoverView = {
  id: "discover",
  title: "Discover",
  defaults: {},
  toggles: {},
  localValues: [],
  canSearch: () => true,
  listControls: ({ strategy }) => ["filters", "mode", "k", "strategy", ...STRATEGY_VALUES[strategy], "min_relevance"],
  search: (query, corpus, signal) => discover(corpus.name, discoverBody(query), signal),
  describe: describeDiscovery,
  listCandidates: (found) => found.candidates,
  request: (query) => ({ path: discoverPath(query.corpus), body: discoverBody(query) }),
  explainBody: (id, query) => ({ id, ...discoverBody(query) }),
  adviseWithoutCandidates: ({ filters }) =>
    filters.length
      ? "No document meets the filter. Remove a filter."
      : "No document matches the query. Try different terms.",
};

/**
 * An answer of `discover`. Relevance, and what it is computed from, has a fixed scale from 0 to 1. The best candidate
 * must reach the threshold of relevance or of the score; then the strategy draws a line through the scores.
 *
 * @param {Discovery} found
 * @param {Query} query
 * @returns {Outcome}
 */
export function describeDiscovery(found, query) {
  const { signals } = found;
  const rows = found.candidates.map((hit) => ({
    id: hit.id,
    title: hit.name,
    snippet: hit.text,
    matched: hit.matched,
    values: { relevance: hit.relevance, score: hit.score, keyword: hit.signals.covered, semantic: hit.signals.dense },
    isSelected: hit.selected,
  }));
  const fixed = { scale: 1, format: (/** @type {number} */ value) => value.toFixed(2), lines: [] };
  const score = scoreGauge(found, query, rows);
  const advice = found.abstained && signals.unknown_words.length ? ` ${signals.try[0]}` : "";
  return {
    rows,
    selected: rows.filter((row) => row.isSelected).length,
    candidates: rows.length,
    gauges: [
      { ...fixed, key: "relevance", name: "relevance", lines: thresholdLines(signals.min_relevance) },
      ...(score.lines.length ? [score] : []), // only where scores decide
      { ...fixed, key: "keyword", name: "keyword", isPart: true },
      { ...fixed, key: "semantic", name: "semantic", isPart: true },
    ],
    formatTick: (value) => formatNumber(value, 3),
    isUnknown: found.abstained && rows.length > 0 && !("top_score" in signals), // refused before any score was compared
    reason: found.reason + advice,
    doubt: found.confidence === "low" ? visible(found.confidence_reason) : "", // it has a name
  };
}

/**
 * @param {Discovery} found
 * @param {Query} query
 * @param {Row[]} rows
 * @returns {Gauge}
 */
function scoreGauge({ signals, line, mode }, query, rows) {
  const lines = thresholdLines(signals.min_score);
  if (line !== null && line > 0 && line !== signals.min_score)
    lines.push({ at: line, name: nameLine(query) ?? `${formatNumber((100 * line) / signals.top_score, 0)} % of best` });
  const most = Math.max(0, ...rows.map((row) => row.values.score ?? 0), ...lines.map(({ at }) => at * 1.05));
  const isBlend = ["auto", "dense"].includes(mode) && most <= 1; // which ends at 1
  return {
    key: "score",
    name: "score",
    scale: isBlend ? 1 : roundUp(most),
    format: (value) => value.toFixed(value < 10 ? 3 : 1),
    lines,
  };
}

/**
 * @param {unknown} at
 * @returns {Line[]}
 */
const thresholdLines = (at) =>
  typeof at === "number" ? [{ at, name: `threshold ${formatNumber(at, 3)}`, isThreshold: true }] : [];

/**
 * The name of the line that a strategy draws.
 *
 * @param {Query} query
 * @returns {string | undefined}
 */
function nameLine({ strategy, rel, gap_ratio, cutoff, max_k }) {
  /** @type {Record<string, string>} */
  const names = {
    conservative: `${formatNumber(rel * 100)} % of best`,
    rel_threshold: `${formatNumber(rel * 100)} % of best`,
    score_gap: `gap ${formatNumber(gap_ratio)}`,
    softmax: `cutoff ${formatNumber(cutoff)} %`,
    top_k: `first ${max_k}`,
  };
  return names[strategy];
}
