// The results of an evaluation: the main metrics, all metrics, plots and misses.

import { h, table } from "../core/dom.js";
import { formatNumber } from "../core/format.js";
import { icon } from "../core/icons.js";
import { figure } from "./figure.js";
import { drawMisses, drawOutcomes } from "./misses.js";

/** @import { Child } from "../core/dom.js" */
/** @import { Comparison, Evaluation, Measure, Move } from "../core/types.js" */

/**
 * The text below a plot, by its title; most plots have none.
 * @type {[pattern: RegExp, text: (found: Evaluation) => string | null | undefined][]}
 */
const TEXTS = [
  [/scores.*(floor|threshold)/i, ({ calibration }) => calibration?.says],
  [
    /precision and recall/i,
    ({ sweep }) =>
      sweep &&
      `Best F1: ${sweep.best.f1.toFixed(3)}, with max_k ${sweep.best.max_k} and rel ${formatNumber(sweep.best.rel)}.`,
  ],
];
/**
 * @param {string} title
 * @param {Evaluation} found
 */
const textFor = (title, found) => TEXTS.find(([pattern]) => pattern.test(title))?.[1](found) ?? "";

/**
 * @param {Evaluation} found
 * @returns {HTMLElement[]}
 */
export function drawReport(found) {
  const parts = [
    found.flaws.length > 0 && drawFlaws(found.flaws),
    drawTiles(found),
    h(
      "div",
      { class: "columns" },
      h(
        "section",
        { class: "card", "aria-label": "Outcomes" },
        h("h2", {}, "Outcomes of the cases"),
        drawOutcomes(found.taxonomy, found.cases),
      ),
      drawSelection(found.selection),
    ),
    found.comparison && drawComparison(found.comparison, found.k),
    found.in_scope > 0 && drawMetrics(found),
    h(
      "section",
      { class: "figures", "aria-label": "Plots" },
      found.plots.map((plot) => figure(plot, textFor(plot.title, found))),
    ),
    found.misses.length > 0 && drawMisses(found.misses),
  ];
  return parts.filter((part) => part instanceof HTMLElement);
}

/** @param {Evaluation["flaws"]} list */
function drawFlaws(list) {
  return h(
    "details",
    { class: "notice flaws" },
    h("summary", {}, icon("warn"), `${formatNumber(list.length)} of the cases have problems: ${list[0].says}`),
    h(
      "ul",
      {},
      list.slice(0, 100).map((flaw) => h("li", {}, flaw.says)),
    ),
  );
}

/** @param {Evaluation} found */
function drawTiles({ metrics, selection, k }) {
  /** @type {[name: string, value: Measure | undefined][]} */
  const shown = [
    [`nDCG@${k}`, metrics[`ndcg@${k}`]],
    [`Recall@${k}`, metrics[`recall@${k}`]],
    ["Hit@1", metrics["hit@1"]],
    ["MRR", metrics.mrr],
    ["F1 of the selection", selection.f1],
    ["Correct abstention", selection.abstention_accuracy],
  ];
  return h(
    "dl",
    { class: "tiles" },
    shown.map(([name, value]) =>
      h(
        "div",
        {},
        h("dt", {}, name),
        h("dd", {}, value ? value.value.toFixed(3) : "–"),
        h("dd", { class: "interval" }, value ? formatInterval(value) : "no cases"),
      ),
    ),
  );
}

/** @param {Measure} measure */
const formatInterval = ({ low, high }) => `${low.toFixed(2)} to ${high.toFixed(2)}`;
/** @param {number} value */
const formatSigned = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

/**
 * @param {string} caption
 * @param {string[]} head
 * @param {Child[][]} rows
 */
const measureTable = (caption, head, rows) =>
  h(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    table(caption, head, rows, { class: "measures" }),
  );

/**
 * @param {Measure | undefined} measure
 * @returns {Child}
 */
const withInterval = (measure) =>
  measure && [measure.value.toFixed(3), " ", h("span", { class: "interval" }, formatInterval(measure))];

/**
 * Every metric at every k, with its interval.
 *
 * @param {Evaluation} found
 */
