// Answers as data for the page: rows, the line between selected and rejected ones, and the reason. No DOM access.

// Shares sum to 1, so at most 100 / SHOWN_FROM documents have SHOWN_FROM percent; that bounds the size of an answer.
const SHOWN_FROM = 0.5;
const FEW = 200;

/** The cutoff to send to /retrieve: below the selected one, so that rejected documents are shown too. */
export const askedCutoff = (cutoff, documents) => (documents <= FEW ? 0 : Math.min(cutoff, SHOWN_FROM));

/** An answer of POST /retrieve: documents at or above the cutoff are selected. */
export function softmaxOutcome(answer, { cutoff, temperature, q }) {
  if (!answer.success) return nothing(answer.message);
  const rows = answer.documents.map((document) => ({
    id: document.id,
    title: document.title || document.id,
    snippet: document.content,
    matched: q.split(/[^\p{L}\p{N}]+/u).flatMap(cases),
    values: { share: document.softmax_score, bm25: document.bm25_score },
    label: percent(document.softmax_score),
    kept: document.softmax_score >= cutoff / 100,
  }));
  const kept = rows.filter((row) => row.kept).length;
  const rule = `${number(cutoff)} % of the softmax at temperature ${number(temperature)}`;
  const all = answer.total_retrieved;
  const best = Math.max(0, ...rows.map((row) => row.values.bm25));
  return {
    rows,
    kept,
    candidates: all,
    gauges: [
      {
        key: "share",
        name: "share",
        scale: ceiling(Math.max(rows[0]?.values.share ?? 0, (cutoff / 100) * 1.1)),
        format: percent,
        lines: [{ at: cutoff / 100, name: `cutoff ${number(cutoff)} %` }],
      },
      { key: "bm25", name: "BM25", scale: ceiling(best), format: (value) => value.toFixed(2), lines: [] },
    ],
    tick: (share) => `${number(share * 100)} %`,
    reason: softmaxReason(kept, all, rule, rows[0]),
  };
}

/** A word as texts usually write it: /retrieve does not return the matched words. */
function cases(word) {
  const low = word.toLowerCase();
  return word ? [word, low, low[0].toUpperCase() + low.slice(1)] : [];
}

function softmaxReason(kept, all, rule, best) {
  if (!all) return "No document contains a word of the query.";
  if (kept) return `Selected ${number(kept)} of ${counted(all, "candidate")}: each has at least ${rule}.`;
  const most = best ? `; the best, ${best.title}, has ${best.label}` : "";
  return `None of ${counted(all, "candidate")} has ${rule}${most}.`;
}

/**
 * An answer of discover. Relevance, and what it is computed from, has a fixed scale from 0 to 1. The best candidate
 * must reach the threshold of relevance or of the score; then the strategy draws a line through the scores.
 */
export function discoverOutcome(found, asked) {
  const { signals, line } = found;
  const rows = found.candidates.map((hit) => ({
    id: hit.id,
    title: hit.name,
    snippet: hit.text,
    matched: hit.matched,
    values: { relevance: hit.relevance, score: hit.score, keyword: hit.signals.covered, semantic: hit.signals.dense },
    kept: hit.selected,
  }));
  const threshold = (at) =>
    typeof at === "number" ? [{ at, name: `threshold ${number(at, 3)}`, isThreshold: true }] : [];
  const ofScore = threshold(signals.min_score);
  if (line > 0 && line !== signals.min_score) {
    const name = LINES[asked.strategy]?.(asked) ?? `${number((100 * line) / signals.top_score, 0)} % of best`;
    ofScore.push({ at: line, name });
  }
  const fixed = { scale: 1, format: (value) => value.toFixed(2), lines: [] };
  const most = Math.max(0, ...rows.map((row) => row.values.score), ...ofScore.map(({ at }) => at * 1.05));
  const isBlend = ["auto", "dense"].includes(found.mode) && most <= 1; // which ends at 1
  const advice = found.abstained && signals.unknown_words.length ? ` ${signals.try[0]}` : "";
  const score = {
    key: "score",
    name: "score",
    scale: isBlend ? 1 : ceiling(most),
    format: (value) => value.toFixed(value < 10 ? 3 : 1),
    lines: ofScore,
  };
  return {
    rows,
    kept: rows.filter((row) => row.kept).length,
    candidates: rows.length,
    gauges: [
      { ...fixed, key: "relevance", name: "relevance", lines: threshold(signals.min_relevance) },
      ...(ofScore.length ? [score] : []), // only where scores decide
      { ...fixed, key: "keyword", name: "keyword" },
      { ...fixed, key: "semantic", name: "semantic" },
    ],
    tick: (value) => number(value, 3),
    isUnknown: found.abstained && rows.length > 0 && !("top_score" in signals), // refused before any score was compared
    reason: found.reason + advice,
  };
}

const LINES = {
  conservative: ({ rel }) => `${number(rel * 100)} % of best`,
  rel_threshold: ({ rel }) => `${number(rel * 100)} % of best`,
  abs_threshold: ({ min_score }) => `from ${number(min_score, 3)}`,
  score_gap: ({ gap_ratio }) => `gap ${number(gap_ratio)}`,
  softmax: ({ cutoff }) => `cutoff ${number(cutoff)} %`,
  top_k: ({ max_k }) => `first ${max_k}`,
};

const nothing = (reason) => ({ rows: [], kept: 0, candidates: 0, gauges: [], tick: number, reason });

/** The next round number, so that the scale stays the same while scores change a little. */
export function ceiling(value, steps = [1, 1.5, 2, 3, 4, 5, 6, 8, 10]) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * steps.find((step) => step * power >= value * 0.999_999);
}

export const number = (value, digits = 2) => Number(value).toLocaleString("en", { maximumFractionDigits: digits });
const percent = (share) =>
  share > 0 && share < 0.0005 ? "< 0.1 %" : `${(share * 100).toFixed(share < 0.9995 ? 1 : 0)} %`;
export const counted = (count, noun) => `${Number(count).toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
export const size = (bytes) =>
  bytes < 1024
    ? `${bytes} B`
    : bytes < 1024 ** 2
      ? `${number(bytes / 1024, 1)} KB`
      : `${number(bytes / 1024 ** 2, 1)} MB`;
