// The results of an evaluation: the main metrics, all metrics, plots and misses.

import { h, icon, table } from "../core/dom.js";
import { figure } from "./figure.js";
import { missed, taxonomy } from "./misses.js";
import { number } from "../search/outcome.js";

// The text below a plot, by its title; most plots have none.
const TEXTS = [
  [/scores.*(floor|threshold)/i, ({ calibration }) => calibration?.says],
  [
    /precision and recall/i,
    ({ sweep }) =>
      sweep &&
      `Best F1: ${sweep.best.f1.toFixed(3)}, with max_k ${sweep.best.max_k} and rel ${number(sweep.best.rel)}.`,
  ],
];
const textFor = (title, found) => TEXTS.find(([pattern]) => pattern.test(title))?.[1](found);

export function measured(found) {
  return [
    found.flaws.length > 0 && flaws(found.flaws),
    tiles(found),
    h(
      "div",
      { class: "columns" },
      h(
        "section",
        { class: "card", "aria-label": "Outcomes" },
        h("h2", {}, "Outcomes of the cases"),
        taxonomy(found.taxonomy, found.cases),
      ),
      selected(found.selection),
    ),
    found.comparison && compared(found.comparison, found.k),
    found.in_scope > 0 && byK(found),
    h(
      "section",
      { class: "figures", "aria-label": "Plots" },
      found.plots.map((plot) => figure(plot, textFor(plot.title, found))),
    ),
    found.misses.length > 0 && missed(found.misses),
  ].filter(Boolean);
}

function flaws(list) {
  return h(
    "details",
    { class: "notice flaws" },
    h("summary", {}, icon("warn"), `${number(list.length)} of the cases have problems: ${list[0].says}`),
    h(
      "ul",
      {},
      list.slice(0, 100).map((flaw) => h("li", {}, flaw.says)),
    ),
  );
}

function tiles({ metrics, selection, k }) {
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
        h("dd", { class: "interval" }, value ? between(value) : "no cases"),
      ),
    ),
  );
}

const between = ({ low, high }) => `${low.toFixed(2)} to ${high.toFixed(2)}`;
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

const measureTable = (caption, head, rows) =>
  h(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": caption },
    table(caption, head, rows, { class: "measures" }),
  );

const withInterval = (one) => one && [one.value.toFixed(3), " ", h("span", { class: "interval" }, between(one))];

/** Every metric at every k, with its interval. */
function byK({ metrics, confidence }) {
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
      h("p", { class: "hint" }, `with ${number(confidence * 100)} % intervals (bootstrap over the cases)`),
    ),
    measureTable("Metrics with their intervals", ["Metric", ...ks.map((k) => `@${k}`), "all"], rows),
  );
}

const CHOICE = {
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

/** The quality of the selection. */
function selected(selection) {
  const rows = Object.entries(CHOICE)
    .filter(([name]) => selection[name])
    .map(([name, words]) => [words, withInterval(selection[name])]);
  return h(
    "section",
    { class: "card flush", "aria-label": "Selection" },
    h("div", { class: "card-head" }, h("h2", {}, "Selection"), h("p", { class: "hint" }, selection.strategy)),
    measureTable("Selection", ["Metric", "Mean"], rows),
  );
}

/** Two modes, case by case; significant differences are colored. */
function compared({ first, second, metrics, better, worse }, k) {
  const rows = Object.entries(metrics)
    .filter(([name]) => name === "hit@1" || !name.includes("@") || name.endsWith(`@${k}`))
    .map(([name, pair]) => [
      name,
      pair.first.toFixed(3),
      pair.second.toFixed(3),
      h(
        "span",
        { class: pair.p_value < 0.05 ? (pair.difference.value > 0 ? "is-better" : "is-worse") : "" },
        signed(pair.difference.value),
      ),
      h("span", { class: "interval" }, `${signed(pair.difference.low)} to ${signed(pair.difference.high)}`),
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
    moved("better", better),
    moved("worse", worse),
  );
}

const place = (rank) => (rank ? `rank ${rank}` : "not found");

function moved(word, rows) {
  return (
    rows.length > 0 &&
    h(
      "details",
      { class: "fold" },
      h("summary", {}, `${number(rows.length)} ranked ${word}`),
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
              h("span", { class: "muted" }, `${place(first)} → ${place(second)}`),
            ),
          ),
      ),
    )
  );
}
