// The text of an answer: its sentences with citations and what was checked, and removed ones where they stood.

import { h } from "../core/dom.js";
import { escapePattern } from "../core/format.js";
import { icon } from "../core/icons.js";
import { markdown, NODE } from "./markdown.js";
import { isMarkdown, toUnits } from "./passage.js";

/** @import { Child } from "../core/dom.js" */
/** @import { Answer, Citation, Claim, Evidence, RemovedSentence, Span, Support } from "../core/types.js" */
/** @import { Inserts } from "./markdown.js" */

/** @typedef {Pick<Citation, "number" | "marker"> & Partial<Citation>} Cited a citation, or a passage of the evidence */
/** @typedef {(cited: Cited, claim?: Claim) => Node} Cite creates the element of a citation */
/** @typedef {{ start: number, end: number, cited: Cited }} Place where a text has a citation */

/** What a passage with a warning is called. */
export const SUSPICIOUS = "suspicious passage";

/**
 * What was checked of a sentence. Nothing else was.
 * @type {Record<Support, string>}
 */
export const CHECKED = {
  quoted: "These words are in the cited source.",
  supported: "Names, numbers, negation and wording were compared with the cited source.",
  unchecked: "Its words could not be compared with the cited source, which is in another language.",
  unsupported: "The cited source does not support all of it.",
};

// More removed sentences than this are not shown between the others.
export const MAX_SHOWN_REMOVED = 3;

