// A form for one document. Errors are shown next to their fields.

import { ServiceError } from "../core/api.js";
import { markInvalid } from "../core/controls.js";
import { h } from "../core/dom.js";
import { messageOf } from "../core/messages.js";
import { hasDocument, saveDocument } from "../core/service.js";

/** @import { ListedDocument } from "../core/types.js" */
/** @typedef {"id" | "title" | "content" | "keywords" | "metadata"} FieldName */
/** @typedef {{ name: FieldName, label: string, hint: string, rows?: number, isCode?: boolean, isRequired?: boolean }} Field */
/** @typedef {Record<FieldName, string>} FieldTexts */
/** @typedef {Partial<Record<string, string>>} FieldErrors */

/** @type {Field[]} */
const FIELDS = [
  { name: "id", label: "Id", hint: "The name that programs use. It cannot be changed later.", isRequired: true },
  { name: "title", label: "Title", hint: "Searched. Often the name of the tool." },
  { name: "content", label: "Content", hint: "Searched. What it does and when to use it.", rows: 6 },
  { name: "keywords", label: "Keywords", hint: "Searched. Separated by commas." },
  { name: "metadata", label: "Metadata", hint: "Not searched. A JSON object.", rows: 5, isCode: true },
];

/**
 * Opens the form, empty for a new document.
 *
 * @param {ListedDocument | null} document
 * @param {{ corpus: string, onSave: (document: ListedDocument) => void }} options
 */
export function openEditor(document, options) {
  new Editor(document, options).show();
}

class Editor {
  /**
   * @param {ListedDocument | null} original
   * @param {{ corpus: string, onSave: (document: ListedDocument) => void }} options
   */
  constructor(original, { corpus, onSave }) {
    this.original = original;
    this.corpus = corpus;
    this.onSave = onSave;
    this.fields = FIELDS.map((field) => this.#makeField(field));
    /** What the fields held at first: a field may drop some characters. */
    this.before = this.#readTexts();
    this.error = h("p", { class: "wrong-field", role: "alert" });
    this.save = h("button", { class: "primary" }, original ? "Save" : "Add document");
    /** @type {HTMLDialogElement} */
    this.dialog = h(
      "dialog",
      { class: "dialog", "aria-labelledby": "editor-title", onclose: () => this.dialog.remove() },
      h(
        "form",
        {
          novalidate: true,
          onsubmit: (event) => {
            event.preventDefault();
            this.#submit();
          },
        },
        h("h2", { id: "editor-title" }, original ? "Edit the document" : "Add a document"),
        this.fields.map(({ element }) => element),
        this.error,
        h(
          "div",
          { class: "actions" },
          h("button", { type: "button", onclick: () => this.dialog.close() }, "Cancel"),
          this.save,
        ),
      ),
    );
  }

  show() {
    document.body.append(this.dialog);
    this.dialog.showModal();
    const first = this.original ? "title" : "id";
    this.fields.find(({ name }) => name === first)?.input.focus();
  }

  /** @param {Field} field */
  #makeField({ name, label, hint, rows, isCode, isRequired }) {
    const id = `edit-${name}`;
    const attributes = {
      id,
      name,
      class: isCode ? "code" : null,
      dir: isCode || name === "id" ? null : "auto",
      "aria-describedby": `${id}-hint ${id}-wrong`,
      "aria-required": isRequired ? "true" : null,
      readonly: this.original !== null && name === "id",
      spellcheck: isCode || name === "id" ? "false" : null,
      autocomplete: "off",
    };
    const input = rows ? h("textarea", { ...attributes, rows }) : h("input", { ...attributes, type: "text" });
    if (this.original) input.value = formatField(name, this.original);
    const wrong = h("p", { class: "wrong-field", id: `${id}-wrong`, role: "alert" });
    const head = h(
      "div",
      { class: "field-head" },
      h("label", { for: id }, label),
      h("span", { class: "hint", id: `${id}-hint` }, hint),
    );
    return { name, input, wrong, element: h("div", { class: "field" }, head, input, wrong) };
  }

  /** @returns {FieldTexts} */
  #readTexts() {
    return /** @type {FieldTexts} */ (Object.fromEntries(this.fields.map(({ name, input }) => [name, input.value])));
  }

  /** @param {FieldErrors} errors */
  #showErrors(errors) {
    for (const { name, input, wrong } of this.fields) {
      wrong.textContent = errors[name] ?? "";
      markInvalid(input, errors[name]);
    }
    this.fields.find(({ name }) => errors[name])?.input.focus();
  }

  async #submit() {
    const texts = this.#readTexts();
    const { document, errors } = parseFields(texts);
    const unchanged = FIELDS.filter(({ name }) => this.original && texts[name] === this.before[name]);
    for (const { name } of unchanged) Object.assign(document, { [name]: this.original?.[name] });
    this.error.textContent = "";
    this.save.disabled = true;
    try {
      if (!this.original && !errors.id && (await hasDocument(this.corpus, document.id)))
        errors.id = "A document with this id already exists. Edit it, or choose another id.";
      this.#showErrors(errors);
      if (Object.keys(errors).length) return;
      await saveDocument(this.corpus, document);
      this.dialog.close();
      this.onSave(document);
    } catch (error) {
      const fields = error instanceof ServiceError ? error.fields : {};
      this.#showErrors(fields);
      if (!FIELDS.some(({ name }) => fields[name])) this.error.textContent = messageOf(error);
    } finally {
      this.save.disabled = false;
    }
  }
}

/**
 * Parses the texts of the fields, with errors by the name of the field.
 *
 * @param {FieldTexts} texts
 * @returns {{ document: ListedDocument, errors: FieldErrors }}
 */
export function parseFields({ id, title, content, keywords, metadata }) {
  /** @type {FieldErrors} */
  const errors = {};
  if (!id.trim()) errors.id = "Enter an id.";
  if (/^\.{1,2}$/.test(id.trim())) errors.id = "An id cannot consist of dots only.";
  if (!content.trim() && !title.trim())
    errors.content = "Enter a title or content, so that there is something to search.";
  const words = keywords.split(",").map((word) => word.trim());
  const document = { id: id.trim(), title: title.trim(), content, keywords: words.filter(Boolean), metadata: {} };
  try {
    document.metadata = metadata.trim() ? JSON.parse(metadata) : {};
    if (document.metadata === null || typeof document.metadata !== "object" || Array.isArray(document.metadata))
      errors.metadata = 'Enter a JSON object, such as {"category": "billing"}.';
  } catch (error) {
    errors.metadata = `Not valid JSON: ${messageOf(error)}.`;
  }
  return { document, errors };
}

/**
 * A value of a document as text for its field.
 *
 * @param {FieldName} name
 * @param {ListedDocument} document
 */
function formatField(name, document) {
  if (name === "keywords") return document.keywords.join(", ");
  if (name === "metadata")
    return Object.keys(document.metadata).length ? JSON.stringify(document.metadata, null, 2) : "";
  return document[name];
}
