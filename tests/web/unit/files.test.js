import assert from "node:assert/strict";
import { test } from "node:test";
import { readDropped, sortOut, suggestName } from "../../../src/shortlist/server/web/documents/files.js";

const file = (path, size = 1) => ({ path, file: { name: path.split("/").at(-1), size } });

test("hidden and empty files are skipped with a reason", () => {
  const files = [
    file("a/b.md"),
    file("a/.git/config"),
    file("a/.env"),
    file("node_modules/x.js"),
    file("empty.txt", 0),
  ];
  const { wanted, skipped } = sortOut(files);
  assert.deepEqual(
    wanted.map(({ path }) => path),
    ["a/b.md"],
  );
  assert.deepEqual(
    skipped.map(({ id }) => id),
    ["a/.git/config", "a/.env", "node_modules/x.js", "empty.txt"],
  );
  assert.ok(skipped.every(({ reason }) => reason));
});

test("a corpus gets the name of the folder", () => {
  assert.equal(suggestName([file("My guides!/a.md"), file("My guides!/b/c.md")]), "My-guides");
  assert.equal(suggestName([file("a.md"), file("b.md")]), "files");
  assert.equal(suggestName([file("a/x.md"), file("b/x.md")]), "files");
  assert.equal(suggestName([file("../x.md")]), "files");
});

test("the files of dropped folders are read, in batches", async () => {
  const leaf = (path) => ({
    isFile: true,
    fullPath: `/${path}`,
    file: (done) => done({ name: path, size: 1 }),
  });
  const batches = [[leaf("guides/a.md")], [leaf("guides/b.md")], []];
  const folder = {
    isFile: false,
    fullPath: "/guides",
    createReader: () => ({ readEntries: (done) => done(batches.shift()) }),
  };
  const found = await readDropped({ items: [{ webkitGetAsEntry: () => folder }], files: [] });
  assert.deepEqual(
    found.map(({ path }) => path),
    ["guides/a.md", "guides/b.md"],
  );
});
