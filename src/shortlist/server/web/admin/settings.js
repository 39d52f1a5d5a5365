// The Settings tab: the settings in force, their origins, and how to change them.

import { TEMPERATURES, slider, toggle } from "../core/controls.js";
import { failure, h, icon, loading, note } from "../core/dom.js";
import { counted, size } from "../search/outcome.js";
import * as service from "../core/service.js";

const NAMES = ["temperature", "llm_tools_cutoff", "ignore_zero"];

export function mount(root) {
  const retrieval = h("section", { class: "card", "aria-label": "Retrieval" });
  const catalog = h("section", { class: "card", "aria-label": "Document file" });
  const others = h("section", { class: "card flush", "aria-label": "Other settings" });
  const wait = loading();
  root.append(h("div", { class: "head" }, h("h1", {}, "Settings")), wait);
  Promise.all([showRetrieval(retrieval), showFiles(catalog), showOthers(others)]).then(() =>
    wait.replaceWith(h("div", { class: "parts" }, h("div", { class: "columns" }, retrieval, catalog), others)),
  );
}

async function showRetrieval(card) {
  let inForce, from;
  try {
    ({ inForce, origins: from } = await service.settingsWithOrigins());
  } catch (error) {
    return card.replaceChildren(failure(error, () => showRetrieval(card)));
  }
  const wanted = Object.fromEntries(NAMES.map((name) => [name, inForce[name]]));
  const general = h("p", { class: "wrong-field", role: "alert" });
  const save = h("button", { class: "primary", disabled: true }, "Save");
  const undo = h(
    "button",
    {
      type: "button",
      disabled: true,
      onclick: () => {
        NAMES.forEach((name) => controls[name].set(inForce[name]));
        want(Object.fromEntries(NAMES.map((name) => [name, inForce[name]])));
      },
    },
    "Discard",
  );
  const origins = Object.fromEntries(NAMES.map((name) => [name, h("p", { class: "origin" })]));
  const controls = {
    temperature: slider({
      label: "Temperature",
      hint: "Lower favors the best document; higher evens out the shares. From 0.1 to 10.",
      min: 0.1,
      max: 10,
      stops: TEMPERATURES,
      value: wanted.temperature,
      change: (temperature) => want({ temperature }),
    }),
    llm_tools_cutoff: slider({
      label: "Cutoff",
      hint: "The smallest share of the softmax that is selected. From 0 to 100 %.",
      min: 0,
      max: 100,
      step: 0.5,
      unit: "%",
      value: wanted.llm_tools_cutoff,
      change: (value) => want({ llm_tools_cutoff: value }),
    }),
    ignore_zero: toggle({
      label: "Ignore zero scores",
      hint: "Leave out documents that share no word with the query.",
      change: (ignore_zero) => want({ ignore_zero }),
    }),
  };
  controls.ignore_zero.set(wanted.ignore_zero);
  card.replaceChildren(
    h("h2", {}, "Retrieval"),
    h("p", { class: "muted" }, "Defaults of POST /retrieve, from the next request on."),
    h(
      "form",
      { class: "stack", novalidate: true, onsubmit: submit },
      NAMES.map((name) => h("div", { class: "setting" }, controls[name].element, origins[name])),
      general,
      h("div", { class: "actions" }, undo, save),
    ),
  );
  showOrigins();
  return undefined;

  function want(partial) {
    Object.assign(wanted, partial);
    save.disabled = undo.disabled = NAMES.every((name) => wanted[name] === inForce[name]);
  }

  function showOrigins() {
    for (const name of NAMES) {
      origins[name].replaceChildren(
        "In force: ",
        h("strong", {}, said(name, inForce[name])),
        h("span", { class: "from" }, from[name]),
      );
    }
  }

  async function submit(event) {
    event.preventDefault();
    general.textContent = "";
    const wrong = card.querySelector("[aria-invalid]");
    if (wrong) return wrong.focus();
    const changed = Object.fromEntries(
      NAMES.filter((name) => wanted[name] !== inForce[name]).map((name) => [name, wanted[name]]),
    );
    try {
      await service.change(changed);
      ({ inForce, origins: from } = await service.settingsWithOrigins());
      want({});
      showOrigins();
      note("Saved. The next request uses the new settings.");
    } catch (error) {
      for (const name of NAMES) if (error.fields?.[name]) controls[name].showError?.(error.fields[name]);
      general.textContent = error.message;
    }
  }
}

const said = (name, value) =>
  name === "ignore_zero" ? (value ? "on" : "off") : name === "llm_tools_cutoff" ? `${value} %` : String(value);

async function showFiles(card) {
  let found;
  try {
    found = await service.files();
  } catch (error) {
    return card.replaceChildren(failure(error, () => showFiles(card)));
  }
  const act = async (button, what, done) => {
    button.disabled = true;
    let said;
    try {
      said = [done(await what())];
    } catch (error) {
      said = [error.message, null, { wrong: true }];
    }
    await showFiles(card);
    note(...said);
  };
  const reload = h(
    "button",
    { type: "button", onclick: () => act(reload, service.reload, changes) },
    icon("reload"),
    "Reload the file",
  );
  card.replaceChildren(
    h("h2", {}, "Document file"),
    h(
      "p",
      { class: "muted" },
      "The catalog is read from this file. Changes made over HTTP survive a reload.",
    ),
    h(
      "dl",
      { class: "facts" },
      h("div", {}, h("dt", {}, "Current file"), h("dd", {}, h("code", {}, found.current))),
      h("div", {}, h("dt", {}, "Folder"), h("dd", {}, h("code", {}, found.folder))),
    ),
    h("div", {}, reload),
    h("h3", {}, "Files in the folder"),
    found.files.length
      ? h(
          "ul",
          { class: "choose-file" },
          found.files.map((file) => {
            const use = h(
              "button",
              {
                type: "button",
                "aria-label": `Use ${file.file}`,
                onclick: () =>
                  act(
                    use,
                    () => service.switchTo(file.file),
                    (answer) => `Serving ${file.file}. ${changes(answer)}`,
                  ),
              },
              "Use",
            );
            return h(
              "li",
              {},
              icon("file"),
              h("span", {}, h("code", {}, file.file), h("span", { class: "muted" }, size(file.bytes))),
              file.current ? h("span", { class: "badge" }, "In use") : use,
            );
          }),
        )
      : h("p", { class: "muted" }, "The folder has no YAML or JSON files."),
  );
  return undefined;
}

const changes = ({ message, count }) =>
  `${message} There ${count === 1 ? "is" : "are"} ${counted(count, "document")} now.`;

/** The settings that the service was started with. */
async function showOthers(card) {
  let rows;
  try {
    ({ configuration: rows } = await service.status());
  } catch (error) {
    return card.replaceChildren(failure(error, () => showOthers(card)));
  }
  const line = ({ key, value, origin }) =>
    h("tr", {}, h("th", { scope: "row" }, h("code", {}, key)), h("td", {}, plain(value)), h("td", {}, origin));
  card.replaceChildren(
    h("div", { class: "card-head" }, h("h2", {}, "Other settings"), h("p", { class: "muted" }, "Set when the service was started")),
    h(
      "div",
      { class: "wide", tabindex: "0", role: "group", "aria-label": "Table of settings" },
      h(
        "table",
        { class: "texts" },
        h("caption", { class: "unseen" }, "Other settings"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Setting", "Value", "Origin"].map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h("tbody", {}, rows.filter(({ key }) => !key.startsWith("bm25s.")).map(line)),
      ),
    ),
  );
  return undefined;
}

const plain = (value) => (value === null || value.length === 0 ? "–" : String(value));
