// The metadata filter of a search: pairs of a key and a value, typed or taken from the results.

import { h, icon } from "../core/dom.js";

const MOST_OFFERED = 100;

/** The filter of the API: all keys must match; of several values of one key, any. */
export function filterOf(pairs) {
  const values = new Map();
  for (const [key, value] of pairs) values.set(key, [...(values.get(key) ?? []), value]);
  return Object.fromEntries([...values].map(([key, all]) => [key, all.length > 1 ? { $in: all } : all[0]]));
}

/** The pairs in the parameter of an address; none if it is not valid. */
export function readFilters(text) {
  try {
    const pairs = JSON.parse(text);
    const isPair = (one) => Array.isArray(one) && one.length === 2 && isKey(one[0]) && isPlain(one[1]);
    return Array.isArray(pairs) && pairs.every(isPair) ? pairs : [];
  } catch {
    return [];
  }
}

const isKey = (key) => typeof key === "string" && key !== "" && !key.startsWith("$");
const isPlain = (value) => ["string", "number", "boolean"].includes(typeof value);
const written = ([key, value]) => `${key}=${value}`;

/** The control: a field that suggests the pairs of the results, and a button for each filter, which removes it. */
export function filterControl({ change }) {
  let pairs = [];
  let offered = new Map();
  const options = h("datalist", { id: "filter-values" });
  const wrong = h("p", { class: "wrong-field", id: "filter-wrong", role: "alert" });
  const field = h("input", {
    id: "filter",
    list: "filter-values",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "key=value",
    "aria-describedby": "filter-hint filter-wrong",
    oninput: ({ inputType }) => {
      wrong.textContent = "";
      const isChosen = !inputType || inputType === "insertReplacementText"; // from the list, and not typed
      if (isChosen && offered.has(field.value)) add();
    },
    onkeydown: (event) => {
      if (event.key === "Enter" && !event.isComposing) add();
    },
  });
  const list = h("ul", { class: "chips", "aria-label": "Filters" });
  const element = h(
    "div",
    { class: "control filter" },
    h("label", { for: "filter" }, "Filter"),
    field,
    options,
    h("p", { class: "hint", id: "filter-hint" }, "By metadata. Enter adds a filter."),
    wrong,
    list,
  );
  return { element, set, offer };

  function add() {
    const text = field.value.trim();
    const at = text.indexOf("=");
    const pair = offered.get(text) ?? [text.slice(0, at).trim(), parse(text.slice(at + 1).trim())];
    if (at < 1 || !isKey(pair[0])) {
      wrong.textContent = text ? "Enter a key and a value, such as category=payments." : "";
      return;
    }
    field.value = "";
    if (!pairs.some((one) => written(one) === written(pair))) change([...pairs, pair]);
  }

  function remove(pair) {
    change(pairs.filter((one) => one !== pair));
    field.focus();
  }

  function set(given) {
    if (given === pairs) return;
    pairs = given;
    list.hidden = !pairs.length;
    list.replaceChildren(
      ...pairs.map((pair) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", "aria-label": `Remove the filter ${written(pair)}`, onclick: () => remove(pair) },
            h("span", { dir: "auto" }, written(pair)),
            icon("close"),
          ),
        ),
      ),
    );
  }

  /** Suggests the kinds and the metadata of these candidates. */
  function offer(candidates) {
    const all = candidates.flatMap(({ kind, metadata }) => [["kind", kind], ...leaves(metadata)]);
    offered = new Map(all.map((pair) => [written(pair), pair]).slice(0, MOST_OFFERED));
    options.replaceChildren(...[...offered.keys()].sort().map((value) => h("option", { value })));
  }
}

/** A typed value: a number or a boolean as in JSON; anything else is text, which quotes force. */
function parse(text) {
  try {
    const value = JSON.parse(text);
    return isPlain(value) ? value : text;
  } catch {
    return text;
  }
}

/** The pairs of metadata, with dotted keys. Each item of a list is a value. */
function leaves(metadata, prefix = "") {
  return Object.entries(metadata).flatMap(([name, value]) => {
    const key = prefix + name;
    if (isPlain(value)) return [[key, value]];
    if (Array.isArray(value)) return value.filter(isPlain).map((item) => [key, item]);
    return value && typeof value === "object" ? leaves(value, `${key}.`) : [];
  });
}
