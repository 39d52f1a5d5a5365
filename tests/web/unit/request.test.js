import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULTS } from "../../../src/shortlist/server/web/search/query.js";
import { discoverBody, formatRequest } from "../../../src/shortlist/server/web/search/request.js";

const URL = "http://127.0.0.1:9200/v1/corpora/catalog/discover";

test("unchanged values are left to the service", () => {
  assert.deepEqual(discoverBody({ ...DEFAULTS, q: "refund" }), { query: "refund" });
});

test("a strategy sends the values that it takes, and no others", () => {
  const query = { ...DEFAULTS, q: "refund", k: 5, mode: "dense", strategy: "score_gap", filters: [["a", 1]] };
  assert.deepEqual(discoverBody(query), {
    query: "refund",
    mode: "dense",
    k: 5,
    filter: { a: 1 },
    strategy: "score_gap",
    gap_ratio: 0.5,
    max_k: 3,
  });
});

test("an automatic threshold is left to the service", () => {
  assert.equal("min_relevance" in discoverBody({ ...DEFAULTS, q: "x" }), false);
  assert.equal("min_relevance" in discoverBody({ ...DEFAULTS, q: "x", strategy: "abs_threshold" }), false);
  assert.equal(discoverBody({ ...DEFAULTS, q: "x", min_relevance: 0.4 }).min_relevance, 0.4);
});

test("a shell gets every character of the query as it is", () => {
  const { curl } = formatRequest({ url: URL, body: { query: "a customer's $HOME `x`" }, hasToken: false });
  assert.equal(
    curl.text,
    `curl -sS '${URL}' \\\n  -H 'Content-Type: application/json' \\\n  -d '{"query":"a customer'\\''s $HOME \`x\`"}'`,
  );
  assert.equal(curl.hint, "");
});

test("a token is read from the environment, and never written", () => {
  const { curl, Python, MCP } = formatRequest({ url: URL, body: { query: "x" }, hasToken: true });
  assert.match(curl.text, /-H "Authorization: Bearer \$SHORTLIST_TOKEN"/);
  assert.match(Python.text, /os\.environ\["SHORTLIST_TOKEN"\]/);
  assert.match(curl.hint, /SHORTLIST_TOKEN/);
  assert.doesNotMatch(MCP.text, /TOKEN/);
});

test("a Python program has the literals of Python", () => {
  const body = { query: "x", min_relevance: null, on: true, off: false, list: [1, "a"], filter: { a: 0.5 } };
  const { text } = formatRequest({ url: URL, body, hasToken: false }).Python;
  const literal =
    '{"query": "x", "min_relevance": None, "on": True, "off": False, "list": [1, "a"], "filter": {"a": 0.5}}';
  assert.ok(text.includes(`body = ${literal}\n`), text);
});

test("invisible characters are escaped in every form", () => {
  const forms = formatRequest({ url: URL, body: { query: "a\u202eb\u{e0041}" }, hasToken: false });
  for (const { text } of Object.values(forms)) {
    assert.doesNotMatch(text, /[\u202e\u{e0041}]/u);
    assert.ok(text.includes("a\\u202eb\\udb40\\udc41"), text);
  }
});
