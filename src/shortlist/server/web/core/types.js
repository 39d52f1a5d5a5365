// What the service answers, as far as the page uses it. Only types: no module loads this file.

/** @typedef {{ [name: string]: any }} Data an object of JSON */

/**
 * A corpus that can be searched. `documents` is null if it was never built; `served` marks the catalog.
 * @typedef {object} Corpus
 * @property {string} name
 * @property {string | null} kind of its source; built-in corpora are named after it
 * @property {number | null} documents
 * @property {number | null} passages
 * @property {number} bytes
 * @property {string | null} embedder
 * @property {Record<string, number>} languages passages by ISO 639-1 code, the most frequent first
 * @property {string} advice how to rank its documents better
 * @property {string} [problem]
 * @property {boolean} [uploaded] whether it is built from uploaded files
 * @property {boolean} served
 */

/**
 * A document as it is listed and saved.
 * @typedef {object} ListedDocument
 * @property {string} id
 * @property {string} [kind]
 * @property {string} title
 * @property {string} content
 * @property {string[]} keywords
 * @property {Data} metadata
 */

/** @typedef {{ documents: ListedDocument[], count: number }} DocumentList */
/** @typedef {{ count: number, added: number, changed: number, skipped: { id: string, reason: string }[] }} BuildReport */

/**
 * A document as an agent reads it.
 * @typedef {object} Disclosure
 * @property {string} id
 * @property {string} kind
 * @property {string} corpus
 * @property {string} source
 * @property {string} locator
 * @property {string} body
 * @property {Data} metadata
 * @property {string[]} files
 * @property {string} note
 * @property {string} origin
 * @property {string} warning
 */

/** @typedef {{ rank: number, id: string, score: number, matched: string[] }} Competitor */

/**
 * Why a document has its rank.
 * @typedef {object} Explanation
 * @property {string} id
 * @property {boolean} exists
 * @property {boolean} wanted
 * @property {number | null} rank
 * @property {number} looked_at
 * @property {number | null} score
 * @property {number | null} [relevance]
 * @property {Record<string, number>} signals
 * @property {string[]} matched
 * @property {string[]} elsewhere
 * @property {string[]} unknown
 * @property {Competitor[]} above
 * @property {string} cut
 */

/**
 * @typedef {object} Candidate
 * @property {string} id
 * @property {string} name
 * @property {string} text
 * @property {string} kind
 * @property {Data} metadata
 * @property {string[]} matched
 * @property {boolean} selected
 * @property {number} relevance
 * @property {number} score
 * @property {{ covered: number, dense?: number }} signals
 */

/**
 * @typedef {object} Discovery
 * @property {Candidate[]} candidates
 * @property {boolean} abstained
 * @property {string} reason
 * @property {"high" | "low"} confidence
 * @property {string} confidence_reason
 * @property {string} mode
 * @property {number | null} line
 * @property {Data} signals
 */

/**
 * A passage that an answer may cite.
 * @typedef {object} Evidence
 * @property {number} number
 * @property {string} marker
 * @property {string} text
 * @property {string} source
 * @property {string} locator
 * @property {string} label
 * @property {string} name
 * @property {string} context
 * @property {string} [place] where it is, in words
 * @property {string} corpus
 * @property {number} score
 * @property {string} warning
 */

/** @typedef {[start: number, end: number]} Span */
/** @typedef {{ number: number, marker: string, source: string, spans: Span[], places: Span[] }} Citation */
/** @typedef {"quoted" | "supported" | "unchecked" | "unsupported"} Support */
/** @typedef {{ text: string, citations: Citation[], support: Support, reason: string }} Claim */
/** @typedef {{ text: string, reason: string, missing: string, before: number }} RemovedSentence */
/** @typedef {{ tool: string, arguments?: string | Data, error?: string }} ToolCall */

