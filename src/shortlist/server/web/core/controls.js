// Controls with a label, a visible value and space for an error. Each has `element` and `set(value)`.

import { h } from "./dom.js";

/**
 * @template Value
 * @typedef {object} Control
 * @property {HTMLElement} element
 * @property {(value: Value) => void} set
 */

/** @typedef {Control<number> & { showError: (text: string) => void }} Slider */

/**
 * @typedef {object} SliderOptions
 * @property {string} label
 * @property {string} [hint]
 * @property {number} min
 * @property {number} max
 * @property {number} [step]
 * @property {number[]} [stops] uneven steps
 * @property {string} [unit]
 * @property {number} value
 * @property {(value: number) => void} change called with every valid value
 */

/** @typedef {[value: string, text: string, hint?: string]} Option */

/** The stops of a temperature slider: finer where small differences matter. */
export const TEMPERATURES = [
  0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10,
];

let lastId = 0;

/** @param {string} name */
function uniqueId(name) {
  lastId += 1;
  return `${name}-${lastId}`;
}

/**
 * @param {string} id
 * @param {string} hint
 */
const hintLine = (id, hint) => (hint ? h("p", { class: "hint", id: `${id}-hint` }, hint) : null);

/**
 * @param {string} id
 * @param {string} hint
 */
const hintId = (id, hint) => (hint ? `${id}-hint` : null);

/**
 * A range and a number field for one value.
 *
 * @param {SliderOptions} options
 * @returns {Slider}
 */
export function slider({ label, hint = "", min, max, step, stops, unit = "", value, change }) {
  const id = uniqueId("slider");
  const range = h("input", {
    type: "range",
    "aria-label": label,
    min: stops ? 0 : min,
    max: stops ? stops.length - 1 : max,
    step: stops ? 1 : step,
    "aria-describedby": hintId(id, hint),
  });
  const field = h("input", {
    type: "number",
    id,
    min,
    max,
    step: "any",
    inputmode: "decimal",
    "aria-describedby": `${id}-wrong`,
  });
  const wrong = h("p", { class: "wrong-field", id: `${id}-wrong`, role: "alert" });

  /** @param {number} given */
  const moveRange = (given) => {
    range.value = String(stops ? findNearest(stops, given) : given);
    range.setAttribute("aria-valuetext", `${given}${unit && ` ${unit}`}`);
  };
  /** @param {string} text */
  const showError = (text) => {
    wrong.textContent = text;
    markInvalid(field, text);
  };
  /** @param {number} given */
  const set = (given) => {
    moveRange(given);
    if (field !== document.activeElement || field.valueAsNumber !== given) field.value = String(given);
    showError("");
  };
  /** @param {number} given */
  const validate = (given) => {
    const [low, high] = [Number(field.min), Number(field.max)];
    if (!(given >= low && given <= high)) return showError(`Enter a number from ${low} to ${high}.`);
    if (step === 1 && !Number.isInteger(given)) return showError("Enter a whole number.");
    showError("");
    moveRange(given);
    return change(given);
  };
  range.addEventListener("input", () => {
    const given = stops ? stops[range.valueAsNumber] : range.valueAsNumber;
    set(given);
    change(given);
  });
  field.addEventListener("input", () => validate(field.valueAsNumber));
  set(value);
  const element = h(
    "div",
    { class: "control" },
    h("label", { for: id }, label),
    h("span", { class: "with-unit" }, field, unit && h("span", { class: "unit" }, unit)),
    range,
    hintLine(id, hint),
    wrong,
  );
  return { element, set, showError };
}

/**
 * Marks a field as invalid if there is an error.
 *
 * @param {Element} field
 * @param {string} [error]
 */
export function markInvalid(field, error) {
  if (error) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

/**
 * The index of the stop that is nearest to a value.
 *
 * @param {number[]} stops
 * @param {number} value
 */
const findNearest = (stops, value) =>
  stops.reduce(
    (best, stop, at) => (Math.abs(Math.log(stop / value)) < Math.abs(Math.log(stops[best] / value)) ? at : best),
    0,
  );

/**
 * A select box whose options each have a name and a hint.
 *
 * @param {{ label: string, options: Option[], change: (value: string) => void }} options
 * @returns {Control<string>}
 */
export function choice({ label, options, change }) {
  const id = uniqueId("choice");
  const hint = h("p", { class: "hint", id: `${id}-hint` });
  const showHint = () => {
    hint.textContent = options.find(([value]) => value === select.value)?.[2] ?? "";
  };
  const select = h(
    "select",
    {
      id,
      "aria-describedby": `${id}-hint`,
      onchange: () => {
        showHint();
        change(select.value);
      },
    },
    options.map(([value, text]) => h("option", { value }, text)),
  );
  return {
    element: h("div", { class: "control" }, h("label", { for: id }, label), select, hint),
    set: (value) => {
      select.value = value;
      showHint();
    },
  };
}

/**
 * @param {{ label: string, hint?: string, change: (isOn: boolean) => void }} options
 * @returns {Control<boolean>}
 */
export function toggle({ label, hint = "", change }) {
  const id = uniqueId("toggle");
  /** @type {HTMLInputElement} */
  const input = h("input", {
    type: "checkbox",
    role: "switch",
    id,
    onchange: () => change(input.checked),
    "aria-describedby": hintId(id, hint),
  });
  return {
    element: h("div", { class: "control switch" }, h("label", { for: id }, label), input, hintLine(id, hint)),
    set: (isOn) => {
      input.checked = isOn;
    },
  };
}

/**
 * A few options side by side, of which one is selected.
 *
 * @param {{ label: string, options: Option[], change: (value: string) => void }} options
 * @returns {Control<string>}
 */
export function segments({ label, options, change }) {
  const name = uniqueId("segments");
  const inputs = options.map(([value]) => h("input", { type: "radio", name, value, onchange: () => change(value) }));
  const element = h(
    "fieldset",
    { class: "segments" },
    h("legend", {}, label),
    h(
      "div",
      {},
      options.map(([, text], at) => h("label", {}, inputs[at], h("span", {}, text))),
    ),
  );
  return {
    element,
    set: (value) => {
      for (const input of inputs) input.checked = input.value === value;
    },
  };
}
