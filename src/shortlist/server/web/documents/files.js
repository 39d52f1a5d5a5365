// The files that a user chooses or drops, with their paths below the folder.

/** @typedef {{ path: string, file: File }} ChosenFile */
/** @typedef {{ id: string, reason: string }} SkippedFile */

const IGNORED_FOLDERS = new Set(["node_modules", "__pycache__"]);

/**
 * Separates the files to upload from hidden and empty ones.
 *
 * @param {ChosenFile[]} files
 * @returns {{ wanted: ChosenFile[], skipped: SkippedFile[] }}
 */
export function sortOut(files) {
  /** @type {ChosenFile[]} */
  const wanted = [];
  /** @type {SkippedFile[]} */
  const skipped = [];
  for (const { path, file } of files) {
    const isHidden = path.split("/").some((part) => part.startsWith(".") || IGNORED_FOLDERS.has(part));
    if (isHidden) skipped.push({ id: path, reason: "Hidden files and folders are not uploaded." });
    else if (!file.size) skipped.push({ id: path, reason: "The file is empty." });
    else wanted.push({ path, file });
  }
  return { wanted, skipped };
}

/**
 * A name for a corpus of these files: that of their folder, or else "files".
 *
 * @param {ChosenFile[]} files
 */
export function suggestName(files) {
  const folders = new Set(files.map(({ path }) => (path.includes("/") ? path.split("/")[0] : "")));
  const [folder] = folders.size === 1 ? folders : [""];
  return folder.replaceAll(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "") || "files";
}

/**
 * Reads the files of an input, whose paths start with the folder if one was chosen.
 *
 * @param {FileList | null} list
 * @returns {ChosenFile[]}
 */
export const readInput = (list) =>
  [...(list ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

/**
 * Reads what was dropped, and the files in dropped folders.
 *
 * @param {DataTransfer} dropped
 * @returns {Promise<ChosenFile[]>}
 */
export async function readDropped({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry !== null);
  if (!entries.length) return readInput(files);
  return (await Promise.all(entries.map((entry) => readEntry(/** @type {FileSystemEntry} */ (entry))))).flat();
}

/**
 * @param {FileSystemEntry} entry
 * @returns {Promise<ChosenFile[]>}
 */
async function readEntry(entry) {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => {
      /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject);
    });
    return [{ path, file }];
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  /** @type {ChosenFile[]} */
  const found = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const batch = await new Promise((resolve, reject) => {
      reader.readEntries(resolve, reject); // gives up to 100 at a time
    });
    if (!batch.length) return found;
    for (const inner of batch) found.push(...(await readEntry(inner)));
  }
}