const LEAD = /^\s*(?:(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+|\|)/;

/**
 * A text before what ends its block: the bar of a table, or the fence of a code block.
 *
 * @param {string} text
 */
const bodyOf = (text) =>
  text
    .trimEnd()
    .replace(/(?:\||\n[ \t]*(?:`{3,}|~{3,}))$/, "")
    .trimEnd();

/** Text that grows, with elements in it. */
class Draft {
  text = "";
  last = "";
  /** @type {Map<number, Child>} */
  nodes = new Map();
  /** @type {NonNullable<Inserts["ranges"]>} */
  ranges = [];

  /** @param {Child} node */
  insert(node) {
    this.nodes.set(this.text.length, node);
    this.text += NODE;
  }

  /**
   * Separates the next sentence from the last one.
   *
   * @param {string} sentence
   * @param {string} [gap]
   */
  begin(sentence, gap = " ") {
    const needsLine = gap === " " && (LEAD.test(sentence) || /^\s*#|\|\s*$/.test(this.last));
    if (this.text) this.text += needsLine ? (LEAD.test(sentence) ? "\n" : "\n\n") : gap;
    this.last = sentence;
  }

  /**
   * Adds text with its citations; plain text is no Markdown.
   *
   * @param {string} text
   * @param {Place[]} places
   * @param {(cited: Cited) => Node} cite
   * @param {boolean} isPlain
   * @param {Span} [asked] the part of the text that was asked for, which is marked
   */
  cite(text, places, cite, isPlain, [from, to] = [0, 0]) {
    /**
     * @param {number} start
     * @param {number} end
     * @param {boolean} [isMarked]
     */
    const add = (start, end, isMarked = false) => {
      const part = text.slice(start, end);
      if (isPlain) this.insert(isMarked ? h("mark", {}, part) : part);
      else this.text += part;
      if (isMarked && !isPlain) this.ranges.push([this.text.length - part.length, this.text.length, "mark"]);
    };
    let last = 0;
    /** @param {number} end */
    const addUntil = (end) => {
      const [start, stop] = [Math.max(last, from), Math.min(end, to)];
      if (start < stop) {
        add(last, start);
        add(start, stop, true);
        last = stop;
      }
      add(last, end);
    };
    for (const { start, end, cited } of places) {
      addUntil(start);
      this.insert(cite(cited));
      last = end;
    }
    addUntil(text.length);
  }
}

/**
 * The elements of a text that is still written; `evidence` may be cited in it.
 *
 * @param {string} text
 * @param {Evidence[]} evidence
 * @param {Cite} cite
 */
export function drawText(text, evidence, cite) {
  const draft = new Draft();
  draft.cite(text, findMarkers(text, evidence), cite, false);
  return markdown(draft.text, draft);
}

/**
 * The elements of an answer.
 *
 * @param {Answer} answer
 * @param {Cite} cite
 */
export function drawAnswer({ text, sentences, dropped, by, evidence, span }, cite) {
  const draft = new Draft();
  const isExtract = by === "extract";
  /** @param {Claim} claim */
  const quotesPlain = (claim) => isExtract && !claim.citations.some(({ source }) => isMarkdown(source));
  /** @param {(removed: RemovedSentence) => boolean} isHere */
  const addRemoved = (isHere) => {
    for (const removed of dropped.length > MAX_SHOWN_REMOVED ? [] : dropped.filter(isHere)) {
      draft.begin(removed.text);
      addStruck(draft, removed, evidence, cite);
    }
  };
  const [[from, to] = [0, 0]] = span ? toUnits(text, [span]) : [];
  let at = 0;
  for (const [index, claim] of sentences.entries()) {
    const start = Math.max(at, text.indexOf(claim.text, at));
    addRemoved(({ before }) => before === index);
    draft.begin(claim.text, isExtract && LEAD.test(draft.last) ? "\n\n" : text.slice(at, start) || " ");
    at = start + claim.text.length;
    const body = bodyOf(claim.text);
    draft.cite(body, findCitations(claim), (cited) => cite(cited, claim), quotesPlain(claim), [
      from - start,
      to - start,
    ]);
    draft.insert(drawSupport(claim, evidence));
    draft.text += claim.text.slice(body.length);
  }
  addRemoved(({ before }) => before >= sentences.length);
  return markdown(draft.text, draft);
}

/**
 * A removed sentence: struck through, with the reason.
 *
 * @param {RemovedSentence} removed
 * @param {Evidence[]} evidence
 * @param {Cite} cite
 */
export function drawRemoved(removed, evidence, cite) {
  const draft = new Draft();
  addStruck(draft, removed, evidence, cite);
  return markdown(draft.text, draft);
}

/**
 * @param {Draft} draft
 * @param {RemovedSentence} removed
 * @param {Evidence[]} evidence
 * @param {Cite} cite
 */
function addStruck(draft, { text, reason, missing }, evidence, cite) {
  const [lead] = LEAD.exec(text) ?? [""];
  const body = bodyOf(text.slice(lead.length));
  draft.text += lead;
  draft.insert(h("span", { class: "unseen" }, "Removed: "));
  const start = draft.text.length;
  draft.cite(body, findMarkers(body, evidence), cite, false);
  draft.ranges.push([start, draft.text.length, "s"]);
  for (const [from, to] of findMissing(draft.text.slice(start), missing))
    draft.ranges.push([start + from, start + to, "mark"]);
  draft.insert(h("span", { class: "reason" }, `\u00a0${reason}`));
  draft.text += text.slice(lead.length + body.length);
}

/**
 * Where a text has its missing part, or else each of the parts that commas separate; case does not matter.
 *
 * @param {string} text
 * @param {string} missing
 * @returns {Span[]}
 */
export function findMissing(text, missing) {
  for (const parts of missing ? [[missing], missing.split(", ")] : []) {
    const any = parts.map(escapePattern).join("|");
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${any})(?![\\p{L}\\p{N}])`, "giu");
    const found = [...text.matchAll(pattern)];
    if (found.length) return found.map(({ 0: part, index }) => [index, index + part.length]);
  }
  return [];
}

/**
 * @param {Claim} claim
 * @param {Evidence[]} evidence
 */
function drawSupport({ support, reason, citations }, evidence) {
  const text = `\u00a0${[support, reason].filter(Boolean).join(": ")}`;
  const warning = citations.map(({ number }) => evidence[number - 1].warning).find(Boolean);
  return h(
    "span",
    { class: `support ${support}`, title: CHECKED[support] },
    text,
    warning && [" ", h("span", { class: "flag", title: warning }, icon("warn"), SUSPICIOUS)],
  );
}

/**
 * Where a claim has its citations, in order; places count code points, as Python does.
 *
 * @param {Claim} claim
 * @returns {Place[]}
 */
function findCitations({ text, citations }) {
  const places = citations.flatMap((cited) =>
    toUnits(text, cited.places).map(([start, end]) => ({ start, end, cited })),
  );
  const ordered = places.sort((place, other) => place.start - other.start);
  const apart = ordered.filter(({ start }, at) => !at || ordered[at - 1].end <= start);
  return apart.length ? apart : findMarkers(text, citations);
}

/**
 * Where a text has the exact markers of citations or evidence, in order.
 *
 * @param {string} text
 * @param {Cited[]} known
 * @returns {Place[]}
 */
export function findMarkers(text, known) {
  const byMarker = new Map(known.map((cited) => [cited.marker, cited]));
  const markers = [...byMarker.keys()].sort((marker, other) => other.length - marker.length);
  const pattern = markers.map(escapePattern).join("|");
  const found = pattern ? [...text.matchAll(new RegExp(pattern, "g"))] : [];
  return found.flatMap(({ 0: marker, index }) => {
    const cited = byMarker.get(marker);
    return cited ? [{ start: index, end: index + marker.length, cited }] : [];
  });
}
