// A passage that an answer cites: its place in the document, and the cited words.

import { fact, h, put } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { copyText } from "../core/messages.js";
import { createSplitter, drawTrees, markdown } from "./markdown.js";

/** @import { Evidence, Span } from "../core/types.js" */
/** @import { Inserts } from "./markdown.js" */

/** @typedef {{ item: Evidence, spans: Span[], checked?: string }} CitedPassage `checked` is what was checked of the claim */

/** @type {Record<string, string>} */
const PLACES = { page: "page", row: "row", offset: "from character", part: "part" };

/**
 * Formats a locator such as page=3;offset=680.
 *
 * @param {string} locator
 */
export function formatPlace(locator) {
  return locator
    .split(";")
    .filter((part) => part !== "whole" && part !== "offset=0")
    .map((part) => part.replace(/^(\w+)=/, (whole, name) => (PLACES[name] ? `${PLACES[name]} ` : whole)))
    .join(", ");
}

/** @param {Evidence} evidence */
export const formatSource = (evidence) => [evidence.label, placeOf(evidence)].filter(Boolean).join(" · ");

/**
 * A place that a person can find, or else the locator.
 *
 * @param {Evidence} evidence
 */
export const placeOf = ({ place, locator }) => place || formatPlace(locator);

/**
 * Whether the text of a source is Markdown, or was converted to it.
 *
 * @param {string} source
 */
export const isMarkdown = (source) => /\.(md|markdown|docx|x?html|htm)$/i.test(source);

/**
 * Converts spans of code points, as Python counts, to the units of JavaScript.
 *
 * @param {string} text
 * @param {Span[]} spans
 * @returns {Span[]}
 */
export function toUnits(text, spans) {
  const units = [0];
  for (const letter of text) units.push(units[units.length - 1] + letter.length);
  return spans
    .filter(([start, end]) => start < end && end < units.length)
    .map(([start, end]) => [units[start], units[end]]);
}

/**
 * The content of the panel for a passage, with the cited words marked.
 *
 * @param {CitedPassage} cited
 * @returns {Node[]}
 */
export function passage({ item, spans, checked }) {
  /** @type {Inserts} */
  const inserts = { ranges: toUnits(item.text, spans).map(([start, end]) => [start, end, "mark"]) };
  const region = { dir: "auto", tabindex: "0", role: "region", "aria-label": "Passage" };
  const facts = h(
    "dl",
    { class: "facts" },
    fact("From", item.source),
    fact("Place", placeOf(item) || (item.locator === "whole" ? "whole text" : "start")),
    item.name !== item.label && fact("Title", item.name),
    item.context !== item.name && fact("Section", item.context),
    fact("Corpus", item.corpus),
    fact("Relevance", item.score.toFixed(2)),
    fact("Checked", checked),
  );
  const text = isMarkdown(item.source)
    ? h("div", { class: "text markdown", ...region }, markdown(item.text, inserts))
    : h("pre", { class: "text", ...region }, drawTrees(createSplitter(item.text, inserts)(0, item.text.length)));
  const copy = h("button", { type: "button", class: "quiet", onclick: () => copyText(item.text, text, "Passage") });
  put(copy, icon("copy"), "Copy");
  const heading = h(
    "div",
    { class: "copy-head" },
    h("h3", {}, spans.length ? "Passage with cited words" : "Passage"),
    copy,
  );
  return [...(item.warning ? [injectionNotice(item.warning)] : []), facts, heading, text];
}

/** @param {string} warning */
const injectionNotice = (warning) =>
  h(
    "div",
    { class: "notice" },
    icon("warn"),
    h("p", {}, h("strong", {}, "This passage tries to instruct its reader. "), warning),
  );
