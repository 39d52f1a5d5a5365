// The view of POST /retrieve: BM25 over the catalog, selected by the share of each document in the softmax.

import { formatCount, formatNumber, roundUp } from "../core/format.js";
import { RETRIEVE, readSettings, retrieve } from "./routes.js";

/** @import { Corpus } from "../core/types.js" */
/** @import { Outcome, Query, View } from "../search/types.js" */
/** @import { Retrieval } from "./routes.js" */

// Shares sum to 1, so at most 100 / SHOWN_PERCENT documents have SHOWN_PERCENT; that bounds the size of an answer.
const SHOWN_PERCENT = 0.5;
const SMALL_CATALOG = 200; // documents, all of which are shown

/** @returns {Promise<View>} the view, with the settings in force as its defaults */
export async function loadSoftmaxView() {
  const { temperature, llm_tools_cutoff: cutoff, ignore_zero } = await readSettings();
  return {
    id: "softmax",
    title: "Legacy",
    defaults: { temperature, cutoff, ignore_zero },
    toggles: {
      ignore_zero: { label: "Ignore zero scores", hint: "Leave out documents that share no word with the query." },
    },
    localValues: ["cutoff"],
    canSearch: (corpus) => corpus.served,
    listControls: () => ["temperature", "cutoff", "ignore_zero"],
    search,
    describe: (found, query, current) => describeRetrieval(found, { ...current, q: query.q }),
    listCandidates: () => [],
    request: (query) => ({ path: RETRIEVE, body: retrieveBody(query) }),
    explainBody,
    adviseWithoutCandidates: () =>
      "No document contains a word of the query. Try different terms, or the view Discover, which also searches semantically.",
  };
}

/**
 * Searches with a lower cutoff than the selected one, so that rejected documents are shown too.
 *
 * @param {Query} query
 * @param {Corpus} corpus
 * @param {AbortSignal} signal
 */
async function search(query, corpus, signal) {
  const body = retrieveBody(query);
  const cutoff = (corpus.documents ?? 0) <= SMALL_CATALOG ? 0 : Math.min(query.cutoff, SHOWN_PERCENT);
  const found = await retrieve({ ...body, llm_tools_cutoff: cutoff }, signal);
  if (found.documents.length || !found.total_retrieved) return found;
  // With many candidates each share is small; the best is at least the mean.
  return retrieve({ ...body, llm_tools_cutoff: 99 / found.total_retrieved }, signal);
}

/** @param {Query} query */
const retrieveBody = ({ q, temperature, ignore_zero, cutoff }) => ({
  query: q,
  temperature,
  ignore_zero,
  llm_tools_cutoff: cutoff,
});

/**
 * The body of `explain`: /retrieve ranks all documents by BM25 and selects by softmax.
 *
 * @param {string} id
 * @param {Query} query
 */
const explainBody = (id, { q, temperature, cutoff }) => ({
  id,
  query: q,
  mode: "lexical",
  k: 1000,
  strategy: "softmax",
  temperature,
  cutoff,
  min_relevance: null,
});

/**
 * An answer of POST /retrieve: documents at or above the cutoff are selected.
 *
 * @param {Retrieval} found
 * @param {Pick<Query, "q" | "cutoff" | "temperature">} query
 * @returns {Outcome}
 */
export function describeRetrieval(found, { cutoff, temperature, q }) {
  if (!found.success)
    return { rows: [], selected: 0, candidates: 0, gauges: [], formatTick: formatNumber, reason: found.message };
  const rows = found.documents.map((document) => ({
    id: document.id,
    title: document.title || document.id,
    snippet: document.content,
    matched: q.split(/[^\p{L}\p{N}]+/u).flatMap(listCases),
    values: { share: document.softmax_score, bm25: document.bm25_score },
    isSelected: document.softmax_score >= cutoff / 100,
  }));
  const selected = rows.filter((row) => row.isSelected).length;
  const rule = `${formatNumber(cutoff)} % of the softmax at temperature ${formatNumber(temperature)}`;
  const best = rows[0] && { title: rows[0].title, share: rows[0].values.share };
  const bestScore = Math.max(0, ...rows.map((row) => row.values.bm25));
  return {
    rows,
    selected,
    candidates: found.total_retrieved,
    gauges: [
      {
        key: "share",
        name: "share",
        scale: roundUp(Math.max(best?.share ?? 0, (cutoff / 100) * 1.1)),
        format: formatPercent,
        lines: [{ at: cutoff / 100, name: `cutoff ${formatNumber(cutoff)} %` }],
      },
      { key: "bm25", name: "BM25", scale: roundUp(bestScore), format: (value) => value.toFixed(2), lines: [] },
    ],
    formatTick: (share) => `${formatNumber(share * 100)} %`,
    reason: formatReason(selected, found.total_retrieved, rule, best),
  };
}

/**
 * A word as texts usually write it: /retrieve does not return the matched words.
 *
 * @param {string} word
 */
function listCases(word) {
  const lower = word.toLowerCase();
  return word ? [word, lower, lower[0].toUpperCase() + lower.slice(1)] : [];
}

/**
 * @param {number} selected
 * @param {number} all
 * @param {string} rule
 * @param {{ title: string, share: number }} [best]
 */
function formatReason(selected, all, rule, best) {
  if (!all) return "No document contains a word of the query.";
  if (selected)
    return `Selected ${formatNumber(selected)} of ${formatCount(all, "candidate")}: each has at least ${rule}.`;
  const most = best ? `; the best, ${best.title}, has ${formatPercent(best.share)}` : "";
  return `None of ${formatCount(all, "candidate")} has ${rule}${most}.`;
}

/** @param {number} share */
const formatPercent = (share) =>
  share > 0 && share < 0.0005 ? "< 0.1 %" : `${(share * 100).toFixed(share < 0.9995 ? 1 : 0)} %`;
