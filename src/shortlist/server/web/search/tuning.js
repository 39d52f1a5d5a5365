// The search controls. Which ones are shown depends on the view and the strategy.

import { choice, segments, slider, TEMPERATURES, toggle } from "../core/controls.js";
import { h, put } from "../core/dom.js";
import { formatCount } from "../core/format.js";
import { icon } from "../core/icons.js";
import { MODES } from "../core/modes.js";
import { FilterControl } from "./filter-control.js";
import { RANGES, STRATEGIES } from "./query.js";
import { ThresholdControl } from "./threshold-control.js";

/** @import { Control } from "../core/controls.js" */
/** @import { RangeName } from "./query.js" */
/** @import { SearchSession } from "./session.js" */
/** @import { View } from "./types.js" */

/** @type {Record<Exclude<RangeName, "min_relevance">, { label: string, hint: string, step?: number, stops?: number[], unit?: string }>} */
const SLIDERS = {
  k: { label: "Candidates (k)", step: 1, hint: "Number of candidates." },
  rel: { label: "Relative threshold", step: 0.01, hint: "Smallest selected share of the best score." },
  max_k: { label: "Maximum (max_k)", step: 1, hint: "Maximum number of selected documents." },
  gap_ratio: { label: "Gap ratio", step: 0.01, hint: "A drop below this share of the previous score ends the list." },
  temperature: {
    label: "Temperature",
    stops: TEMPERATURES,
    hint: "Lower favors the best document; higher evens out the shares.",
  },
  cutoff: { label: "Cutoff", step: 0.5, unit: "%", hint: "Smallest selected share." },
};

/**
 * The controls in a fold, with the number of filters.
 *
 * @param {SearchSession} session
 */
export function createTuning(session) {
  const { store } = session;
  const badge = h("span", { class: "badge", hidden: true });
  const element = h(
    "details",
    { class: "tuning", open: matchMedia("(min-width: 60rem)").matches },
    h("summary", {}, icon("settings"), "Tuning", badge),
  );
  /** @type {Controls | null} */
  let controls = null;
  /** @type {View[]} */
  let drawn = [];
  const suggest = () => {
    const { shown } = store.state;
    if (shown.kind === "answer") controls?.filters.suggest(shown.answer.view.listCandidates(shown.answer.found));
  };
  store.subscribe(["corpora", "query", "views"], ({ corpora, query, views }) => {
    if (!corpora.length) return;
    if (!controls || drawn !== views) {
      controls = addControls(session, element);
      suggest();
    }
    drawn = views;
    controls.min_relevance.showAutomatic(store.state.automatic);
    showControls(session, controls);
    const count = session.view.listControls(query).includes("filters") ? query.filters.length : 0;
    badge.hidden = !count;
    put(badge, formatCount(count, "filter"));
  });
  store.subscribe(["automatic"], ({ automatic }) => controls?.min_relevance.showAutomatic(automatic));
  store.subscribe(["shown"], suggest);
  return element;
}

/** @typedef {{ [name: string]: Control<any> } & { filters: FilterControl, min_relevance: ThresholdControl }} Controls */

/**
 * @param {SearchSession} session
 * @param {HTMLElement} element
 * @returns {Controls}
 */
function addControls(session, element) {
  const { query, views } = session.store.state;
  /** @param {Exclude<RangeName, "min_relevance">} name */
  const ranged = (name) => {
    const [min, max] = RANGES[name];
    const change = (/** @type {number} */ value) => session.change({ [name]: value });
    return slider({ ...SLIDERS[name], min, max, value: query[name], change });
  };
  const toggles = views.flatMap((view) => Object.entries(view.toggles));
  const controls = {
    filters: new FilterControl({ change: (filters) => session.change({ filters }) }),
    mode: choice({ label: "Mode", options: MODES, change: (mode) => session.change({ mode }) }),
    k: ranged("k"),
    strategy: choice({ label: "Strategy", options: STRATEGIES, change: (strategy) => session.change({ strategy }) }),
    rel: ranged("rel"),
    max_k: ranged("max_k"),
    gap_ratio: ranged("gap_ratio"),
    temperature: ranged("temperature"),
    cutoff: ranged("cutoff"),
    ...Object.fromEntries(
      toggles.map(([name, texts]) => [name, toggle({ ...texts, change: (isOn) => session.change({ [name]: isOn }) })]),
    ),
    min_relevance: new ThresholdControl({ change: (value) => session.change({ min_relevance: value }) }),
    view: segments({
      label: "View",
      options: views.map(({ id, title }) => [id, title]),
      change: (view) => session.change({ view }),
    }),
  };
  const reset = () => session.reset();
  element.querySelector(".controls")?.remove();
  element.append(
    h(
      "div",
      { class: "controls" },
      Object.values(controls).map((control) => control.element),
      h("button", { type: "button", class: "quiet reset", onclick: reset }, "Reset to defaults"),
    ),
  );
  return controls;
}

/**
 * Shows the controls that apply to the query.
 *
 * @param {SearchSession} session
 * @param {Controls} controls
 */
function showControls({ store, view, views }, controls) {
  const { query } = store.state;
  const used = [...view.listControls(query), ...(views.length > 1 ? ["view"] : [])];
  for (const [name, control] of Object.entries(controls)) {
    control.set(/** @type {any} */ (query)[name]);
    control.element.hidden = !used.includes(name);
  }
}
