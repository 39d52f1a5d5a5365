// The Status tab: what the service serves, its uptime and its latencies.

import { empty, failure, h, icon, loading, table } from "../core/dom.js";
import { mcpParts } from "./mcp.js";
import { number, size } from "../search/outcome.js";
import { asTable, legend, plot } from "./latency-plot.js";
import * as service from "../core/service.js";

const EVERY = 5_000;
const LINES = [
  { key: "p50_ms", name: "p50" },
  { key: "p95_ms", name: "p95" },
  { key: "p99_ms", name: "p99" },
];
const SPAN = 600;

export function mount(root) {
  let timer = null;
  let ended = false;
  let shown = ""; // the corpora in the table
  const facts = h("dl", { class: "tiles" });
  const latency = h("section", { class: "card", "aria-label": "Latency" });
  const corpora = h("section", { class: "card flush", "aria-label": "Corpora" });
  const mcp = mcpParts();
  const parts = h("div", { class: "parts", hidden: true }, facts, latency, corpora, mcp.servers, mcp.review);
  const said = h("div", {}, loading());
  const latencies = h("details", { class: "as-table" }, h("summary", {}, "Show as a table"));
  root.append(h("div", { class: "head" }, h("h1", {}, "Status")), mcp.notice, said, parts);
  look();
  return () => {
    ended = true;
    clearTimeout(timer);
  };

  async function look() {
    clearTimeout(timer);
    let isRefused = false;
    try {
      if (!document.hidden) {
        const [status, known] = await Promise.all([service.status(), service.corpora()]);
        const servers = await service.mcp(status);
        if (ended) return;
        mcp.show(servers);
        said.replaceChildren(...(status.problem ? [h("p", { class: "notice" }, icon("warn"), status.problem)] : []));
        show(status, known);
        parts.hidden = false;
      }
    } catch (error) {
      isRefused = error.status === 401;
      if (!ended) said.replaceChildren(failure(error, look));
    }
    if (!ended && !isRefused) timer = setTimeout(look, EVERY);
  }

  function show(status, known) {
    const now = status.latency;
    const tiles = [
      ["Version", status.version],
      ["Uptime", duration(status.uptime_seconds)],
      ["Documents served", number(status.documents)],
      ["Requests, last minute", number(now.requests)],
      ["p50, last minute", ms(now.p50_ms)],
      ["p99, last minute", ms(now.p99_ms)],
    ];
    facts.replaceChildren(...tiles.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
    const caption = `Percentiles of the last ten minutes, in steps of ${now.bucket_seconds} seconds`;
    const inWords = LINES.map(({ key, name }) => `${name} ${ms(now[key])}`).join(", ");
    latencies.querySelector("table")?.remove();
    latencies.append(asTable(now.series, LINES, { unit: "ms", caption }));
    latency.replaceChildren(
      h("div", { class: "card-head" }, h("h2", {}, "Latency"), legend(LINES)),
      now.series.length
        ? plot(now.series, LINES, {
            span: SPAN,
            unit: "ms",
            gap: now.bucket_seconds * 3,
            label: `Latency over ten minutes. Last minute: ${inWords}.`,
          })
        : empty("status", "No requests yet", "Latencies appear here after the first search."),
      latencies,
    );
    if (shown === JSON.stringify(known)) return; // a new table would lose the focus
    shown = JSON.stringify(known);
    corpora.replaceChildren(
      h("div", { class: "card-head" }, h("h2", {}, "Corpora"), h("p", { class: "muted" }, `${known.length} in total`)),
      h(
        "div",
        { class: "wide", tabindex: "0", role: "group", "aria-label": "Table of corpora" },
        table(
          "Corpora",
          ["Name", "Documents", "Passages", "Size", "Embedder"],
          known.map((one) => [
            [one.name, one.served && h("span", { class: "badge" }, "Served")],
            sized(one.documents),
            sized(one.passages),
            size(one.bytes),
            one.embedder ? h("code", {}, one.embedder) : h("span", { class: "muted" }, one.problem ?? "not built"),
          ]),
        ),
      ),
    );
  }
}

const sized = (count) => (count === null ? "–" : number(count));
const ms = (value) => (value === null || value === undefined ? "–" : `${number(value, value < 10 ? 2 : 0)} ms`);

function duration(seconds) {
  const parts = [
    ["d", 86_400],
    ["h", 3_600],
    ["min", 60],
    ["s", 1],
  ];
  const first = parts.findIndex(([, length]) => seconds >= length);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .map(([unit, length], at) => `${Math.floor(at ? (seconds % parts[first][1]) / length : seconds / length)} ${unit}`)
    .join(" ");
}
