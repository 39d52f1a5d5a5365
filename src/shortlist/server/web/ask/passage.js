// A passage that an answer cites: its place in the document, and the cited words.

import { fact } from "../core/panel.js";
import { h, icon } from "../core/dom.js";
import { markdown, splitter } from "./markdown.js";

const PLACES = { page: "page", row: "row", offset: "from character", part: "part" };

/** A locator such as page=3;offset=680 as text. */
export function place(locator) {
  return locator
    .split(";")
    .filter((part) => part !== "whole" && part !== "offset=0")
    .map((part) => part.replace(/^(\w+)=/, (whole, name) => (PLACES[name] ? `${PLACES[name]} ` : whole)))
    .join(", ");
}

export const placed = ({ label, locator }) => [label, place(locator)].filter(Boolean).join(" · ");

/** Whether the text of a source is Markdown, or was converted to it. */
export const isMarkdown = (source) => /\.(md|markdown|docx|x?html|htm)$/i.test(source);

/** Spans of code points, as Python counts, in the units of JavaScript. */
export function toUnits(text, spans) {
  const units = [0];
  for (const letter of text) units.push(units.at(-1) + letter.length);
  return spans.filter(([start, end]) => start < end && end < units.length).map((span) => span.map((at) => units[at]));
}

/** The content of the panel for a passage, with the cited words marked. `checked` is what was checked of the claim. */
export function passage({ item, spans, checked }) {
  const inserts = { ranges: toUnits(item.text, spans).map((span) => [...span, "mark"]) };
  const region = { dir: "auto", tabindex: "0", role: "region", "aria-label": "Passage" };
  return [
    item.warning && flagged(item),
    h(
      "dl",
      { class: "facts" },
      fact("From", item.source),
      fact("Place", place(item.locator) || (item.locator === "whole" ? "whole text" : "start")),
      item.name !== item.label && fact("Title", item.name),
      item.context !== item.name && fact("Section", item.context),
      fact("Corpus", item.corpus),
      fact("Similarity", item.score.toFixed(3)),
      fact("Checked", checked),
    ),
    h("h3", {}, spans.length ? "Passage with cited words" : "Passage"),
    isMarkdown(item.source)
      ? h("div", { class: "text markdown", ...region }, markdown(item.text, inserts))
      : h("pre", { class: "text", ...region }, splitter(item.text, inserts)(0, item.text.length)),
  ].filter(Boolean);
}

const flagged = ({ warning }) =>
  h(
    "div",
    { class: "notice" },
    icon("warn"),
    h("p", {}, h("strong", {}, "This passage tries to instruct its reader. "), warning),
  );
