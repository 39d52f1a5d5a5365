// The documents of a page, with buttons to read, edit and delete them.

import { emptyCorpus } from "../core/corpora.js";
import { h, put } from "../core/dom.js";
import { formatCount, formatNumber } from "../core/format.js";
import { icon } from "../core/icons.js";
import { empty, failure, loading } from "../core/messages.js";
import { createSelection } from "./selection.js";
import { PAGE_SIZE } from "./session.js";

/** @import { ListedDocument } from "../core/types.js" */
/** @import { DocumentsSession } from "./session.js" */

/**
 * @typedef {object} ListListener
 * @property {(document: ListedDocument) => void} onRead
 * @property {(document: ListedDocument) => void} onEdit
 * @property {(document: ListedDocument) => void} onDelete
 * @property {() => void} onAdd
 * @property {(page: number) => void} onPage
 * @property {() => void} onDeleted called when several documents were deleted
 */

/**
 * @param {DocumentsSession} session
 * @param {ListListener} listener
 */
export function createList(session, listener) {
  const list = h("ul", { class: "documents-list" });
  const blank = h("div");
  let drawn = "";
  session.store.subscribe(["list"], (state) => {
    const documents = state.list?.documents ?? [];
    const isWritable = session.corpus?.served ?? false;
    const { canDelete } = session;
    const drawing = JSON.stringify([documents, isWritable, canDelete]);
    if (drawing === drawn) return; // a click in progress would be lost
    drawn = drawing;
    list.replaceChildren(...documents.map((document) => drawRow(session, document, listener)));
  });
  session.store.subscribe(["list", "selected"], ({ selected }) => {
    for (const box of list.querySelectorAll("input")) box.checked = selected.has(box.value);
  });
  session.store.subscribe(["list", "failure"], (state) => {
    blank.replaceChildren();
    if (state.failure) blank.append(failure(state.failure.error, state.failure.retry));
    else if (!state.list) blank.append(loading());
    else if (!state.list.count) put(blank, placeholder(session, listener));
  });
  session.store.subscribe(["isBusy"], ({ isBusy }) => {
    if (isBusy) list.setAttribute("aria-busy", "true");
    else list.removeAttribute("aria-busy");
  });
  const card = h(
    "section",
    { class: "card flush", "aria-label": "Documents" },
    createSelection(session, () => listener.onDeleted()),
    list,
    blank,
    createPaging(session, listener),
  );
  return { element: card, list };
}

/**
 * @param {DocumentsSession} session
 * @param {ListListener} listener
 */
function createPaging({ store }, { onPage }) {
  const range = h("p", { class: "muted", role: "status", "aria-live": "polite" });
  const previous = h("button", { type: "button", onclick: () => onPage(store.state.page - 1) }, "Previous");
  const next = h("button", { type: "button", onclick: () => onPage(store.state.page + 1) }, "Next");
  const field = h("input", {
    type: "number",
    min: 1,
    "aria-label": "Page",
    onchange: () => {
      const page = Math.round(field.valueAsNumber);
      if (page >= 1 && page <= Number(field.max)) onPage(page);
      else field.value = String(store.state.page);
    },
  });
  const pages = h("span", { class: "muted" });
  const jump = h("div", { class: "jump" }, range, h("label", {}, "Page", field), pages);
  const element = h("nav", { class: "paging", "aria-label": "Pages of documents" }, previous, jump, next);
  store.subscribe(["list"], ({ list, page }) => {
    element.hidden = !list?.count;
    if (!list) return;
    const from = (page - 1) * PAGE_SIZE;
    const to = from + list.documents.length;
    range.textContent = list.count
      ? `${formatNumber(from + 1)}–${formatNumber(to)} of ${formatCount(list.count, "document")}`
      : "No documents";
    const last = Math.max(1, Math.ceil(list.count / PAGE_SIZE));
    field.value = String(page);
    field.max = String(last);
    pages.textContent = `of ${formatNumber(last)}`;
    previous.disabled = from === 0;
    next.disabled = to >= list.count;
  });
  return element;
}

/**
 * @param {DocumentsSession} session
 * @param {ListListener} listener
 */
function placeholder(session, { onAdd }) {
  if (session.store.state.q)
    return empty("search", "No document matches the filter", "The filter searches id, title, content and keywords.");
  const add = h("button", { type: "button", onclick: onAdd }, icon("plus"), "Add the first document");
  const { corpus } = session;
  return corpus && emptyCorpus(corpus, corpus.served && add);
}

/**
 * @param {DocumentsSession} session
 * @param {ListedDocument} document
 * @param {ListListener} listener
 */
function drawRow(session, document, { onRead, onEdit, onDelete }) {
  const { id, title, content, keywords = [] } = document;
  const name = title || id;
  const isWritable = session.corpus?.served ?? false;
  const toggle = () => {
    const selected = new Set(session.store.state.selected);
    if (!selected.delete(id)) selected.add(id);
    session.select({ selected });
  };
  return h(
    "li",
    { "data-id": id },
    session.canDelete && h("input", { type: "checkbox", value: id, "aria-label": `Select ${name}`, onchange: toggle }),
    h(
      "button",
      { type: "button", class: "document-open", onclick: () => onRead(document) },
      h("span", { class: "document-title", dir: "auto" }, name),
      id !== name && h("code", { class: "document-id" }, id),
      h("span", { class: "document-text", dir: "auto" }, content),
      keywords.length > 0 && h("span", { class: "document-keywords", dir: "auto" }, keywords.join(" · ")),
    ),
    isWritable &&
      h(
        "div",
        { class: "document-acts" },
        h(
          "button",
          {
            type: "button",
            class: "quiet icon-button",
            "aria-label": `Edit ${name}`,
            title: "Edit",
            onclick: () => onEdit(document),
          },
          icon("edit"),
        ),
        h(
          "button",
          {
            type: "button",
            class: "quiet icon-button danger",
            "aria-label": `Delete ${name}`,
            title: "Delete",
            onclick: () => onDelete(document),
          },
          icon("trash"),
        ),
      ),
  );
}
