// The Documents tab: browse, filter, add, edit and delete. Only the served catalog can be changed here.

import { createDocumentPanel } from "../core/document-panel.js";
import { isInField } from "../core/dom.js";
import { showError, showNote } from "../core/messages.js";
import { disclose } from "../core/service.js";
import { openEditor } from "./editor.js";
import { createList } from "./list.js";
import { DocumentsSession } from "./session.js";
import { createToolbar } from "./toolbar.js";
import { acceptDrops, openUpload } from "./upload.js";
import { createUsage } from "./usage.js";

/** @import { Params } from "../core/route.js" */
/** @import { ListedDocument } from "../core/types.js" */
/** @import { ChosenFile } from "./files.js" */
/** @import { DocumentsState } from "./session.js" */

/**
 * @param {HTMLElement} root
 * @param {Params} params
 */
export function mount(root, params) {
  const tab = new DocumentsTab(root, params);
  return () => tab.leave();
}

class DocumentsTab {
  /**
   * @param {HTMLElement} root
   * @param {Params} params
   */
  constructor(root, params) {
    const session = new DocumentsSession(params);
    this.session = session;
    this.panel = createDocumentPanel((id) => this.#focusRow(id));
    this.toolbar = createToolbar(session, {
      onSelect: (partial) => this.#select(partial),
      onAdd: () => this.#edit(null),
      onUpload: () => this.#upload(),
    });
    const { element, list } = createList(session, {
      onRead: (document) => this.#read(document),
      onEdit: (document) => this.#edit(document),
      onDelete: (document) => this.#delete(document),
      onAdd: () => this.#edit(null),
      onDeleted: () => this.panel.reset(),
      onPage: (page) => {
        this.#select({ page });
        session.load();
      },
    });
    this.list = list;
    const usage = createUsage(session, () => this.toolbar.corpus.focus());
    root.append(this.toolbar.element, this.toolbar.readOnly, usage, element, this.panel.element);
    acceptDrops(root, (files) => this.#upload(files));
    addEventListener("keydown", this.#onShortcut);
    session.begin();
  }

  leave() {
    removeEventListener("keydown", this.#onShortcut);
    this.session.close();
  }

  /** @param {Partial<DocumentsState>} partial */
  #select(partial) {
    this.session.select(partial);
    this.panel.reset();
  }

  /** @param {string | null} id */
  #focusRow(id) {
    const button = id !== null && this.list.querySelector(`[data-id="${CSS.escape(id)}"] .document-open`);
    if (button instanceof HTMLElement) button.focus();
  }

  /** @param {ListedDocument} document */
  #read({ id, title }) {
    const { corpus } = this.session.store.state;
    this.panel.open({ key: id, title: title || id, focus: true }, () => disclose(corpus, id));
  }

  /** @param {ListedDocument | null} document null for a new one */
  #edit(document) {
    openEditor(document, {
      corpus: this.session.store.state.corpus,
      onSave: ({ id, title }) => {
        showNote(`${document ? "Saved" : "Added"} ${title || id}.`);
        this.panel.reset();
        this.session.load();
      },
    });
  }

  /** @param {ChosenFile[]} [files] */
  #upload(files) {
    const { corpus } = this.session;
    openUpload({
      files,
      corpus: corpus?.uploaded ? corpus.name : "",
      onDone: (built) => {
        this.#select({ corpus: built, q: "", page: 1 });
        this.toolbar.filter.value = "";
        this.session.begin();
      },
    });
  }

  /** @param {ListedDocument} document */
  async #delete(document) {
    const rows = /** @type {HTMLElement[]} */ ([...this.list.children]);
    const at = rows.findIndex((row) => row.dataset.id === document.id);
    try {
      await this.session.remove(document);
    } catch (error) {
      showError(error);
      return;
    }
    this.panel.reset();
    const next = this.list.children[Math.min(at, this.list.children.length - 1)];
    (next?.querySelector("button") ?? this.toolbar.add).focus();
  }

  #onShortcut = (/** @type {KeyboardEvent} */ event) => {
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && this.panel.isOpen) this.panel.close();
    if (event.key === "/" && !isInField(event)) {
      event.preventDefault();
      this.toolbar.filter.focus();
    }
  };
}
