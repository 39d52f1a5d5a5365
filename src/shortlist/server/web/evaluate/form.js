// What is evaluated, and how.

import { choice, segments, slider, toggle } from "../core/controls.js";
import { h } from "../core/dom.js";
import { MODES } from "../core/modes.js";
import { CaseField } from "./case-field.js";

/** @import { Option } from "../core/controls.js" */
/** @import { EvaluateSession } from "./session.js" */

/** @type {Option[]} */
const MODE_NAMES = MODES.map(([mode, , hint]) => [mode, mode, hint]);

/** @param {EvaluateSession} session */
export function createForm(session) {
  const cases = new CaseField({
    send: () => {
      if (!session.store.state.request) submit();
    },
  });
  const start = h("button", { class: "primary" });
  const { view, ...controls } = createControls(session);
  const byCases = h(
    "div",
    { class: "by-cases" },
    cases.elements,
    h("div", { class: "pair" }, controls.mode, controls.against),
    controls.k,
    controls.curve,
  );
  const byItself = h(
    "p",
    { class: "hint" },
    "Searches for every document by its description and by its name. Lists documents that are not found, are too " +
      "similar to others, are empty, or contain instructions to the model, with advice. Needs no cases.",
  );
  const element = h(
    "form",
    {
      class: "card evaluate",
      "aria-label": "Evaluation",
      onsubmit: (event) => {
        event.preventDefault();
        if (session.store.state.request) session.cancel();
        else submit();
      },
    },
    view,
    byCases,
    byItself,
    start,
  );
  session.store.subscribe(["by", "request"], ({ request }) => {
    byCases.hidden = session.isLint;
    byItself.hidden = !session.isLint;
    start.textContent = request ? "Cancel" : session.isLint ? "Check the corpus" : "Evaluate";
  });
  session.store.subscribe(["corpora"], () => {
    if (session.isSubmitted) submit();
  });
  return { element, cases };

  function submit() {
    if (!session.isLint && !cases.text.trim()) {
      cases.showError("Paste cases or choose a file.");
      cases.focus();
      return;
    }
    session.isSubmitted = !session.store.state.corpora.length;
    if (!session.isSubmitted) session.run(cases.text);
  }
}

/** @param {EvaluateSession} session */
function createControls(session) {
  const { state } = session.store;
  const view = segments({
    label: "Evaluate by",
    options: [
      ["cases", "Cases"],
      ["lint", "Lint"],
    ],
    change: (by) => session.change({ by: by === "lint" ? "lint" : "cases" }),
  });
  const mode = choice({ label: "Mode", options: MODE_NAMES, change: (value) => session.change({ mode: value }) });
  const against = choice({
    label: "Compare with",
    options: [["", "nothing", "Evaluate one mode."], ...MODE_NAMES],
    change: (value) => session.change({ against: value }),
  });
  const k = slider({
    label: "Rank cutoff (k)",
    min: 1,
    max: 100,
    step: 1,
    value: state.k,
    change: (value) => session.change({ k: value }),
  });
  const curve = toggle({
    label: "Distractor curve",
    hint: "Repeat the search in catalogs of growing size. Takes longer.",
    change: (hasCurve) => session.change({ hasCurve }),
  });
  view.set(state.by);
  mode.set(state.mode);
  against.set(state.against);
  curve.set(state.hasCurve);
  return { view: view.element, mode: mode.element, against: against.element, k: k.element, curve: curve.element };
}
