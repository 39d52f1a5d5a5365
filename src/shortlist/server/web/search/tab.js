// The Search tab: shows what an agent would get for a query, as you type.

import { copyText, debounced, empty, h, icon, note as notify, put } from "../core/dom.js";
import { askedCutoff, counted, discoverOutcome, softmaxOutcome } from "./outcome.js";
import { Panel } from "../core/panel.js";
import { copies, discoverBody, explainBody, retrieveBody } from "./request.js";
import { Results } from "./results.js";
import { remember } from "../core/route.js";
import { sampleQueries } from "./samples.js";
import * as service from "../core/service.js";
import { DEFAULTS, read as fromAddress, tuning } from "./tuning.js";

const PAUSE = 120;
const MOST_SHOWN = 50; // ids in one feedback
const SAID = { on: "Learned", log: "Stored", off: "Learning is off" };

export function mount(root, params) {
  let known = [];
  const defaults = { ...DEFAULTS };
  let state = { corpus: "", q: "" };
  let answer = null;
  let underWay = null;
  let shown = null; // the state whose answer is shown
  let opensFirst = false; // Enter was pressed before the answer arrived
  const current = () => known.find((one) => one.name === state.corpus);
  const soon = debounced(ask, PAUSE);

  const field = h("input", {
    id: "query",
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "search",
    placeholder: "Search",
    value: params.q,
    "aria-label": "Query",
    "aria-controls": "found",
    oninput: () => change({ q: field.value }),
    onkeydown: fromField,
  });
  const corpus = h("select", { id: "corpus", "aria-label": "Corpus", onchange: () => selectCorpus(corpus.value) });
  const verdict = h("div", { class: "verdict" });
  const live = h("p", { class: "unseen", role: "status", "aria-live": "polite" });
  const blank = h("div");
  const samples = h("ul", { class: "samples", "aria-label": "Sample queries" });
  const copied = h("div", { class: "copied", hidden: true });
  const copy = h(
    "div",
    { class: "copy-as", role: "group", "aria-labelledby": "copy-as" },
    h("span", { id: "copy-as" }, "Copy as"),
    ["curl", "Python", "MCP"].map((form) =>
      h("button", { type: "button", class: "quiet", onclick: () => copyAs(form) }, form),
    ),
  );
  const panel = new Panel({
    closed: (id) => {
      results.mark(null);
      results.focus(id);
    },
  });
  const results = new Results({ open: read, leave: () => field.focus(), learn });
  const controls = tuning({ change, reset: () => change({ ...defaults, look: state.look }) });
  const filtered = h("span", { class: "badge", hidden: true });
  const fold = h(
    "details",
    { class: "tuning", open: matchMedia("(min-width: 60rem)").matches },
    h("summary", {}, icon("settings"), "Tuning", filtered),
    controls.element,
  );
  const found = h(
    "section",
    { class: "found", id: "found", "aria-label": "Results" },
    live,
    verdict,
    copy,
    copied,
    blank,
    results.element,
  );

  root.append(
    h("h1", { class: "unseen" }, "Search"),
    h(
      "div",
      { class: "query-row" },
      h("div", { class: "query" }, icon("search"), field, h("kbd", { "aria-hidden": "true" }, "/")),
      corpus,
    ),
    fold,
    found,
    panel.element,
  );

  addEventListener("keydown", shortcuts);
  if (!matchMedia("(pointer: coarse)").matches) field.focus();
  begin();
  return () => {
    removeEventListener("keydown", shortcuts);
    underWay?.abort();
  };

  async function begin() {
    showVerdict("rest", "search", "Loading", "Loading corpora…");
    blank.replaceChildren();
    try {
      const [rows, inForce] = await Promise.all([service.corpora(), service.settings()]);
      known = rows;
      Object.assign(defaults, {
        temperature: inForce.temperature,
        cutoff: inForce.llm_tools_cutoff,
        ignore_zero: inForce.ignore_zero,
      });
    } catch (error) {
      return fail(error, begin);
    }
    if (!root.isConnected) return undefined;
    corpus.replaceChildren(...service.choices(known));
    const first = service.preferred(known, params.corpus);
    state = { ...defaults, ...fromAddress(params), corpus: first.name, q: field.value };
    if (!first.served) state.look = "discover";
    corpus.value = state.corpus;
    showControls();
    if (state.q !== (params.q ?? "")) note();
    return ask();
  }

  function selectCorpus(name) {
    const one = known.find((other) => other.name === name);
    change({ corpus: name, look: one.served ? state.look : "discover", filters: [] });
    panel.reset();
    results.clear();
  }

  function change(partial) {
    opensFirst = false;
    if (!current()) return;
    state = { ...state, ...partial };
    showControls();
    if (answer?.look === "softmax" && state.look === "softmax" && "cutoff" in partial) show();
    note();
    soon();
  }

  function showControls() {
    const count = state.look === "discover" ? state.filters.length : 0;
    controls.show(state, current().served);
    filtered.hidden = !count;
    put(filtered, counted(count, "filter"));
  }

  function note() {
    const kept = { corpus: current().served ? "" : state.corpus, q: state.q };
    const filters = state.filters.length ? JSON.stringify(state.filters) : "";
    const tuned = Object.entries(state).filter(([name, value]) => !(name in kept) && value !== defaults[name]);
    remember("search", { ...kept, ...Object.fromEntries(tuned), filters });
  }

  /** Searches for the current state; a request for an older one is aborted. */
  async function ask() {
    underWay?.abort();
    const now = state;
    const asked = { ...now, q: now.q.trim() };
    if (!asked.q) {
      answer = null;
      return rest();
    }
    const mine = (underWay = new AbortController());
    const begun = performance.now();
    found.setAttribute("aria-busy", "true");
    try {
      const given =
        asked.look === "softmax"
          ? await retrieved(asked, mine.signal)
          : await service.discover(asked.corpus, discoverBody(asked), mine.signal);
      if (mine !== underWay) return undefined;
      const isSame = answer?.asked.q === asked.q && answer.asked.corpus === asked.corpus;
      const said = isSame ? answer.said : Object.create(null); // what became of feedback, by id
      answer = { look: asked.look, given, asked, said, ms: performance.now() - begun };
      show();
      shown = now;
      if (opensFirst && shown === state) openFirst();
      return undefined;
    } catch (error) {
      if (error.name === "AbortError" || mine !== underWay) return undefined;
      answer = null;
      results.clear();
      return fail(error, ask);
    } finally {
      if (mine === underWay) found.removeAttribute("aria-busy");
    }
  }

  async function retrieved(asked, signal) {
    const body = retrieveBody(asked);
    const least = askedCutoff(asked.cutoff, current().documents);
    const first = await service.retrieve({ ...body, llm_tools_cutoff: least }, signal);
    if (first.documents.length || !first.total_retrieved) return first;
    // With many candidates each share is small; the best is at least the mean.
    return service.retrieve({ ...body, llm_tools_cutoff: 99 / first.total_retrieved }, signal);
  }

  function show() {
    const isSoftmax = answer.look === "softmax";
    const outcome = isSoftmax
      ? softmaxOutcome(answer.given, { ...state, q: answer.asked.q })
      : discoverOutcome(answer.given, answer.asked);
    const { kept, candidates, reason, rows, isUnknown } = outcome;
    const took = `${answer.ms < 10 ? answer.ms.toFixed(1) : Math.round(answer.ms)} ms`;
    const title = isUnknown ? "Nothing is known about this query" : "Nothing fits";
    results.show(outcome);
    results.showLearned(answer.said);
    if (!isSoftmax) controls.offer(answer.given.candidates);
    blank.replaceChildren();
    copied.hidden = true;
    copy.classList.add("ready");
    if (kept) showVerdict("kept", "check", `${counted(kept, "document")} selected`, reason, took);
    else showVerdict("none", "none", title, reason, took);
    if (!rows.length) blank.replaceChildren(nothingFound());
    live.textContent = kept ? `${kept} of ${candidates} selected.` : `${title}. ${reason}`;
    const open = rows.find((row) => row.id === panel.asked);
    if (open) read(open, false);
    else panel.reset();
    results.mark(panel.asked);
  }

  function copyAs(form) {
    if (!answer) return;
    const { text, hint } = copies(answer.asked)[form];
    const name = `The request as ${form}`;
    const code = h("pre", { class: "text", tabindex: "0", role: "region", "aria-label": name }, text);
    const close = () => {
      copied.hidden = true;
      [...copy.children].find((one) => one.textContent === form).focus();
    };
    put(
      copied,
      code,
      h(
        "button",
        { type: "button", class: "quiet icon-button", "aria-label": "Close the request", onclick: close },
        icon("close"),
      ),
      hint && h("p", { class: "hint" }, hint),
    );
    copied.hidden = false;
    copyText(text, code, `${form} request`);
  }

  function nothingFound() {
    const one = current();
    if (one.documents === 0)
      return empty(
        "documents",
        "This corpus is empty",
        one.served ? "Add a document in the Documents tab." : "Build it: shortlist build.",
      );
    if (state.look === "discover" && state.filters.length)
      return empty("search", "No candidates", "No document meets the filter. Remove a filter.");
    return empty(
      "search",
      "No candidates",
      "No document contains a word of the query. Try different terms, or Discover, which also searches semantically.",
    );
  }

  function rest() {
    results.clear();
    panel.reset();
    live.textContent = "";
    const one = current();
    showVerdict(
      "rest",
      "search",
      counted(one.documents, "document"),
      one.documents ? "Results appear as you type." : "This corpus has no documents yet.",
    );
    blank.replaceChildren(one.documents ? hints(samples) : nothingFound());
    copied.hidden = true;
    copy.classList.remove("ready");
    suggest(one);
  }

  /** Shows sample queries; without any, the page works as well. */
  async function suggest(one) {
    if (samples.dataset.corpus === one.name) return;
    samples.dataset.corpus = one.name;
    samples.replaceChildren();
    const queries = await sampleQueries(one).catch(() => []);
    if (samples.dataset.corpus !== one.name) return;
    put(
      samples,
      queries.map((query) =>
        h("li", {}, h("button", { type: "button", onclick: () => use(query) }, h("span", { dir: "auto" }, query))),
      ),
    );
  }

  function use(query) {
    field.value = query;
    field.focus();
    change({ q: query });
  }

  function showVerdict(tone, name, title, reason, took = "") {
    verdict.className = `verdict ${tone}`;
    verdict.replaceChildren(
      icon(name),
      h("p", { class: "verdict-title" }, title),
      h("p", { class: "verdict-took" }, took),
      h("p", { class: "verdict-reason", title: reason }, reason),
    );
  }

  function fail(error, again) {
    showVerdict("wrong", "warn", error.title || "Something went wrong", error.message);
    live.textContent = error.message;
    copied.hidden = true;
    copy.classList.remove("ready");
    const button = h("button", { type: "button", onclick: again }, icon("reload"), "Try again");
    blank.replaceChildren(h("div", { class: "again" }, button));
  }

  function read(row, focus) {
    if (!focus && !panel.isOpen) return;
    results.mark(row.id);
    const { asked } = answer;
    const load = async () => {
      const [shown, why] = await Promise.all([
        service.disclose(asked.corpus, row.id),
        service.explain(asked.corpus, explainBody(row.id, asked)),
      ]);
      return { ...shown, why };
    };
    panel.open(row, load, { focus, reason: asked });
  }

  /** Reports that a row is right for the query. */
  async function learn({ id, title }) {
    const { asked, said } = answer;
    if (said[id]) return;
    const shown = [...results.rows.keys()].slice(0, MOST_SHOWN);
    try {
      const { learning } = await service.feedback(asked.corpus, { query: asked.q, id, shown });
      said[id] = SAID[learning];
      live.textContent = `${said[id]}: ${title}.`;
      results.showLearned(answer?.said ?? {});
    } catch (error) {
      notify(error.message, null, { wrong: true });
    }
  }

  /** Opens the best result once it is known. */
  function openFirst() {
    opensFirst = shown !== state;
    if (!opensFirst) results.openFirst();
  }

  function fromField(event) {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") {
      event.preventDefault();
      results.focusFirst();
    }
    if (event.key === "Enter") openFirst();
    if (event.key === "Escape" && panel.isOpen) {
      event.preventDefault();
      panel.reset();
      results.mark(null);
    }
  }

  function shortcuts(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key === "/" && !event.target.closest("input, textarea, select")) {
      event.preventDefault();
      field.focus();
      field.select();
    }
    if (event.key === "Escape" && event.target !== field) {
      if (panel.isOpen) panel.close();
      else field.focus();
    }
  }
}

const KEYS = [
  ["/", "go to the query"],
  ["↓ ↑", "move through the results"],
  ["Enter", "open a result"],
  ["Esc", "close it and go back to the query"],
];

function hints(samples) {
  return h(
    "div",
    { class: "hints" },
    h("p", {}, "Search as an agent would: describe the task, not the name of the tool. For example:"),
    samples,
    h(
      "dl",
      { class: "keys", "aria-label": "Keys" },
      KEYS.map(([keys, text]) =>
        h(
          "div",
          {},
          h(
            "dt",
            {},
            keys.split(" ").map((key) => h("kbd", {}, key)),
          ),
          h("dd", {}, text),
        ),
      ),
    ),
  );
}
