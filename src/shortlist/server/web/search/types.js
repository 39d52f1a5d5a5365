// The data of the Search tab. Only types: no module loads this file.

/** @import { Candidate, Corpus } from "../core/types.js" */

/** @typedef {[key: string, value: string | number | boolean]} Pair a condition on metadata */

/**
 * What is searched for, and how.
 * @typedef {object} Query
 * @property {string} corpus
 * @property {string} q
 * @property {string} view the id of a View
 * @property {string} mode
 * @property {number} k
 * @property {string} strategy
 * @property {number} rel
 * @property {number} max_k
 * @property {number} gap_ratio
 * @property {number} min_relevance
 * @property {number} temperature
 * @property {number} cutoff
 * @property {boolean} [ignore_zero]
 * @property {Pair[]} filters
 */

/** @typedef {{ at: number, name: string, isThreshold?: boolean }} Line a line through the bars of a gauge */

/**
 * A bar in each row. `scale` is the value of a full bar.
 * @typedef {object} Gauge
 * @property {string} key
 * @property {string} name
 * @property {number} scale
 * @property {(value: number) => string} format
 * @property {Line[]} lines
 * @property {boolean} [isPart] whether it is only shown on demand
 */

/**
 * A result. `values` are those of the gauges; one may be missing.
 * @typedef {object} Row
 * @property {string} id
 * @property {string} title
 * @property {string} snippet
 * @property {string[]} matched
 * @property {Record<string, number | undefined>} values
 * @property {boolean} isSelected
 */

/**
 * An answer of the service as the page shows it.
 * @typedef {object} Outcome
 * @property {Row[]} rows
 * @property {number} selected
 * @property {number} candidates
 * @property {Gauge[]} gauges
 * @property {(value: number) => string} formatTick
 * @property {string} reason
 * @property {string} [doubt] why it is not clear that the selection is right
 * @property {boolean} [isUnknown] whether nothing is known about the query
 */

/**
 * A way to search. `found` is what the service answers to `search`.
 * @typedef {object} View
 * @property {string} id
 * @property {string} title
 * @property {Partial<Query>} defaults
 * @property {Record<string, { label: string, hint: string }>} toggles switches that only this view has
 * @property {string[]} localValues values that can be changed without a new search
 * @property {(corpus: Corpus) => boolean} canSearch
 * @property {(query: Query) => string[]} listControls the names of the controls that apply
 * @property {(query: Query, corpus: Corpus, signal: AbortSignal) => Promise<any>} search
 * @property {(found: any, query: Query, current: Query) => Outcome} describe
 * @property {(found: any) => Candidate[]} listCandidates whose metadata can be suggested as filters
 * @property {(query: Query) => { path: string, body: object }} request
 * @property {(id: string, query: Query) => object} explainBody
 * @property {(query: Query) => string} adviseWithoutCandidates
 */

/**
 * An answer: `source` is the query that it was requested for, `query` the same without spaces around its text.
 * @typedef {{ view: View, source: Query, query: Query, found: any, milliseconds: number }} SearchAnswer
 */

/**
 * What the tab shows.
 * @typedef {{ kind: "loading" } | { kind: "rest" }
 *   | { kind: "failed", error: unknown, retry: () => unknown }
 *   | { kind: "answer", answer: SearchAnswer, outcome: Outcome }} Shown
 */

/**
 * What was reported about a row, and what became of it.
 * @typedef {{ outcome: "called" | "wrong", result: string, canUndo: boolean }} Feedback
 */

/**
 * @typedef {object} SearchState
 * @property {Corpus[]} corpora
 * @property {View[]} views
 * @property {Query} query
 * @property {Shown} shown
 * @property {boolean} isBusy
 * @property {number | null} automatic the automatic threshold of relevance, if it is known
 * @property {Map<string, Feedback>} feedback what was reported, by the id of its row
 * @property {string} announcement for screen readers
 */

export {};
