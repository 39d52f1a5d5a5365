// The text of an answer: its sentences with citations and what was checked, and removed ones where they stood.

import { h, icon } from "../core/dom.js";
import { NODE, markdown } from "./markdown.js";
import { isMarkdown, toUnits } from "./passage.js";

/** What a passage with a warning is called. */
export const SUSPICIOUS = "suspicious passage";

/** What was checked of a sentence. Nothing else was. */
export const CHECKED = {
  quoted: "These words are in the cited source.",
  supported: "Names, numbers, negation and wording were compared with the cited source.",
  unsupported: "The cited source does not support all of it.",
};

// More removed sentences than this are not shown between the others.
export const FEW = 3;

const LEAD = /^\s*(?:(?:[-*+•]|\d{1,3}[.)]|#{1,6})\s+|\|)/;

/** A text before what ends its block: the bar of a table, or the fence of a code block. */
const bodyOf = (text) => text.trimEnd().replace(/(?:\||\n[ \t]*(?:`{3,}|~{3,}))$/, "").trimEnd();

/** Text that grows, with elements in it. */
class Draft {
  text = "";
  last = "";
  nodes = new Map();
  ranges = [];

  insert(node) {
    this.nodes.set(this.text.length, node);
    this.text += NODE;
  }

  /** Separates the next sentence from the last one. */
  begin(sentence, gap = " ") {
    const needsLine = gap === " " && (LEAD.test(sentence) || /^\s*#|\|\s*$/.test(this.last));
    if (this.text) this.text += needsLine ? (LEAD.test(sentence) ? "\n" : "\n\n") : gap;
    this.last = sentence;
  }

  /** Adds text with its citations; plain text is no Markdown. */
  cite(text, cited, cite, isPlain) {
    const add = (part) => (isPlain ? this.insert(part) : (this.text += part));
    let last = 0;
    for (const { start, end, one } of cited) {
      add(text.slice(last, start));
      this.insert(cite(one));
      last = end;
    }
    add(text.slice(last));
  }
}

/** The elements of a text that is still written; `evidence` may be cited in it. */
export function drawText(text, evidence, cite) {
  const draft = new Draft();
  draft.cite(text, findMarkers(text, evidence), cite, false);
  return markdown(draft.text, draft);
}

/** The elements of an answer; `cite(citation, claim)` creates those for a citation. */
export function drawAnswer({ text, sentences, dropped, by, evidence }, cite) {
  const draft = new Draft();
  const quotesPlain = (claim) => by === "extract" && !claim.citations.some(({ source }) => isMarkdown(source));
  let at = 0;
  for (const [index, claim] of sentences.entries()) {
    const start = Math.max(at, text.indexOf(claim.text, at));
    addRemoved((one) => one.before === index);
    draft.begin(claim.text, by === "extract" && LEAD.test(draft.last) ? "\n\n" : text.slice(at, start) || " ");
    at = start + claim.text.length;
    const body = bodyOf(claim.text);
    draft.cite(body, findCitations(claim), (one) => cite(one, claim), quotesPlain(claim));
    draft.insert(support(claim, evidence));
    draft.text += claim.text.slice(body.length);
  }
  addRemoved((one) => one.before >= sentences.length);
  return markdown(draft.text, draft);

  function addRemoved(isHere) {
    for (const one of dropped.length > FEW ? [] : dropped.filter(isHere)) {
      draft.begin(one.text);
      addStruck(draft, one, evidence, cite);
    }
  }
}

/** A removed sentence: struck through, with the reason. */
export function drawRemoved(one, evidence, cite) {
  const draft = new Draft();
  addStruck(draft, one, evidence, cite);
  return markdown(draft.text, draft);
}

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

/** Where a text has its missing part, or else each of the parts that commas separate; case does not matter. */
function findMissing(text, missing) {
  for (const parts of missing ? [[missing], missing.split(", ")] : []) {
    const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${parts.map(escaped).join("|")})(?![\\p{L}\\p{N}])`, "giu");
    const found = [...text.matchAll(pattern)].map(({ 0: part, index }) => [index, index + part.length]);
    if (found.length) return found;
  }
  return [];
}

const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

function support({ support: kind, reason, citations }, evidence) {
  const said = `\u00a0${[kind, reason].filter(Boolean).join(": ")}`;
  const warning = citations.map(({ number }) => evidence[number - 1].warning).find(Boolean);
  return h(
    "span",
    { class: `support ${kind}`, title: CHECKED[kind] },
    said,
    warning && [" ", h("span", { class: "flag", title: warning }, icon("warn"), SUSPICIOUS)],
  );
}

/** Where a claim has its citations, in order; places count code points, as Python does. */
function findCitations({ text, citations }) {
  const places = citations.flatMap((one) => toUnits(text, one.places).map(([start, end]) => ({ start, end, one })));
  const ordered = places.sort((one, other) => one.start - other.start);
  const apart = ordered.filter(({ start }, at) => !at || ordered[at - 1].end <= start);
  return apart.length ? apart : findMarkers(text, citations);
}

/** Where a text has the exact markers of citations or evidence, in order. */
function findMarkers(text, known) {
  const byMarker = new Map(known.map((one) => [one.marker, one]));
  const markers = [...byMarker.keys()].sort((one, other) => other.length - one.length);
  const pattern = markers.map(escaped).join("|");
  const found = pattern ? [...text.matchAll(new RegExp(pattern, "g"))] : [];
  return found.map(({ 0: marker, index }) => ({ start: index, end: index + marker.length, one: byMarker.get(marker) }));
}