/**
 * @typedef {object} Answer
 * @property {string} question
 * @property {string} text
 * @property {Claim[]} sentences
 * @property {Evidence[]} evidence
 * @property {boolean} refused
 * @property {string} reason
 * @property {"extract" | "llm" | "agent" | "gate"} by
 * @property {RemovedSentence[]} dropped
 * @property {boolean} broke_off
 * @property {number} [confidence] the probability that the answer is right
 * @property {Span | null} [span] the part of the text that was asked for
 * @property {ToolCall[]} steps
 * @property {{ calls?: number, total_tokens?: number }} usage
 */

/** @typedef {{ value: number, low: number, high: number }} Measure */
/** @typedef {{ title: string, svg: string, names: string[] }} Plot */
/** @typedef {{ query: string, first: number | null, second: number | null }} Move */

/**
 * @typedef {object} MetricComparison
 * @property {number} first
 * @property {number} second
 * @property {Measure} difference
 * @property {number} p_value
 * @property {number} wins
 * @property {number} losses
 * @property {number} ties
 */

/**
 * Two modes, case by case.
 * @typedef {object} Comparison
 * @property {{ mode: string }} first
 * @property {{ mode: string }} second
 * @property {Record<string, MetricComparison>} metrics
 * @property {Move[]} better
 * @property {Move[]} worse
 */

/**
 * @typedef {object} Miss
 * @property {string} query
 * @property {string} outcome
 * @property {number | null} rank
 * @property {string[]} gold
 * @property {string[]} selected
 * @property {Explanation} why
 */

/**
 * @typedef {object} Evaluation
 * @property {string} corpus
 * @property {string} mode
 * @property {number} k
 * @property {number} cases
 * @property {number} in_scope
 * @property {number} out_of_scope
 * @property {number} confidence
 * @property {Record<string, Measure>} metrics
 * @property {Record<string, any>} selection
 * @property {Record<string, number>} taxonomy
 * @property {{ says: string }[]} flaws
 * @property {Plot[]} plots
 * @property {Miss[]} misses
 * @property {Comparison | null} comparison
 * @property {{ says: string } | null} calibration
 * @property {{ best: { f1: number, max_k: number, rel: number } } | null} sweep
 * @property {string} html
 */

/** @typedef {{ rule: string, severity: "error" | "warning", advice: string, says: string }} Finding */

/**
 * @typedef {object} Findings
 * @property {string} corpus
 * @property {number} documents
 * @property {number} errors
 * @property {number} warnings
 * @property {Finding[]} findings
 */

/**
 * Latencies of a few seconds; null if there was no request.
 * @typedef {{ time: number, requests: number, p50_ms: number | null, p95_ms: number | null, p99_ms: number | null }} LatencyRow
 */

/** @typedef {Omit<LatencyRow, "time"> & { bucket_seconds: number, series: LatencyRow[] }} Latency */
/** @typedef {{ key: string, value: any, origin: string }} Setting */

/**
 * @typedef {object} Status
 * @property {string} version
 * @property {number} uptime_seconds
 * @property {number} documents
 * @property {string} problem
 * @property {string} llm
 * @property {string[]} [extensions]
 * @property {Data} settings
 * @property {Setting[]} configuration
 * @property {Latency} latency
 */

/**
 * @typedef {object} McpServer
 * @property {string} name
 * @property {number | null} tools
 * @property {number} read_only
 * @property {number} pending
 * @property {number} denied
 * @property {string} [problem]
 * @property {Record<string, string>} [refused]
 */

/** @typedef {{ part: string, waits: boolean, diff: string[] }} ToolChange */
/** @typedef {{ tool: string, reason: string, changes: ToolChange[], command: string }} PendingTool */
/** @typedef {{ file: string, servers: number, command: string }} PendingFile */

/**
 * The MCP servers and what is pending approval, or `problem` if they cannot be read.
 * @typedef {object} McpServers
 * @property {McpServer[]} servers
 * @property {PendingTool[]} pending
 * @property {PendingFile[]} pending_files
 * @property {string} [problem]
 */

export {};
