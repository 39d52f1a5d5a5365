// The request of a search, and the same request as a curl command, a Python program or an MCP tool call.

import { toFilter } from "./filters.js";
import { STRATEGY_VALUES } from "./query.js";

/** @import { Data } from "../core/types.js" */
/** @import { Query } from "./types.js" */

/**
 * The body of `discover`. Unchanged values are left out: the service has its own defaults.
 *
 * @param {Query} query
 * @returns {Data}
 */
export function discoverBody({ q, mode, k, strategy, min_relevance, filters, ...values }) {
  /** @type {Data} */
  const body = { query: q };
  if (mode !== "auto") body.mode = mode;
  if (k !== 10) body.k = k;
  if (filters.length) body.filter = toFilter(filters);
  if (strategy) body.strategy = strategy;
  for (const name of STRATEGY_VALUES[strategy]) if (name in values) body[name] = /** @type {Data} */ (values)[name];
  if (min_relevance > 0) body.min_relevance = min_relevance;
  return body;
}

/** @typedef {"curl" | "Python" | "MCP"} RequestForm */

/**
 * A request in all forms: each has a text to copy and a hint.
 *
 * @param {{ url: string, body: Data, hasToken: boolean }} request
 * @returns {Record<RequestForm, { text: string, hint: string }>}
 */
export function formatRequest({ url, body, hasToken }) {
  const hint = hasToken ? "The token is read from the variable SHORTLIST_TOKEN." : "";
  const call = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "discover", arguments: { query: body.query } },
  };
  return {
    curl: { text: formatCurl(url, body, hasToken), hint },
    Python: { text: formatPython(url, body, hasToken), hint },
    MCP: {
      text: formatJson(call, 2),
      hint: "For POST /mcp or any MCP client. The tool takes only the query and searches all corpora that agents see.",
    },
  };
}

/**
 * @param {unknown} value
 * @param {number} [indent]
 */
const formatJson = (value, indent = 0) =>
  JSON.stringify(value, null, indent).replace(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu, (letter) =>
    letter
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );

/** @param {string} text */
const quoteForShell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * @param {string} url
 * @param {Data} body
 * @param {boolean} hasToken
 */
function formatCurl(url, body, hasToken) {
  const parts = [`curl -sS ${quoteForShell(url)}`, "-H 'Content-Type: application/json'"];
  if (hasToken) parts.push('-H "Authorization: Bearer $SHORTLIST_TOKEN"');
  return [...parts, `-d ${quoteForShell(formatJson(body))}`].join(" \\\n  ");
}

/**
 * @param {string} url
 * @param {Data} body
 * @param {boolean} hasToken
 */
function formatPython(url, body, hasToken) {
  const secret = `, "Authorization": "Bearer " + os.environ["SHORTLIST_TOKEN"]`;
  return [
    "import json",
    ...(hasToken ? ["import os"] : []),
    "import urllib.request",
    "",
    `body = ${formatLiteral(body)}`,
    `headers = {"Content-Type": "application/json"${hasToken ? secret : ""}}`,
    `request = urllib.request.Request(${formatJson(url)}, json.dumps(body).encode(), headers)`,
    "with urllib.request.urlopen(request) as response:",
    "    found = json.load(response)",
    "print(json.dumps(found, indent=2))",
    "",
  ].join("\n");
}

/**
 * A value of JSON as Python writes it.
 *
 * @param {unknown} value
 * @returns {string}
 */
function formatLiteral(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(formatLiteral).join(", ")}]`;
  if (typeof value !== "object") return formatJson(value);
  const items = Object.entries(value).map(([name, inner]) => `${formatJson(name)}: ${formatLiteral(inner)}`);
  return `{${items.join(", ")}}`;
}
