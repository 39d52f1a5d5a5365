// The results of an evaluation or a check, or what is shown instead of them.

import { ServiceError } from "../core/api.js";
import { h, put } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { empty, failure, loading } from "../core/messages.js";
import { drawFindings } from "./findings.js";
import { drawReport } from "./report.js";
import { drawRuns } from "./runs.js";

/** @import { EvaluateSession, EvaluateState } from "./session.js" */

const UNKNOWN_IDS = "urn:shortlist:unknown-ids";

/**
 * @param {EvaluateSession} session
 * @param {() => void} countUnknown called to evaluate cases with unknown ids all the same
 */
export function createResults(session, countUnknown) {
  const element = h("section", { class: "evaluated", "aria-label": "Results" });
  const show = () => put(element, draw(session.store.state, countUnknown), !session.isLint && drawRuns(show));
  session.store.subscribe(["corpora", "by", "stored", "failure"], show);
  session.store.subscribe(["request"], ({ request }) => {
    if (request) element.setAttribute("aria-busy", "true");
    else element.removeAttribute("aria-busy");
  });
  return element;
}

/**
 * @param {EvaluateState} state
 * @param {() => void} countUnknown
 * @returns {Node[]}
 */
function draw({ corpora, by, stored, failure: problem }, countUnknown) {
  if (problem) return [drawFailure(problem, countUnknown)];
  if (!corpora.length) return [loading()];
  if (by === "lint") return stored.findings ? drawFindings(stored.findings) : [notChecked()];
  return stored.evaluation ? drawReport(stored.evaluation) : [notEvaluated()];
}

const notChecked = () => empty("search", "Not checked yet", "Check the corpus to list what to fix.");

const notEvaluated = () =>
  empty(
    "eval",
    "No evaluation yet",
    "Paste cases or choose a file. The service does not store them.",
    "A language model can write cases: shortlist eval-gen.",
  );

/**
 * @param {NonNullable<EvaluateState["failure"]>} problem
 * @param {() => void} countUnknown
 */
function drawFailure({ error, retry }, countUnknown) {
  if (!(error instanceof ServiceError) || error.status !== 422) return failure(error, retry);
  if (error.type === UNKNOWN_IDS) return unknownIds(Object.values(error.fields), countUnknown);
  return failure(new ServiceError(error.message, { title: "These cases cannot be evaluated" }));
}

/**
 * @param {string[]} messages
 * @param {() => void} countUnknown
 */
const unknownIds = (messages, countUnknown) =>
  h(
    "section",
    { class: "card finding", role: "alert" },
    h("h2", {}, icon("warn"), "The corpus does not contain all expected documents"),
    h(
      "ul",
      { class: "left-out" },
      messages.map((message) => h("li", {}, message)),
    ),
    h("div", { class: "actions" }, h("button", { type: "button", onclick: countUnknown }, "Count them as not found")),
  );
