import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatPair,
  listPairs,
  parsePair,
  readFilters,
  toFilter,
} from "../../../src/shortlist/server/web/search/filters.js";

test("of several values of one key any may match, and all keys must", () => {
  const pairs = [
    ["access", "write"],
    ["category", "payments"],
    ["category", "orders"],
  ];
  assert.deepEqual(toFilter(pairs), { access: "write", category: { $in: ["payments", "orders"] } });
  assert.deepEqual(toFilter([]), {});
});

test("pairs of an address are read, and anything else is not", () => {
  assert.deepEqual(readFilters('[["a",1],["b",true],["c","x"]]'), [
    ["a", 1],
    ["b", true],
    ["c", "x"],
  ]);
  for (const text of ["", "{}", "[1]", '[["a"]]', '[["$or","x"]]', '[["",1]]', '[["a",null]]', '[["a",[1]]]', "["])
    assert.deepEqual(readFilters(text), [], text);
});

test("a typed value is a number or a boolean as in JSON, and otherwise text", () => {
  assert.deepEqual(parsePair("version=2"), ["version", 2]);
  assert.deepEqual(parsePair('version="2"'), ["version", "2"]);
  assert.deepEqual(parsePair("active = true"), ["active", true]);
  assert.deepEqual(parsePair("url=a=b"), ["url", "a=b"]);
  assert.deepEqual(parsePair("range=[1]"), ["range", "[1]"]);
  assert.deepEqual(parsePair("empty="), ["empty", ""]);
});

test("a pair needs a key that is not an operator", () => {
  for (const text of ["", "category", "=x", " =x", "$or=x"]) assert.equal(parsePair(text), null, text);
});

test("metadata has dotted keys, and each item of a list is a value", () => {
  const metadata = { a: 1, b: { c: "x", d: { e: true } }, f: ["y", 2, null, { g: 1 }], h: null };
  assert.deepEqual(listPairs(metadata).map(formatPair), ["a=1", "b.c=x", "b.d.e=true", "f=y", "f=2"]);
});
