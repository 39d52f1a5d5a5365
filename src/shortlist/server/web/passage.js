// A passage that was shown for an answer: where it stands, and which words of it were taken.

import { fact } from "./panel.js";
import { h } from "./dom.js";

const PLACES = { page: "page", row: "row", offset: "from character", part: "part" };

/** A locator such as page=3;offset=680 in words. */
export function place(locator) {
  return locator
    .split(";")
    .filter((part) => part !== "whole" && part !== "offset=0")
    .map((part) => part.replace(/^(\w+)=/, (whole, name) => (PLACES[name] ? `${PLACES[name]} ` : whole)))
    .join(", ");
}

export const placed = ({ label, locator }) => [label, place(locator)].filter(Boolean).join(" · ");

/** The passage as the panel shows it, the cited words marked. */
export function passage({ item, spans }) {
  return [
    h(
      "dl",
      { class: "facts" },
      fact("From", item.source),
      fact("Place", place(item.locator) || (item.locator === "whole" ? "the whole text" : "from the beginning")),
      item.name !== item.label && fact("Title", item.name),
      item.context !== item.name && fact("Section", item.context),
      fact("Corpus", item.corpus),
      fact("Nearness", item.score.toFixed(3)),
    ),
    h("h3", {}, spans.length ? "Passage, the cited words marked" : "Passage"),
    h(
      "pre",
      { class: "text", dir: "auto", tabindex: "0", role: "region", "aria-label": "Passage" },
      marked(item.text, spans),
    ),
  ].filter(Boolean);
}

/** The text in parts; spans count characters as Python does, which is not how JavaScript counts them. */
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
