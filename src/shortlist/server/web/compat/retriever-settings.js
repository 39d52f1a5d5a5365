// The card of the retriever: temperature, cutoff and zero scores, with the origin of each value.

import { ServiceError } from "../core/api.js";
import { slider, TEMPERATURES, toggle } from "../core/controls.js";
import { h } from "../core/dom.js";
import { failure, messageOf, showNote } from "../core/messages.js";
import { createStore } from "../core/store.js";
import { changeSettings, readSettingsWithOrigins } from "./routes.js";

/** @import { Control, Slider } from "../core/controls.js" */
/** @import { Store } from "../core/store.js" */
/** @import { RetrieverSettings } from "./routes.js" */
/** @typedef {{ values: RetrieverSettings, origins: Record<string, string>, wanted: RetrieverSettings, error: string }} FormState */
/** @typedef {Record<keyof RetrieverSettings, Control<any> & { showError?: Slider["showError"] }>} Controls */

/** @type {(keyof RetrieverSettings)[]} */
const NAMES = ["temperature", "llm_tools_cutoff", "ignore_zero"];

/** @returns {Promise<HTMLElement>} once it is drawn */
export async function createRetrieverCard() {
  const card = h("section", { class: "card", "aria-label": "Legacy retrieval" });
  await draw(card);
  return card;
}

/** @param {HTMLElement} card */
async function draw(card) {
  let found;
  try {
    found = await readSettingsWithOrigins();
  } catch (error) {
    card.replaceChildren(failure(error, () => draw(card)));
    return;
  }
  /** @type {Store<FormState>} */
  const store = createStore({ ...found, wanted: found.values, error: "" });
  card.replaceChildren(
    h("h2", {}, "Legacy: /retrieve"),
    h("p", { class: "muted" }, "Defaults of POST /retrieve, from the next request on."),
    createForm(store),
  );
}

/** @param {Store<FormState>} store */
function createForm(store) {
  const controls = createControls(store);
  const error = h("p", { class: "wrong-field", role: "alert" });
  const save = h("button", { class: "primary" }, "Save");
  const undo = h("button", { type: "button", onclick: () => discard(store, controls) }, "Discard");
  const form = h(
    "form",
    {
      class: "stack",
      novalidate: true,
      onsubmit: (event) => {
        event.preventDefault();
        const wrong = form.querySelector("[aria-invalid]");
        store.set({ error: "" });
        if (wrong instanceof HTMLElement) wrong.focus();
        else submit(store, controls);
      },
    },
    NAMES.map((name) => h("div", { class: "setting" }, controls[name].element, createOrigin(store, name))),
    error,
    h("div", { class: "actions" }, undo, save),
  );
  store.subscribe(["wanted", "values"], ({ wanted, values }) => {
    save.disabled = undo.disabled = NAMES.every((name) => wanted[name] === values[name]);
  });
  store.subscribe(["error"], (state) => {
    error.textContent = state.error;
  });
  return form;
}

/**
 * @param {Store<FormState>} store
 * @returns {Controls}
 */
function createControls(store) {
  const { values } = store.state;
  /** @param {Partial<RetrieverSettings>} partial */
  const want = (partial) => store.set({ wanted: { ...store.state.wanted, ...partial } });
  const ignoreZero = toggle({
    label: "Ignore zero scores",
    hint: "Leave out documents that share no word with the query.",
    change: (ignore_zero) => want({ ignore_zero }),
  });
  ignoreZero.set(values.ignore_zero);
  return {
    temperature: slider({
      label: "Temperature",
      hint: "Lower favors the best document; higher evens out the shares. From 0.1 to 10.",
      min: 0.1,
      max: 10,
      stops: TEMPERATURES,
      value: values.temperature,
      change: (temperature) => want({ temperature }),
    }),
    llm_tools_cutoff: slider({
      label: "Cutoff",
      hint: "The smallest share of the softmax that is selected. From 0 to 100 %.",
      min: 0,
      max: 100,
      step: 0.5,
      unit: "%",
      value: values.llm_tools_cutoff,
      change: (value) => want({ llm_tools_cutoff: value }),
    }),
    ignore_zero: ignoreZero,
  };
}

/**
 * @param {Store<FormState>} store
 * @param {keyof RetrieverSettings} name
 */
function createOrigin(store, name) {
  const element = h("p", { class: "origin" });
  store.subscribe(["values", "origins"], ({ values, origins }) => {
    const value = h("strong", {}, formatSetting(name, values));
    element.replaceChildren("In force: ", value, h("span", { class: "from" }, origins[name]));
  });
  return element;
}

/**
 * @param {keyof RetrieverSettings} name
 * @param {RetrieverSettings} values
 */
function formatSetting(name, values) {
  if (name === "ignore_zero") return values.ignore_zero ? "on" : "off";
  return name === "llm_tools_cutoff" ? `${values[name]} %` : String(values[name]);
}

/**
 * @param {Store<FormState>} store
 * @param {Controls} controls
 */
function discard(store, controls) {
  const { values } = store.state;
  for (const name of NAMES) controls[name].set(values[name]);
  store.set({ wanted: values });
}

/**
 * Saves the values that were changed.
 *
 * @param {Store<FormState>} store
 * @param {Controls} controls
 */
async function submit(store, controls) {
  const { wanted, values } = store.state;
  const changed = NAMES.filter((name) => wanted[name] !== values[name]).map((name) => [name, wanted[name]]);
  try {
    await changeSettings(Object.fromEntries(changed));
    store.set(await readSettingsWithOrigins());
    showNote("Saved. The next request uses the new settings.");
  } catch (error) {
    const fields = error instanceof ServiceError ? error.fields : {};
    for (const name of NAMES) if (fields[name]) controls[name].showError?.(fields[name]);
    store.set({ error: messageOf(error) });
  }
}
