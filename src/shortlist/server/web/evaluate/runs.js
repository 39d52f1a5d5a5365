// Earlier evaluations, which this browser stores: their main metrics, compared with the last one.

import { h, table } from "../core/dom.js";
import { formatNumber } from "../core/format.js";
import { addToList, clearList, readList } from "../core/history.js";

/** @import { Evaluation } from "../core/types.js" */

/**
 * @typedef {object} SavedRun
 * @property {number} time milliseconds since 1970
 * @property {string} corpus
 * @property {string} mode
 * @property {string} cases identifies the cases, which are not stored
 * @property {number} count of the cases
 * @property {Record<string, number>} values the metrics by name
 */

const KEY = "shortlist-eval-runs";
const MAX_RUNS = 20;

/**
 * Stores the metrics of an evaluation.
 *
 * @param {Evaluation} found
 * @param {string} cases
 * @param {number} [time]
 * @returns {SavedRun[]} all stored runs, the newest first
 */
export function saveRun({ corpus, mode, k, metrics, selection, cases: count }, cases, time = Date.now()) {
  const shown = {
    [`nDCG@${k}`]: metrics[`ndcg@${k}`],
    "Hit@1": metrics["hit@1"],
    MRR: metrics.mrr,
    F1: selection.f1,
    "Correct abstention": selection.abstention_accuracy,
  };
  const values = Object.fromEntries(
    Object.entries(shown).flatMap(([name, measure]) => (measure ? [[name, measure.value]] : [])),
  );
  return addToList(KEY, { time, corpus, mode, cases: fingerprint(cases), count, values }, { max: MAX_RUNS });
}

/**
 * A short name of a text, for comparison only.
 *
 * @param {string} text
 */
function fingerprint(text) {
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
  return `${text.length}-${hash >>> 0}`;
}

/**
 * The difference of each metric to the last run, for a run of the same cases.
 *
 * @param {SavedRun} run
 * @param {SavedRun} last
 * @returns {Record<string, number>}
 */
export function compareRuns(run, last) {
  if (run === last || run.cases !== last.cases) return {};
  const shared = Object.keys(run.values).filter((name) => name in last.values);
  return Object.fromEntries(shared.map((name) => [name, last.values[name] - run.values[name]]));
}

/**
 * A table of the stored runs, or null without an earlier one.
 *
 * @param {() => void} onClear
 */
export function drawRuns(onClear) {
  /** @type {SavedRun[]} */
  const runs = readList(KEY);
  if (runs.length < 2) return null;
  const [last] = runs;
  const names = [...new Set(runs.flatMap(({ values }) => Object.keys(values)))];
  const rows = runs.map((run) => {
    const differences = compareRuns(run, last);
    return [
      new Date(run.time).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" }),
      run.corpus,
      run.mode,
      formatNumber(run.count),
      ...names.map((name) =>
        name in run.values ? [run.values[name].toFixed(3), drawDifference(differences[name])] : "–",
      ),
    ];
  });
  const clear = () => {
    clearList(KEY);
    onClear();
  };
  return h(
    "section",
    { class: "card flush", "aria-label": "Runs" },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, "Runs"),
      h(
        "p",
        { class: "hint" },
        "Small: the change from a run of the same cases to the last run. Stored in this browser only.",
      ),
      h("button", { type: "button", class: "quiet", onclick: clear }, "Clear"),
    ),
    h(
      "div",
      { class: "wide", tabindex: "0", role: "group", "aria-label": "Table of runs" },
      table("Runs", ["Time", "Corpus", "Mode", "Cases", ...names], rows, { class: "measures" }),
    ),
  );
}

/** @param {number | undefined} value */
function drawDifference(value) {
  if (value === undefined || Math.abs(value) < 0.0005) return null;
  const text = `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
  return h("span", { class: `run-change ${value < 0 ? "is-worse" : "is-better"}` }, text);
}
