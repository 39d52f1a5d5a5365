// The request of a search, and the same request as a curl command, a Python program or an MCP tool call.

import { hasToken } from "../core/api.js";
import { filterOf } from "./filters.js";
import * as service from "../core/service.js";
import { USES } from "./tuning.js";

/** The body of `discover` for this state. Unchanged values are left out: the service has its own defaults. */
export function discoverBody({ q, mode, k, strategy, min_score, filters, ...values }) {
  const body = { query: q };
  if (mode !== "auto") body.mode = mode;
  if (k !== 10) body.k = k;
  if (filters.length) body.filter = filterOf(filters);
  if (strategy) body.strategy = strategy;
  for (const name of USES[strategy]) body[name] = values[name];
  if (min_score > 0 || strategy === "abs_threshold") body.min_score = min_score;
  return body;
}

export const retrieveBody = ({ q, temperature, ignore_zero, cutoff }) => ({
  query: q,
  temperature,
  ignore_zero,
  llm_tools_cutoff: cutoff,
});

/** The body of `explain` for a document. /retrieve ranks all documents by BM25 and selects by softmax. */
export function explainBody(id, { look, q, temperature, cutoff, ...rest }) {
  if (look === "discover") return { id, ...discoverBody({ q, temperature, cutoff, ...rest }) };
  return { id, query: q, mode: "lexical", k: 1000, strategy: "softmax", temperature, cutoff, min_score: null };
}

/** The request by the name of its form: each has a text to copy and a hint. */
export function copies(asked) {
  const isRetrieve = asked.look === "softmax";
  const url = location.origin + (isRetrieve ? service.RETRIEVE : service.discoverPath(asked.corpus));
  const body = isRetrieve ? retrieveBody(asked) : discoverBody(asked);
  const token = hasToken() ? "The token is read from the variable SHORTLIST_TOKEN." : "";
  return {
    curl: { text: curl(url, body), hint: token },
    Python: { text: python(url, body), hint: token },
    MCP: {
      text: json(
        {
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "discover", arguments: { query: asked.q } },
        },
        2,
      ),
      hint: "For POST /mcp or any MCP client. The tool takes only the query and searches all corpora that agents see.",
    },
  };
}

const json = (value, indent = 0) =>
  JSON.stringify(value, null, indent).replace(/(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu, (letter) =>
    letter
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );

const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

function curl(url, body) {
  const parts = [`curl -sS ${quote(url)}`, "-H 'Content-Type: application/json'"];
  if (hasToken()) parts.push('-H "Authorization: Bearer $SHORTLIST_TOKEN"');
  return [...parts, `-d ${quote(json(body))}`].join(" \\\n  ");
}

function python(url, body) {
  const token = hasToken();
  const secret = `, "Authorization": "Bearer " + os.environ["SHORTLIST_TOKEN"]`;
  return [
    "import json",
    ...(token ? ["import os"] : []),
    "import urllib.request",
    "",
    `body = ${literal(body)}`,
    `headers = {"Content-Type": "application/json"${token ? secret : ""}}`,
    `request = urllib.request.Request(${json(url)}, json.dumps(body).encode(), headers)`,
    "with urllib.request.urlopen(request) as response:",
    "    found = json.load(response)",
    "print(json.dumps(found, indent=2))",
    "",
  ].join("\n");
}

/** A value of JSON as Python writes it. */
function literal(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value !== "object") return json(value);
  const items = Object.entries(value).map(([name, inner]) => `${json(name)}: ${literal(inner)}`);
  return `{${items.join(", ")}}`;
}
