// Sample queries, made of what a few documents of a corpus say.

import * as service from "../core/service.js";

const COUNT = 4;
const LOOKED_AT = 5; // documents for each query
const FEWEST_WORDS = 3;
const MOST_WORDS = 12;
const LONGEST = 80; // characters

/** Up to four queries from documents that are spread over the corpus. */
export async function sampleQueries({ name, documents }) {
  const count = Math.min(COUNT, documents);
  const offsets = Array.from({ length: count }, (_, at) => Math.floor((at * documents) / count));
  const read = (offset) => service.documents(name, { offset, limit: LOOKED_AT, q: "" });
  const found = await Promise.all(offsets.map(read));
  const queries = found.map((answer) => answer.documents.map(opening).find(isQuery) ?? titled(answer.documents[0]));
  return [...new Set(queries)].filter(Boolean);
}

/** How a text begins: its first sentence up to a comma or colon. */
const opening = ({ content }) => content.trim().split(/[.!?\n]/)[0].split(/[,:;(]/)[0].replace(/^[#*>\s-]+/, "").trim();

function isQuery(text) {
  const words = text.split(/\s+/).length;
  return words >= FEWEST_WORDS && words <= MOST_WORDS && text.length <= LONGEST;
}

const titled = (document) => document?.title.replaceAll(/[\s_]+/g, " ").trim().slice(0, LONGEST);
