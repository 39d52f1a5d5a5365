// What is shown instead of results: hints and sample queries, advice, or a button to try again.

import { emptyCorpus } from "../core/corpora.js";
import { h, put } from "../core/dom.js";
import { empty, retryButton } from "../core/messages.js";
import { drawRecent } from "./recent.js";
import { readSampleQueries } from "./samples.js";

/** @import { Corpus } from "../core/types.js" */
/** @import { SearchSession } from "./session.js" */

const KEYS = [
  ["/", "go to the query"],
  ["↓ ↑", "move through the results"],
  ["Enter", "open a result"],
  ["Esc", "close it and go back to the query"],
];

/**
 * @param {SearchSession} session
 * @param {(query: string) => void} use called with a sample query that was chosen
 */
export function createHints(session, use) {
  const element = h("div");
  const samples = h("ul", { class: "samples", "aria-label": "Sample queries" });
  session.store.subscribe(["shown"], ({ shown }) => {
    const { corpus } = session;
    element.replaceChildren();
    if (shown.kind === "failed") element.append(h("div", { class: "again" }, retryButton(shown.retry)));
    else if (corpus && shown.kind === "answer" && !shown.outcome.rows.length)
      element.append(noCandidates(session, corpus));
    else if (corpus && shown.kind === "rest") {
      put(element, corpus.documents ? hints(samples, drawRecent(use)) : noCandidates(session, corpus));
      showSamples(corpus);
    }
  });
  return element;

  /**
   * Shows sample queries; without any, the page works as well.
   *
   * @param {Corpus} corpus
   */
  async function showSamples(corpus) {
    if (samples.dataset.corpus === corpus.name) return;
    samples.dataset.corpus = corpus.name;
    samples.replaceChildren();
    const queries = await readSampleQueries(corpus).catch(() => []);
    if (samples.dataset.corpus !== corpus.name) return;
    put(
      samples,
      queries.map((query) =>
        h("li", {}, h("button", { type: "button", onclick: () => use(query) }, h("span", { dir: "auto" }, query))),
      ),
    );
  }
}

/**
 * @param {SearchSession} session
 * @param {Corpus} corpus
 */
function noCandidates({ view, store }, corpus) {
  if (corpus.documents) return empty("search", "No candidates", view.adviseWithoutCandidates(store.state.query));
  return emptyCorpus(corpus);
}

/**
 * @param {HTMLElement} samples
 * @param {HTMLElement | null} recent
 */
const hints = (samples, recent) =>
  h(
    "div",
    { class: "hints" },
    h("p", {}, "Search as an agent would: describe the task, not the name of the tool. For example:"),
    samples,
    recent,
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
