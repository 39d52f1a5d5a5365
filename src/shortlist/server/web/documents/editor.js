// A form for one document. Errors are shown next to their fields.

import { h } from "../core/dom.js";
import * as service from "../core/service.js";

const FIELDS = [
  { name: "id", label: "Id", hint: "The name that programs use. It cannot be changed later.", required: true },
  { name: "title", label: "Title", hint: "Searched. Often the name of the tool." },
  { name: "content", label: "Content", hint: "Searched. What it does and when to use it.", rows: 6 },
  { name: "keywords", label: "Keywords", hint: "Searched. Separated by commas." },
  { name: "metadata", label: "Metadata", hint: "Not searched. A JSON object.", rows: 5, code: true },
];

/** Opens the form, empty for a new document. `saved(document, wasThere)` is called once the service has it. */
export function edit(document_, { corpus, saved }) {
  const wasThere = document_ !== null;
  const inputs = {};
  const wrongs = {};
  const before = {};
  const general = h("p", { class: "wrong-field", role: "alert" });
  const save = h("button", { class: "primary" }, wasThere ? "Save" : "Add document");
  const dialog = h(
    "dialog",
    { class: "dialog", "aria-labelledby": "editor-title", onclose: () => dialog.remove() },
    h(
      "form",
      { novalidate: true, onsubmit: submit },
      h("h2", { id: "editor-title" }, wasThere ? "Edit the document" : "Add a document"),
      FIELDS.map(field),
      general,
      h("div", { class: "actions" }, h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), save),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  inputs[wasThere ? "title" : "id"].focus();

  function field({ name, label, hint, rows, code, required }) {
    const id = `edit-${name}`;
    const common = {
      id,
      name,
      class: code ? "code" : null,
      "aria-describedby": `${id}-hint ${id}-wrong`,
      "aria-required": required ? "true" : null,
      readonly: wasThere && name === "id",
      spellcheck: code || name === "id" ? "false" : null,
      autocomplete: "off",
    };
    inputs[name] = rows ? h("textarea", { ...common, rows }) : h("input", { ...common, type: "text" });
    if (wasThere) inputs[name].value = shown(name, document_[name]);
    before[name] = inputs[name].value; // a field may drop some characters
    wrongs[name] = h("p", { class: "wrong-field", id: `${id}-wrong`, role: "alert" });
    return h(
      "div",
      { class: "field" },
      h(
        "div",
        { class: "field-head" },
        h("label", { for: id }, label),
        h("span", { class: "hint", id: `${id}-hint` }, hint),
      ),
      inputs[name],
      wrongs[name],
    );
  }

  function showErrors(problems) {
    for (const { name } of FIELDS) {
      wrongs[name].textContent = problems[name] ?? "";
      if (problems[name]) inputs[name].setAttribute("aria-invalid", "true");
      else inputs[name].removeAttribute("aria-invalid");
    }
    inputs[FIELDS.find(({ name }) => problems[name])?.name]?.focus();
  }

  async function submit(event) {
    event.preventDefault();
    general.textContent = "";
    const { given, problems } = read();
    save.disabled = true;
    try {
      if (!wasThere && !problems.id && (await service.has(corpus, given.id)))
        problems.id = "A document with this id already exists. Edit it, or choose another id.";
      showErrors(problems);
      if (Object.keys(problems).length) return;
      await service.save(given);
      dialog.close();
      saved(given, wasThere);
    } catch (error) {
      showErrors(error.fields ?? {});
      if (!FIELDS.some(({ name }) => error.fields?.[name])) general.textContent = error.message;
    } finally {
      save.disabled = false;
    }
  }

  /** The values of the fields, and their errors. */
  function read() {
    const text = Object.fromEntries(FIELDS.map(({ name }) => [name, inputs[name].value]));
    const problems = {};
    if (!text.id.trim()) problems.id = "Enter an id.";
    if (/^\.{1,2}$/.test(text.id.trim())) problems.id = "An id cannot consist of dots only.";
    if (!text.content.trim() && !text.title.trim())
      problems.content = "Enter a title or content, so that there is something to search.";
    const words = text.keywords.split(",").map((word) => word.trim());
    const given = {
      id: text.id.trim(),
      title: text.title.trim(),
      content: text.content,
      keywords: words.filter(Boolean),
    };
    try {
      given.metadata = text.metadata.trim() ? JSON.parse(text.metadata) : {};
      if (given.metadata === null || typeof given.metadata !== "object" || Array.isArray(given.metadata))
        problems.metadata = 'Enter a JSON object, such as {"category": "billing"}.';
    } catch (error) {
      problems.metadata = `Not valid JSON: ${error.message}.`;
    }
    for (const { name } of FIELDS) if (wasThere && text[name] === before[name]) given[name] = document_[name];
    return { given, problems };
  }
}

/** A value as text for its field. */
function shown(name, value) {
  if (name === "keywords") return value.join(", ");
  if (name === "metadata") return Object.keys(value).length ? JSON.stringify(value, null, 2) : "";
  return value;
}
