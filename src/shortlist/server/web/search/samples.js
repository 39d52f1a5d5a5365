// Sample queries: tasks that a few tools of a corpus do, or what a few of its documents are about.

import { listDocuments } from "../core/service.js";

/** @import { Corpus, ListedDocument } from "../core/types.js" */

const COUNT = 4;
const DOCUMENTS_PER_QUERY = 5; // of which the first that gives a task or a topic is used
const MIN_WORDS = 2;
const MAX_WORDS = 8;
const MAX_CHARACTERS = 60;

const TASK_KINDS = new Set(["tool", "skill"]);

// Where the description of a task goes into details: "Fetch a record by customer id".
const DETAILS = /[.!?\n,:;()]| (?:by|with|from|using|via|and|or|that|which|for|if|when|before|after|including|given) /i;
// Openings that are no imperative.
const NO_TASK = /^(?:the|a|an|this|that|these|it|you|your|use|used|when|if|for|in|on|to|see|note|\w+s|\w+ing)$/i;

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
 * The first task or topic of these documents.
 *
 * @param {ListedDocument[]} documents
 */
export const sampleQuery = (documents) => documents.map(readTask).find(isQuery) ?? "";

/**
 * What a user of a tool would ask for, or what a text is about.
 *
 * @param {ListedDocument} document
 */
function readTask({ kind, title, content }) {
  const opening = content.trim().split(DETAILS)[0].trim();
  const [verb, ...words] = opening.split(/\s+/);
  if (TASK_KINDS.has(kind ?? "") && /^[A-Z][a-z]+$/.test(verb) && !NO_TASK.test(verb))
    return ["I need to", verb.toLowerCase(), ...words].join(" ");
  return title
    .replace(/\.\w{1,5}$/, "")
    .replaceAll(/[\s_-]+/g, " ")
    .trim();
}

/** @param {string} text */
function isQuery(text) {
  const words = text.replace(/^I need to /, "").split(/\s+/).length;
  return words >= MIN_WORDS && words <= MAX_WORDS && text.length <= MAX_CHARACTERS;
}
