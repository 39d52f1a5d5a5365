// Answers as data for the page: rows, the line between selected and rejected ones, and the reason. No DOM access.

// Shares sum to 1, so at most 100 / SHOWN_FROM documents have SHOWN_FROM percent; that bounds the size of an answer.
const SHOWN_FROM = 0.5;
const FEW = 200;

/** The cutoff to send to /retrieve: below the selected one, so that rejected documents are shown too. */
export const askedCutoff = (cutoff, documents) => (documents <= FEW ? 0 : Math.min(cutoff, SHOWN_FROM));

/** An answer of POST /retrieve: documents at or above the cutoff are selected. */
export function softmaxOutcome(answer, { cutoff, temperature }) {
  if (!answer.success) return nothing(answer.message);
  const rows = answer.documents.map((document) => ({
    id: document.id,
    title: document.title || document.id,
    snippet: document.content,
    score: document.softmax_score,
    label: percent(document.softmax_score),
    detail: `BM25 ${document.bm25_score.toFixed(2)}`,
    kept: document.softmax_score >= cutoff / 100,
  }));
  const kept = rows.filter((row) => row.kept).length;
  const rule = `${number(cutoff)} % of the softmax at temperature ${number(temperature)}`;
  const all = answer.total_retrieved;
  return {
    rows,
    kept,
    candidates: all,
    scale: ceiling(Math.max(rows[0]?.score ?? 0, (cutoff / 100) * 1.1)),
    tick: (share) => `${number(share * 100)} %`,
    lines: [{ at: cutoff / 100, name: `cutoff ${number(cutoff)} %` }],
    reason: softmaxReason(kept, all, rule, rows[0]),
  };
}

function softmaxReason(kept, all, rule, best) {
  if (!all) return "No document contains a word of the query.";
  if (kept) return `Selected ${number(kept)} of ${counted(all, "candidate")}: each has at least ${rule}.`;
  const most = best ? `; the best, ${best.title}, has ${best.label}` : "";
  return `None of ${counted(all, "candidate")} has ${rule}${most}.`;
}

/** An answer of discover: candidates, best first, and the score that selected ones need. */
export function discoverOutcome(found, asked) {
  const rows = found.candidates.map((hit) => ({
    id: hit.id,
    title: hit.name,
    snippet: hit.text,
    score: hit.score,
    label: hit.score.toFixed(3),
    detail: Object.entries(hit.signals)
      .map(([name, value]) => `${name} ${value.toFixed(2)}`)
      .join("\n"),
    kept: hit.selected,
  }));
  const threshold = found.signals.min_score;
  const lines = [];
  if (found.line > 0 && found.line !== threshold) lines.push({ at: found.line, name: LINES[asked.strategy](asked) });
  if (typeof threshold === "number")
    lines.push({ at: threshold, name: `threshold ${number(threshold, 3)}`, isThreshold: true });
  return {
    rows,
    kept: rows.filter((row) => row.kept).length,
    candidates: rows.length,
    scale: ceiling(Math.max(rows[0]?.score ?? 0, ...lines.map((line) => line.at * 1.05))),
    tick: (value) => number(value, 3),
    lines,
    reason: found.reason,
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

const nothing = (reason) => ({ rows: [], kept: 0, candidates: 0, scale: 1, tick: number, lines: [], reason });

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
