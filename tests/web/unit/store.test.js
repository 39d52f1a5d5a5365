import assert from "node:assert/strict";
import { test } from "node:test";
import { createStore } from "../../../src/shortlist/server/web/core/store.js";

test("a subscriber is called at once and when one of its values changes", () => {
  const store = createStore({ count: 1, name: "a" });
  const seen = [];
  store.subscribe(["count"], ({ count, name }) => seen.push([count, name]));
  store.set({ name: "b" });
  store.set({ count: 1 });
  store.set({ count: 2 });
  assert.deepEqual(seen, [
    [1, "a"],
    [2, "b"],
  ]);
});

test("values are compared by identity", () => {
  const list = [1];
  const store = createStore({ list });
  let calls = 0;
  store.subscribe(["list"], () => {
    calls += 1;
  });
  list.push(2);
  store.set({ list });
  assert.equal(calls, 1);
  store.set({ list: [1, 2] });
  assert.equal(calls, 2);
});

test("a subscriber that changes the state leaves every subscriber with the newest values, once", () => {
  const store = createStore({ page: 1, pages: 3 });
  const seen = [];
  store.subscribe(["page"], ({ page, pages }) => {
    if (page > pages) store.set({ page: pages });
  });
  store.subscribe(["page"], ({ page }) => seen.push(page));
  store.set({ page: 9 });
  assert.deepEqual(seen, [1, 3]);
  assert.equal(store.state.page, 3);
});

test("an ended subscription is not called again", () => {
  const store = createStore({ count: 0 });
  const seen = [];
  const end = store.subscribe(["count"], ({ count }) => seen.push(count));
  end();
  store.set({ count: 1 });
  assert.deepEqual(seen, [0]);
});

test("the initial object is not changed", () => {
  const initial = { count: 0 };
  createStore(initial).set({ count: 1 });
  assert.equal(initial.count, 0);
});
