// One visit of the Documents tab: the page of documents, and what changes it. The regions of the tab draw it.

import { preferCorpus } from "../core/corpora.js";
import { showError, showNote } from "../core/messages.js";
import { remember } from "../core/route.js";
import * as service from "../core/service.js";
import { createStore } from "../core/store.js";

/** @import { Params } from "../core/route.js" */
/** @import { Corpus, DocumentList, ListedDocument } from "../core/types.js" */
/** @typedef {"added" | "newest" | "title" | "id"} SortName */

/**
 * @typedef {object} DocumentsState
 * @property {Corpus[]} corpora
 * @property {string} corpus
 * @property {string} q the filter
 * @property {number} page
 * @property {SortName} sort
 * @property {ReadonlySet<string>} selected the ids of the documents to delete
 * @property {DocumentList | null} list
 * @property {boolean} isBusy
 * @property {{ error: unknown, retry: () => unknown } | null} failure
 * @property {number} uses that the corpus has learned from
 */

export const PAGE_SIZE = 25;

/**
 * The orders of the list, with their names and their parameters.
 * @type {Record<SortName, [text: string, sort: string, descending: boolean]>}
 */
export const SORTS = {
  added: ["Oldest first", "added", false],
  newest: ["Newest first", "added", true],
  title: ["By title", "title", false],
  id: ["By id", "id", false],
};

export class DocumentsSession {
  #isClosed = false;
  #newest = 0; // the number of the last request; answers to older ones are dropped

  /** @param {Params} params */
  constructor(params) {
    /** @type {DocumentsState} */
    const state = {
      corpora: [],
      corpus: params.corpus ?? "",
      q: params.q ?? "",
      page: Math.max(1, Number.parseInt(params.page ?? "", 10) || 1),
      sort: /** @type {SortName} */ (params.sort && params.sort in SORTS ? params.sort : "added"),
      selected: new Set(),
      list: null,
      isBusy: false,
      failure: null,
      uses: 0,
    };
    this.store = createStore(state);
  }

  /** @returns {Corpus | undefined} undefined while the corpora are loading */
  get corpus() {
    const { corpora, corpus } = this.store.state;
    return corpora.find(({ name }) => name === corpus);
  }

  /** Whether documents of the corpus can be deleted here. */
  get canDelete() {
    return Boolean(this.corpus?.served || this.corpus?.uploaded);
  }

  async begin() {
    try {
      const corpora = await service.listCorpora();
      if (this.#isClosed) return;
      this.store.set({ corpora, corpus: preferCorpus(corpora, this.store.state.corpus).name, failure: null });
    } catch (error) {
      this.store.set({ failure: { error, retry: () => this.begin() } });
      return;
    }
    await Promise.all([this.load(), this.loadUsage()]);
  }

  close() {
    this.#isClosed = true;
    this.#newest += 1;
  }

  /**
   * Changes what is listed. The caller loads it.
   *
   * @param {Partial<Pick<DocumentsState, "corpus" | "q" | "page" | "sort" | "selected">>} partial
   */
  select(partial) {
    this.store.set({ selected: new Set(), ...partial });
    const { corpus, q, page, sort } = this.store.state;
    remember("documents", { corpus, q, page: page > 1 ? page : "", sort: sort === "added" ? "" : sort });
  }

  /** Loads the current page. */
  async load() {
    const { corpora, corpus, page, q, sort: order } = this.store.state;
    if (!corpora.length) return;
    const [, sort, descending] = SORTS[order];
    this.#newest += 1;
    const request = this.#newest;
    this.store.set({ isBusy: true });
    try {
      const list = await service.listDocuments(corpus, {
        offset: (page - 1) * PAGE_SIZE,
        limit: PAGE_SIZE,
        q: q.trim(),
        sort,
        descending,
      });
      if (request !== this.#newest) return;
      if (!list.documents.length && page > 1) {
        this.select({ page: Math.max(1, Math.ceil(list.count / PAGE_SIZE)) });
        await this.load();
      } else this.store.set({ list, failure: null });
    } catch (error) {
      if (request === this.#newest) this.store.set({ list: null, failure: { error, retry: () => this.load() } });
    } finally {
      this.store.set({ isBusy: false });
    }
  }

  /** Loads how much the corpus has learned from use. */
  async loadUsage() {
    const { corpus } = this.store.state;
    const { uses } = await service.readUsage(corpus).catch(() => ({ uses: 0 })); // documents are shown without it
    if (corpus === this.store.state.corpus) this.store.set({ uses });
  }

  /**
   * Deletes documents that are selected, or all that match the filter.
   *
   * @param {{ ids: string[] } | { q: string }} which
   */
  async removeSeveral(which) {
    const report = await service.deleteDocuments(this.store.state.corpus, which);
    this.store.set({ selected: new Set() });
    await this.load();
    return report;
  }

  /** @param {ListedDocument} document */
  async remove(document) {
    const { corpus } = this.store.state;
    await service.deleteDocument(corpus, document.id);
    const restore = async () => {
      try {
        await service.saveDocument(corpus, document);
        showNote(`${document.title || document.id} was restored.`);
        await this.load();
      } catch (error) {
        showError(error);
      }
    };
    showNote(`Deleted ${document.title || document.id}.`, { action: { label: "Undo", act: restore } });
    await this.load();
  }
}
