import assert from "node:assert/strict";
import { test } from "node:test";
import { readOptions } from "../../../src/shortlist/server/web/evaluate/session.js";
import { discoverView } from "../../../src/shortlist/server/web/search/discover.js";
import {
  DEFAULTS,
  queryParams,
  RANGES,
  readQuery,
  STRATEGIES,
  STRATEGY_VALUES,
} from "../../../src/shortlist/server/web/search/query.js";

const views = [{ ...discoverView, id: "softmax", toggles: { ignore_zero: { label: "", hint: "" } } }, discoverView];

test("valid values of an address are read", () => {
  const params = {
    look: "softmax",
    mode: "dense",
    strategy: "top_k",
    k: "7",
    ignore_zero: "false",
    filters: '[["a",1]]',
  };
  const query = { view: "softmax", mode: "dense", strategy: "top_k", k: 7, ignore_zero: false, filters: [["a", 1]] };
  assert.deepEqual(readQuery(params, views), query);
});

test("invalid values of an address are ignored", () => {
  const params = {
    look: "x",
    mode: "x",
    strategy: "x",
    k: "x",
    rel: "7",
    temperature: "1e9",
    ignore_zero: "1",
    y: "1",
  };
  assert.deepEqual(readQuery(params, views), {});
  assert.deepEqual(readQuery({ look: "softmax", ignore_zero: "true" }, [discoverView]), {});
});

test("a threshold is a relevance from 0 to 1, also by its former name", () => {
  assert.deepEqual(readQuery({ min_relevance: "0.5" }, views), { min_relevance: 0.5 });
  assert.deepEqual(readQuery({ min_relevance: "1.5" }, views), {});
  assert.deepEqual(readQuery({ min_score: "0.25" }, views), { min_relevance: 0.25 });
  assert.deepEqual(readQuery({ min_score: "12.5" }, views), {});
});

test("an address has only what is not a default, and no name for the catalog", () => {
  const query = { ...DEFAULTS, corpus: "catalog", q: "refund", view: "softmax", k: 7 };
  assert.deepEqual(queryParams(query, DEFAULTS, true), { corpus: "", q: "refund", look: "softmax", k: 7, filters: "" });
  const other = { ...DEFAULTS, corpus: "papers", q: "", filters: [["a", 1]] };
  assert.deepEqual(queryParams(other, DEFAULTS, false), { corpus: "papers", q: "", filters: '[["a",1]]' });
});

test("every strategy names the values that it takes, and each has a range that its default is in", () => {
  assert.deepEqual(STRATEGIES.map(([name]) => name).sort(), Object.keys(STRATEGY_VALUES).sort());
  for (const name of Object.values(STRATEGY_VALUES).flat()) {
    const [min, max] = RANGES[name];
    assert.ok(DEFAULTS[name] >= min && DEFAULTS[name] <= max, name);
  }
});

test("options of an evaluation are read from an address, and invalid ones are ignored", () => {
  const defaults = { by: "cases", mode: "auto", against: "", k: 10, hasCurve: false };
  assert.deepEqual(readOptions({ show: "x", mode: "x", against: "x", k: "0", curve: "1" }), defaults);
  assert.deepEqual(readOptions({ k: "1.5" }), defaults);
  const params = { show: "lint", mode: "dense", against: "lexical", k: "5", curve: "yes" };
  assert.deepEqual(readOptions(params), { by: "lint", mode: "dense", against: "lexical", k: 5, hasCurve: true });
});
