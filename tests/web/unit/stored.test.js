import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { addToList, readList } from "../../../src/shortlist/server/web/core/history.js";
import { compareRuns, saveRun } from "../../../src/shortlist/server/web/evaluate/runs.js";
import { rememberQuery } from "../../../src/shortlist/server/web/search/recent.js";

beforeEach(() => {
  const items = new Map();
  globalThis.localStorage = {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => items.set(key, value),
    removeItem: (key) => items.delete(key),
  };
});

test("a list has the newest items first, up to a number", () => {
  for (const item of [1, 2, 3]) addToList("key", item, { max: 2 });
  assert.deepEqual(readList("key"), [3, 2]);
});

test("a list that is damaged or cannot be stored is empty", () => {
  localStorage.setItem("key", "{");
  assert.deepEqual(readList("key"), []);
  localStorage.setItem("key", '{"a": 1}');
  assert.deepEqual(readList("key"), []);
  localStorage.setItem = () => {
    throw new Error("full");
  };
  assert.deepEqual(addToList("key", 1, { max: 2 }), [1]);
});

test("a query replaces the ones that it continues", () => {
  for (const query of ["refund", "parcel", "refund a payment", "parcel"]) rememberQuery(query);
  assert.deepEqual(readList("shortlist-queries"), ["parcel", "refund a payment"]);
});

const evaluation = (value) => ({
  corpus: "shop",
  mode: "auto",
  k: 10,
  cases: 60,
  metrics: { "ndcg@10": { value }, "hit@1": { value: 0.5 }, mrr: { value } },
  selection: { f1: { value } },
});

test("runs of the same cases are compared with the last one", () => {
  saveRun(evaluation(0.6), "cases", 1);
  saveRun(evaluation(0.4), "other cases", 2);
  const [last, other, same] = saveRun(evaluation(0.75), "cases", 3);
  assert.deepEqual(last.values, { "nDCG@10": 0.75, "Hit@1": 0.5, MRR: 0.75, F1: 0.75 });
  assert.deepEqual(compareRuns(last, last), {});
  assert.deepEqual(compareRuns(other, last), {});
  assert.equal(compareRuns(same, last).MRR.toFixed(3), "0.150");
  assert.equal(compareRuns(same, last)["Hit@1"], 0);
});
