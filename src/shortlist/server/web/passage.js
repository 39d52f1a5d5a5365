// A passage that an answer cites: its place in the document, and the cited words.

import { fact } from "./panel.js";
import { h } from "./dom.js";

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

/** The content of the panel for a passage, with the cited words marked. */
export function passage({ item, spans }) {
  return [
    h(
      "dl",
      { class: "facts" },
      fact("From", item.source),
      fact("Place", place(item.locator) || (item.locator === "whole" ? "whole text" : "start")),
      item.name !== item.label && fact("Title", item.name),
      item.context !== item.name && fact("Section", item.context),
      fact("Corpus", item.corpus),
      fact("Similarity", item.score.toFixed(3)),
    ),
    h("h3", {}, spans.length ? "Passage with cited words" : "Passage"),
    h(
      "pre",
      { class: "text", dir: "auto", tabindex: "0", role: "region", "aria-label": "Passage" },
      marked(item.text, spans),
    ),
  ].filter(Boolean);
}

/** The text in parts. Spans count code points, as Python does. */
function marked(text, spans) {
  const letters = [...text];
  const parts = [];
  let at = 0;
  for (const [start, end] of spans) {
    parts.push(letters.slice(at, start).join(""), h("mark", {}, letters.slice(start, end).join("")));
    at = end;
  }
  return [...parts, letters.slice(at).join("")];
}
