// Sample queries, made of what a few documents of a corpus say.

import { listDocuments } from "../core/service.js";

/** @import { Corpus, ListedDocument } from "../core/types.js" */

const COUNT = 4;
const DOCUMENTS_PER_QUERY = 5; // of which the first that begins with a usable text gives it
const MIN_WORDS = 3;
const MAX_WORDS = 12;
const MAX_CHARACTERS = 80;

/**
 * Reads up to four queries from documents that are spread over the corpus.
 *
 * @param {Corpus} corpus
 * @returns {Promise<string[]>}
 */
export async function readSampleQueries({ name, documents }) {
  const size = documents ?? 0;
  const count = Math.min(COUNT, size);
  const offsets = Array.from({ length: count }, (_, at) => Math.floor((at * size) / count));
  const lists = await Promise.all(
    offsets.map((offset) => listDocuments(name, { offset, limit: DOCUMENTS_PER_QUERY, q: "" })),
  );
  return [...new Set(lists.map((list) => sampleQuery(list.documents)))].filter(Boolean);
}

/**
 * The first opening of a document that reads like a query, or else the title of the first one.
 *
 * @param {ListedDocument[]} documents
 */
export function sampleQuery(documents) {
  const title = documents[0]?.title ?? "";
  const fallback = title
    .replaceAll(/[\s_]+/g, " ")
    .trim()
    .slice(0, MAX_CHARACTERS);
  return documents.map(readOpening).find(isQuery) ?? fallback;
}

/**
 * How a text begins: its first sentence up to a comma or colon.
 *
 * @param {ListedDocument} document
 */
const readOpening = ({ content }) =>
  content
    .trim()
    .split(/[.!?\n]/)[0]
    .split(/[,:;(]/)[0]
    .replace(/^[#*>\s-]+/, "")
    .trim();

/** @param {string} text */
function isQuery(text) {
  const words = text.split(/\s+/).length;
  return words >= MIN_WORDS && words <= MAX_WORDS && text.length <= MAX_CHARACTERS;
}