function drawMetrics({ metrics, confidence }) {
  const names = [...new Set(Object.keys(metrics).map((name) => name.split("@")[0]))];
  const ks = [...new Set(Object.keys(metrics).flatMap((name) => name.split("@")[1] ?? []))];
  const rows = names.map((name) => [
    name,
    ...ks.map((k) => withInterval(metrics[`${name}@${k}`])),
    withInterval(metrics[name]),
  ]);
  return h(
    "section",
    { class: "card flush", "aria-label": "Metrics" },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, "Metrics"),
      h("p", { class: "hint" }, `with ${formatNumber(confidence * 100)} % intervals (bootstrap over the cases)`),
    ),
    measureTable("Metrics with their intervals", ["Metric", ...ks.map((k) => `@${k}`), "all"], rows),
  );
}

const SELECTION_NAMES = {
  conditional_commit_rate: "commit rate, given retrieval",
  selection_precision: "precision of the selection, given retrieval",
  selection_recall: "recall of the selection, given retrieval",
  selection_f1: "F1 of the selection, given retrieval",
  precision: "precision overall",
  recall: "recall overall",
  f1: "F1 overall",
  mean_size: "mean number of selected documents",
  abstention_accuracy: "correct abstentions",
  false_abstention_rate: "false abstentions",
};

/**
 * The quality of the selection.
 *
 * @param {Evaluation["selection"]} selection
 */
function drawSelection(selection) {
  const rows = Object.entries(SELECTION_NAMES)
    .filter(([name]) => selection[name])
    .map(([name, words]) => [words, withInterval(selection[name])]);
  return h(
    "section",
    { class: "card flush", "aria-label": "Selection" },
    h("div", { class: "card-head" }, h("h2", {}, "Selection"), h("p", { class: "hint" }, selection.strategy)),
    measureTable("Selection", ["Metric", "Mean"], rows),
  );
}

/**
 * Two modes, case by case; significant differences are colored.
 *
 * @param {Comparison} comparison
 * @param {number} k
 */
function drawComparison({ first, second, metrics, better, worse }, k) {
  const rows = Object.entries(metrics)
    .filter(([name]) => name === "hit@1" || !name.includes("@") || name.endsWith(`@${k}`))
    .map(([name, pair]) => [
      name,
      pair.first.toFixed(3),
      pair.second.toFixed(3),
      h(
        "span",
        { class: pair.p_value < 0.05 ? (pair.difference.value > 0 ? "is-better" : "is-worse") : "" },
        formatSigned(pair.difference.value),
      ),
      h("span", { class: "interval" }, `${formatSigned(pair.difference.low)} to ${formatSigned(pair.difference.high)}`),
      pair.p_value.toFixed(4),
      `${pair.wins} / ${pair.losses} / ${pair.ties}`,
    ]);
  return h(
    "section",
    { class: "card flush", "aria-label": "Comparison" },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, `${second.mode} against ${first.mode}`),
      h("p", { class: "hint" }, "colored if significant (p < 0.05)"),
    ),
    measureTable(
      `${second.mode} against ${first.mode}`,
      ["Metric", first.mode, second.mode, "Difference", "Interval", "p", "Better / worse / equal"],
      rows,
    ),
    drawMoves("better", better),
    drawMoves("worse", worse),
  );
}

/** @param {number | null} rank */
const formatRank = (rank) => (rank ? `rank ${rank}` : "not found");

/**
 * @param {string} word
 * @param {Move[]} rows
 */
function drawMoves(word, rows) {
  return (
    rows.length > 0 &&
    h(
      "details",
      { class: "fold" },
      h("summary", {}, `${formatNumber(rows.length)} ranked ${word}`),
      h(
        "ul",
        { class: "left-out" },
        rows
          .slice(0, 100)
          .map(({ query, first, second }) =>
            h(
              "li",
              {},
              h("span", { dir: "auto" }, query),
              h("span", { class: "muted" }, `${formatRank(first)} → ${formatRank(second)}`),
            ),
          ),
      ),
    )
  );
}
