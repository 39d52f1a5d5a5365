// Controls with a label, a visible value and space for an error. Each has `element` and `set(value)`.

import { h } from "./dom.js";

/** The stops of a temperature slider: finer where small differences matter. */
export const TEMPERATURES = [
  0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10,
];

let made = 0;
const unique = (name) => `${name}-${(made += 1)}`;
const hinted = (id, hint) => (hint ? h("p", { class: "hint", id: `${id}-hint` }, hint) : null);
const describes = (id, hint) => (hint ? `${id}-hint` : null);

/** A range and a number field for one value. `stops` gives uneven steps; `change` is called with every valid value. */
export function slider({ label, hint = "", min, max, step, stops = null, unit = "", value, change }) {
  const id = unique("slider");
  const range = h("input", {
    type: "range",
    "aria-label": label,
    min: stops ? 0 : min,
    max: stops ? stops.length - 1 : max,
    step: stops ? 1 : step,
    "aria-describedby": describes(id, hint),
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

  const point = (given) => {
    range.value = stops ? nearest(stops, given) : given;
    range.setAttribute("aria-valuetext", `${given}${unit && ` ${unit}`}`);
  };
  const showError = (text) => {
    wrong.textContent = text;
    if (text) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  };
  const set = (given) => {
    point(given);
    if (field !== document.activeElement || field.valueAsNumber !== given) field.value = given;
    showError("");
  };
  const validate = (given) => {
    const low = Number(field.min),
      high = Number(field.max);
    if (!(given >= low && given <= high)) return showError(`Enter a number from ${low} to ${high}.`);
    if (step === 1 && !Number.isInteger(given)) return showError("Enter a whole number.");
    showError("");
    point(given);
    return change(given);
  };
  const setRange = (most, by) => {
    range.max = field.max = most;
    range.step = by;
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
    hinted(id, hint),
    wrong,
  );
  return { element, set, showError, setRange };
}

const nearest = (stops, value) =>
  stops.reduce(
    (best, stop, at) => (Math.abs(Math.log(stop / value)) < Math.abs(Math.log(stops[best] / value)) ? at : best),
    0,
  );

/** A select box whose options each have a name and a hint. */
export function choice({ label, options, change }) {
  const id = unique("choice");
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

export function toggle({ label, hint = "", change }) {
  const id = unique("toggle");
  const input = h("input", {
    type: "checkbox",
    role: "switch",
    id,
    onchange: () => change(input.checked),
    "aria-describedby": describes(id, hint),
  });
  return {
    element: h("div", { class: "control switch" }, h("label", { for: id }, label), input, hinted(id, hint)),
    set: (on) => {
      input.checked = on;
    },
  };
}

/** A few options side by side, of which one is selected. */
export function segments({ label, options, change }) {
  const name = unique("segments");
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
    set: (value) =>
      inputs.forEach((input) => {
        input.checked = input.value === value;
      }),
  };
}
