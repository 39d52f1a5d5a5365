// The Status tab: what the service serves, its uptime and its latencies.

import { ServiceError } from "../core/api.js";
import { shortenNames } from "../core/corpora.js";
import { h, table } from "../core/dom.js";
import { formatBytes, formatNumber } from "../core/format.js";
import { icon } from "../core/icons.js";
import { failure, loading } from "../core/messages.js";
import { listCorpora, listMcpServers, readStatus } from "../core/service.js";
import { createStore } from "../core/store.js";
import { createLatencyCard, formatMilliseconds } from "./latency.js";
import { createMcpParts } from "./mcp.js";

/** @import { Corpus, McpServers, Status } from "../core/types.js" */

/**
 * @typedef {object} StatusState
 * @property {Status | null} status
 * @property {string} corpora as JSON, which is compared by its text: a new table would lose the focus
 * @property {unknown} error
 */

const REFRESH_MILLISECONDS = 5_000;

/** @param {HTMLElement} root */
export function mount(root) {
  /** @type {StatusState} */
  const state = { status: null, corpora: "", error: null };
  const store = createStore(state);
  const mcp = createMcpParts();
  const tiles = h("dl", { class: "tiles" });
  const latency = createLatencyCard();
  const corpora = h("section", { class: "card flush", "aria-label": "Corpora" });
  const parts = h("div", { class: "parts", hidden: true }, tiles, latency.element, corpora, mcp.servers, mcp.review);
  const message = h("div", {}, loading());
  root.append(h("div", { class: "head" }, h("h1", {}, "Status")), mcp.notice, message, parts);
  const refresh = repeat(
    async () => {
      const [status, list] = await Promise.all([readStatus(), listCorpora()]);
      const servers = await listMcpServers(status);
      return () => {
        mcp.show(servers);
        store.set({ status, corpora: JSON.stringify(list), error: null });
      };
    },
    (error) => store.set({ error }),
  );
  store.subscribe(["status", "corpora"], ({ status, corpora }) => {
    if (!status) return;
    tiles.replaceChildren(...drawTiles(status, corpora ? JSON.parse(corpora) : []));
    latency.show(status.latency);
    parts.hidden = false;
  });
  store.subscribe(["corpora"], (current) => {
    if (current.corpora) corpora.replaceChildren(...drawCorpora(JSON.parse(current.corpora)));
  });
  store.subscribe(["status", "error"], ({ status, error }) => {
    if (error) message.replaceChildren(failure(error, refresh.now));
    else if (status) message.replaceChildren(...drawProblem(status.problem));
  });
  return refresh.stop;
}

/**
 * Repeats a task while the page is visible, until it is stopped or the token is missing.
 *
 * @param {() => Promise<() => void>} load returns a function that shows what was loaded
 * @param {(error: unknown) => void} fail
 */
function repeat(load, fail) {
  /** @type {number | undefined} */
  let timer;
  let isStopped = false;
  const now = async () => {
    clearTimeout(timer);
    let isRefused = false;
    try {
      if (!document.hidden) {
        const show = await load();
        if (!isStopped) show();
      }
    } catch (error) {
      isRefused = error instanceof ServiceError && error.status === 401;
      if (!isStopped) fail(error);
    }
    if (!isStopped && !isRefused) timer = setTimeout(now, REFRESH_MILLISECONDS);
  };
  const stop = () => {
    isStopped = true;
    clearTimeout(timer);
  };
  now();
  return { now, stop };
}

/** @param {string} problem */
const drawProblem = (problem) => (problem ? [h("p", { class: "notice" }, icon("warn"), problem)] : []);

/**
 * @param {Status} status
 * @param {Corpus[]} corpora
 */
function drawTiles({ version, uptime_seconds, latency }, corpora) {
  const tiles = [
    ["Version", version],
    ["Uptime", formatDuration(uptime_seconds)],
    ["Documents", formatNumber(corpora.reduce((sum, { documents }) => sum + (documents ?? 0), 0))],
    ["Requests, last minute", formatNumber(latency.requests)],
    ["p50, last minute", formatMilliseconds(latency.p50_ms)],
    ["p99, last minute", formatMilliseconds(latency.p99_ms)],
  ];
  return tiles.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
}

/** @param {Corpus[]} corpora */
function drawCorpora(corpora) {
  const shown = shortenNames(corpora.map(({ name }) => name));
  const rows = corpora.map(({ name, served, documents, passages, bytes, languages, embedder, problem }, at) => [
    [h("span", { title: name }, shown[at]), served && h("span", { class: "badge" }, "Served")],
    formatSize(documents),
    formatSize(passages),
    formatBytes(bytes),
    formatLanguages(languages),
    embedder ? h("code", {}, embedder) : h("span", { class: "muted" }, problem ?? "not built"),
  ]);
  return [
    h("div", { class: "card-head" }, h("h2", {}, "Corpora"), h("p", { class: "muted" }, `${corpora.length} in total`)),
    h(
      "div",
      { class: "wide", tabindex: "0", role: "group", "aria-label": "Table of corpora" },
      table("Corpora", ["Name", "Documents", "Passages", "Size", "Languages", "Embedder"], rows),
    ),
    ...corpora
      .filter(({ advice }) => advice)
      .map(({ name, advice }) =>
        h("p", { class: "notice" }, icon("warn"), h("span", {}, h("strong", {}, name), `: ${advice}`)),
      ),
  ];
}

const LANGUAGE_NAMES = new Intl.DisplayNames("en", { type: "language" });
const MAX_LANGUAGES = 3; // the others are counted

/**
 * Formats the most frequent languages of a corpus with their shares of its passages.
 *
 * @param {Record<string, number>} languages
 */
export function formatLanguages(languages) {
  const counts = Object.entries(languages);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const shown = counts.slice(0, MAX_LANGUAGES).map(([code, count]) => {
    const share = Math.round((100 * count) / total);
    return `${LANGUAGE_NAMES.of(code)}${share < 100 ? ` ${share || "<1"} %` : ""}`;
  });
  const others = counts.length - shown.length;
  return [...shown, ...(others > 0 ? [`${others} more`] : [])].join(", ") || "–";
}

/** @param {number | null} count */
const formatSize = (count) => (count === null ? "–" : formatNumber(count));

/**
 * Formats a duration with its two largest units: 2 h 5 min.
 *
 * @param {number} seconds
 */
export function formatDuration(seconds) {
  /** @type {[unit: string, seconds: number][]} */
  const units = [
    ["d", 86_400],
    ["h", 3_600],
    ["min", 60],
    ["s", 1],
  ];
  const first = units.findIndex(([, length]) => seconds >= length);
  if (first < 0) return "0 s";
  return units
    .slice(first, first + 2)
    .map(([unit, length], at) => `${Math.floor(at ? (seconds % units[first][1]) / length : seconds / length)} ${unit}`)
    .join(" ");
}
