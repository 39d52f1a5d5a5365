// The bar above the list: select the documents of the page, and delete those that are selected.

import { h, put } from "../core/dom.js";
import { formatCount } from "../core/format.js";
import { icon } from "../core/icons.js";
import { confirmAction, showError, showNote } from "../core/messages.js";

/** @import { DocumentsSession } from "./session.js" */

/**
 * @param {DocumentsSession} session
 * @param {() => void} onDeleted
 */
export function createSelection(session, onDeleted) {
  const all = h("input", {
    type: "checkbox",
    id: "select-page",
    onchange: () => {
      const ids = session.store.state.list?.documents.map(({ id }) => id) ?? [];
      session.select({ selected: new Set(all.checked ? ids : []) });
    },
  });
  const count = h("span", { class: "muted", role: "status" });
  const remove = h(
    "button",
    { type: "button", class: "danger", onclick: () => deleteAll(false) },
    icon("trash"),
    "Delete",
  );
  const matching = h("button", { type: "button", class: "quiet danger", onclick: () => deleteAll(true) });
  const element = h(
    "div",
    { class: "selection" },
    all,
    h("label", { for: "select-page" }, "Select page"),
    count,
    remove,
    matching,
  );
  session.store.subscribe(["list", "selected", "corpora", "corpus", "q"], ({ list, selected, q }) => {
    const total = list?.count ?? 0;
    element.hidden = !session.canDelete || !total;
    all.checked = selected.size > 0 && selected.size === list?.documents.length;
    all.indeterminate = selected.size > 0 && !all.checked;
    put(count, selected.size > 0 && `${formatCount(selected.size, "document")} selected`);
    remove.hidden = !selected.size;
    matching.hidden = !q.trim() || total <= selected.size;
    put(matching, `Delete all ${total.toLocaleString("en")} that match`);
  });
  return element;

  /** @param {boolean} isAllMatching */
  async function deleteAll(isAllMatching) {
    const { selected, q, list, corpus } = session.store.state;
    const size = formatCount(isAllMatching ? (list?.count ?? 0) : selected.size, "document");
    const what = isAllMatching ? `They contain “${q.trim()}”. ` : "";
    const files = session.corpus?.uploaded ? "Their uploaded files are deleted, too. " : "";
    if (!(await confirmAction(`Delete ${size} of ${corpus}?`, `${what}${files}This cannot be undone.`, "Delete")))
      return;
    try {
      const { removed } = await session.removeSeveral(isAllMatching ? { q: q.trim() } : { ids: [...selected] });
      showNote(`Deleted ${formatCount(removed, "document")}.`);
      onDeleted();
    } catch (error) {
      showError(error);
    }
  }
}
