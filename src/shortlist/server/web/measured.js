// An evaluation as it is read: the few numbers that matter, all of them, the plots, and what went wrong.

import { h, icon, table } from "./dom.js";
import { figure } from "./figure.js";
import { missed, taxonomy } from "./misses.js";
import { number } from "./outcome.js";

// What stands below a plot, by its title; the rest speaks for itself.
const WORDS = {
  "Best scores, and the floor": ({ calibration }) => calibration.says,
  "Precision and recall of the selection": ({ sweep: { best } }) =>
    `Best F1, ${best.f1.toFixed(3)}, with max_k ${best.max_k} and rel ${number(best.rel)}.`,
};

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
        h("h2", {}, "What became of the cases"),
        taxonomy(found.taxonomy, found.cases),
      ),
      selected(found.selection),
    ),
    found.comparison && compared(found.comparison, found.k),
    found.in_scope > 0 && byK(found),
    h(
      "section",
      { class: "figures", "aria-label": "Plots" },
      found.plots.map((plot) => figure(plot, WORDS[plot.title]?.(found))),
    ),
    found.misses.length > 0 && missed(found.misses),
  ].filter(Boolean);
}

function flaws(list) {
  return h(
    "details",
    { class: "notice flaws" },
    h("summary", {}, icon("warn"), `${number(list.length)} of the cases have flaws: ${list[0].says}`),
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
    ["Right one first", metrics["hit@1"]],
    ["MRR", metrics.mrr],
    ["F1 of the selection", selection.f1],
    ["Rightly nothing", selection.abstention_accuracy],
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
        h("dd", { class: "interval" }, value ? between(value) : "no such cases"),
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

/** Every measure at every k, with its interval. */
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
    { class: "card flush", "aria-label": "Measures" },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, "Measures"),
      h("p", { class: "hint" }, `with ${number(confidence * 100)} % intervals (bootstrap over the cases)`),
    ),
    measureTable("Measures with their intervals", ["Measure", ...ks.map((k) => `@${k}`), "all"], rows),
  );
}

const CHOICE = {
  conditional_commit_rate: "of what was among the candidates, some was kept",
  selection_precision: "precision of the selection, given retrieval",
  selection_recall: "recall of the selection, given retrieval",
  selection_f1: "F1 of the selection, given retrieval",
  precision: "precision overall",
  recall: "recall overall",
  f1: "F1 overall",
  mean_size: "how many were selected",
  abstention_accuracy: "nothing selected where nothing applies",
  false_abstention_rate: "nothing selected where something applies",
};

/** How well the few were chosen. */
function selected(selection) {
  const rows = Object.entries(CHOICE)
    .filter(([name]) => selection[name])
    .map(([name, words]) => [words, withInterval(selection[name])]);
  return h(
    "section",
    { class: "card flush", "aria-label": "Selection" },
    h("div", { class: "card-head" }, h("h2", {}, "The choice"), h("p", { class: "hint" }, selection.strategy)),
    measureTable("The choice", ["Measure", "Mean"], rows),
  );
}

/** Two modes case by case; what is sure is marked. */
function compared({ first, second, metrics, better, worse }, k) {
  const rows = Object.entries(metrics)
    .filter(([name]) => name === "hit@1" || !name.includes("@") || name.endsWith(`@${k}`))
    .map(([name, pair]) => [
      name,
      pair.first.toFixed(3),
      pair.second.toFixed(3),
      h(
        "span",
        { class: pair.p_value < 0.05 ? (pair.difference.value > 0 ? "surely-better" : "surely-worse") : "" },
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
      h("p", { class: "hint" }, "coloured where chance is unlikely (p < 0.05)"),
    ),
    measureTable(
      `${second.mode} against ${first.mode}`,
      ["Measure", first.mode, second.mode, "Difference", "Interval", "p", "Better / worse / equal"],
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
