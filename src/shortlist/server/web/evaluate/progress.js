// The line above the results: the progress of an evaluation or a summary, and the button that saves the report.

import { h } from "../core/dom.js";
import { formatCount, formatNumber } from "../core/format.js";
import { icon } from "../core/icons.js";

/** @import { Evaluation, Findings } from "../core/types.js" */
/** @import { EvaluateSession, EvaluateState } from "./session.js" */

const URL_LIFETIME_MILLISECONDS = 60_000;

/**
 * The line, and an element that announces it to screen readers; progress changes too often to be announced.
 *
 * @param {EvaluateSession} session
 */
export function createProgress(session) {
  const bar = h("progress", { max: 1, value: 0, "aria-label": "Progress" });
  const step = h("p", { class: "step" });
  const save = h("button", { type: "button", onclick: () => saveReport(session) }, icon("download"), "HTML report");
  const live = h("p", { class: "unseen", role: "status" });
  session.store.subscribe(["corpora", "by", "stored", "failure", "request", "progress", "isStopped"], (state) => {
    const { request, progress, stored, failure } = state;
    const text = describeState(state);
    if (live.textContent !== text) live.textContent = text;
    step.textContent = progress ? `${progress.step}: ${formatNumber(progress.share * 100, 0)} %` : text;
    bar.hidden = !request;
    bar.value = progress?.share ?? 0;
    save.hidden = Boolean(session.isLint || request || failure || !stored.evaluation);
  });
  return { element: h("div", { class: "strip" }, step, bar, save), live };
}

/** @param {EvaluateState} state */
function describeState({ corpora, by, stored, failure, request, isStopped }) {
  const isLint = by === "lint";
  if (!corpora.length) return "";
  if (request) return "Waiting for another evaluation…";
  if (failure) return isLint ? "Not checked" : "Not evaluated";
  if (isStopped) return "Stopped";
  if (isLint) return stored.findings ? summarizeFindings(stored.findings) : "";
  return stored.evaluation ? summarizeEvaluation(stored.evaluation) : "";
}

/** @param {Findings} findings */
function summarizeFindings({ corpus, documents, errors, warnings }) {
  const counts = `${formatCount(errors, "error")}, ${formatCount(warnings, "warning")}`;
  return `${corpus}, ${formatCount(documents, "document")}: ${counts}`;
}

/** @param {Evaluation} evaluation */
function summarizeEvaluation({ corpus, mode, in_scope, out_of_scope }) {
  const outside = out_of_scope ? `, ${formatNumber(out_of_scope)} without a match` : "";
  return `${corpus}, ${mode}: ${formatCount(in_scope, "case")} with expected documents${outside}`;
}

/**
 * Downloads the report that `shortlist eval --html` writes.
 *
 * @param {EvaluateSession} session
 */
function saveReport({ store }) {
  const { corpus, evaluation } = store.state.stored;
  if (!evaluation) return;
  const url = URL.createObjectURL(new Blob([evaluation.html], { type: "text/html" }));
  h("a", { href: url, download: `eval-${corpus.replaceAll(/[^\w.-]+/g, "-")}.html` }).click();
  setTimeout(() => URL.revokeObjectURL(url), URL_LIFETIME_MILLISECONDS);
}
