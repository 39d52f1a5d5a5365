// The Documents tab: browse, filter, add, edit and delete. Only the served catalog can be changed here.

import { askFirst, debounced, empty, failure, h, icon, loading, note, put } from "../core/dom.js";
import { edit } from "./editor.js";
import { counted, number } from "../search/outcome.js";
import { Panel } from "../core/panel.js";
import { remember } from "../core/route.js";
import * as service from "../core/service.js";

const A_PAGE = 25;

export function mount(root, params) {
  let known = [];
  let state = {
    corpus: params.corpus ?? "",
    q: params.q ?? "",
    page: Math.max(1, Number.parseInt(params.page, 10) || 1),
  };
  let newest = 0;
  let drawn = ""; // what the list shows

  const corpus = h("select", {
    "aria-label": "Corpus",
    onchange: () => {
      change({ corpus: corpus.value, page: 1 });
      showUsage();
    },
  });
  const filter = h("input", {
    type: "search",
    placeholder: "Filter by words",
    "aria-label": "Filter",
    autocomplete: "off",
    spellcheck: "false",
    value: state.q,
    oninput: () => {
      update({ q: filter.value, page: 1 });
      soon();
    },
  });
  const add = h(
    "button",
    { type: "button", class: "primary", disabled: true, onclick: () => edit(null, { corpus: state.corpus, saved }) },
    icon("plus"),
    "Add document",
  );
  const fixed = h(
    "p",
    { class: "muted fixed", hidden: true },
    "Read-only: this corpus follows its source. Change the source and build the corpus again.",
  );
  const learned = h("div", { class: "learned", hidden: true });
  const range = h("p", { class: "muted", role: "status", "aria-live": "polite" });
  const list = h("ul", { class: "documents-list" });
  const blank = h("div", {}, loading());
  const previous = h("button", { type: "button", onclick: () => change({ page: state.page - 1 }) }, "Previous");
  const next = h("button", { type: "button", onclick: () => change({ page: state.page + 1 }) }, "Next");
  const panel = new Panel({
    closed: (id) => list.querySelector(`[data-id="${CSS.escape(id)}"] .document-open`)?.focus(),
  });
  const soon = debounced(load, 150);
  const paging = h("nav", { class: "paging", "aria-label": "Pages of documents", hidden: true }, previous, range, next);

  root.append(
    h("div", { class: "head" }, h("h1", {}, "Documents"), h("div", { class: "head-tools" }, corpus, filter, add)),
    fixed,
    learned,
    h("section", { class: "card flush", "aria-label": "Documents" }, list, blank, paging),
    panel.element,
  );

  addEventListener("keydown", shortcuts);
  begin();
  return () => {
    removeEventListener("keydown", shortcuts);
    newest += 1;
  };

  async function begin() {
    try {
      known = await service.corpora();
    } catch (error) {
      return blank.replaceChildren(failure(error, begin));
    }
    if (!root.isConnected) return undefined;
    corpus.replaceChildren(...service.choices(known));
    state.corpus = corpus.value = service.preferred(known, state.corpus).name;
    add.disabled = false;
    return Promise.all([load(), showUsage()]);
  }

  function update(partial) {
    state = { ...state, ...partial };
    remember("documents", { ...state, page: state.page > 1 ? state.page : "" });
    panel.reset();
  }

  function change(partial) {
    update(partial);
    load();
  }

  /** Shows the current page; the answer for an older one is dropped. */
  async function load() {
    if (!known.length) return;
    const mine = (newest += 1);
    const one = known.find((other) => other.name === state.corpus);
    add.hidden = !one.served;
    fixed.hidden = one.served;
    list.setAttribute("aria-busy", "true");
    try {
      const found = await service.documents(state.corpus, {
        offset: (state.page - 1) * A_PAGE,
        limit: A_PAGE,
        q: state.q.trim(),
      });
      if (mine !== newest) return;
      if (!found.documents.length && state.page > 1)
        return change({ page: Math.max(1, Math.ceil(found.count / A_PAGE)) });
      show(found, one);
    } catch (error) {
      if (mine !== newest) return;
      list.replaceChildren();
      drawn = "";
      paging.hidden = true;
      blank.replaceChildren(failure(error, load));
    } finally {
      list.removeAttribute("aria-busy");
    }
  }

  /** Shows how much the corpus has learned from use, if anything. */
  async function showUsage() {
    const name = state.corpus;
    const { uses } = await service.usage(name).catch(() => ({ uses: 0 })); // documents are shown without it
    if (name !== state.corpus) return;
    learned.hidden = !uses;
    put(
      learned,
      h("p", { class: "muted" }, `Learned from ${counted(uses, "use")}`),
      h("button", { type: "button", class: "quiet danger", onclick: forget }, "Forget"),
    );
  }

  async function forget() {
    const name = state.corpus;
    const text = "Everything that was learned from its use is deleted. This cannot be undone.";
    if (!(await askFirst(`Forget the use of ${name}?`, text, "Forget"))) return;
    try {
      await service.forget(name);
      note(`Forgot the use of ${name}.`);
      corpus.focus();
    } catch (error) {
      note(error.message, null, { wrong: true });
    }
    await showUsage();
  }

  function show({ documents, count: total }, one) {
    const from = (state.page - 1) * A_PAGE;
    const drawing = JSON.stringify([documents, one.served]);
    if (drawing !== drawn) list.replaceChildren(...documents.map((document) => row(document, one.served))); // else a click in progress is lost
    drawn = drawing;
    blank.replaceChildren();
    paging.hidden = !total;
    range.textContent = total
      ? `${number(from + 1)}–${number(from + documents.length)} of ${counted(total, "document")}`
      : "No documents";
    previous.disabled = from === 0;
    next.disabled = from + documents.length >= total;
    if (!total && state.q)
      blank.replaceChildren(
        empty(
          "search",
          "No document matches the filter",
          "The filter searches id, title, content and keywords.",
        ),
      );
    else if (!total)
      blank.replaceChildren(
        empty(
          "documents",
          "This corpus is empty",
          one.served
            ? h("button", { type: "button", onclick: () => add.click() }, icon("plus"), "Add the first document")
            : "Build it: shortlist build.",
        ),
      );
  }

  function row(document, writable) {
    const { id, title, content, keywords = [] } = document;
    const name = title || id;
    return h(
      "li",
      { "data-id": id },
      h(
        "button",
        { type: "button", class: "document-open", onclick: () => read(document) },
        h("span", { class: "document-title", dir: "auto" }, name),
        id !== name && h("code", { class: "document-id" }, id),
        h("span", { class: "document-text", dir: "auto" }, content),
        keywords.length > 0 && h("span", { class: "document-keywords" }, keywords.join(" · ")),
      ),
      writable &&
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
              onclick: () => edit(document, { corpus: state.corpus, saved }),
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
              onclick: () => discard(document),
            },
            icon("trash"),
          ),
        ),
    );
  }

  function read(document) {
    panel.open(
      { id: document.id, title: document.title || document.id },
      () => service.disclose(state.corpus, document.id),
      { focus: true },
    );
  }

  async function discard(document) {
    const name = document.title || document.id;
    try {
      await service.drop(document.id);
      note(`Deleted ${name}.`, { label: "Undo", act: () => restore(document) });
      panel.reset();
      const at = [...list.children].findIndex((item) => item.dataset.id === document.id);
      await load();
      (list.children[Math.min(at, list.children.length - 1)]?.querySelector("button") ?? add).focus();
    } catch (error) {
      note(error.message, null, { wrong: true });
    }
  }

  async function restore(document) {
    try {
      await service.save(document);
      note(`${document.title || document.id} was restored.`);
      await load();
    } catch (error) {
      note(error.message, null, { wrong: true });
    }
  }

  function saved(document, wasThere) {
    note(wasThere ? `Saved ${document.title || document.id}.` : `Added ${document.title || document.id}.`);
    panel.reset();
    load();
  }

  function shortcuts(event) {
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && panel.isOpen) panel.close();
    if (event.key === "/" && !event.target.closest("input, textarea, select")) {
      event.preventDefault();
      filter.focus();
    }
  }
}
