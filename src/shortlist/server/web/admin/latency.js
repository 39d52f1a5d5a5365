// The latency of searches: a plot of lines over time, its legend, and the same numbers as a table.

import { h, svg } from "../core/dom.js";
import { formatNumber, roundUp } from "../core/format.js";
import { empty } from "../core/messages.js";

/** @import { Latency, LatencyRow } from "../core/types.js" */
/** @typedef {"p50_ms" | "p95_ms" | "p99_ms"} LineKey */
/** @typedef {{ x: (time: number) => number, y: (value: number) => number, start: number, end: number, top: number }} Scales */

/** @type {{ key: LineKey, name: string }[]} */
const LINES = [
  { key: "p50_ms", name: "p50" },
  { key: "p95_ms", name: "p95" },
  { key: "p99_ms", name: "p99" },
];
const SPAN_SECONDS = 600;
const WIDTH = 720;
const HEIGHT = 240;
const LEFT = 108; // fits the largest number and the unit in the font of a small screen
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 28;
const QUARTERS = [0, 0.25, 0.5, 0.75, 1];

/** The card of the latency; `show` draws it again, and leaves its table open or closed. */
export function createLatencyCard() {
  const element = h("section", { class: "card", "aria-label": "Latency" });
  const summary = h("summary", {}, "Show as a table");
  const details = h("details", { class: "as-table" }, summary);
  return {
    element,
    /** @param {Latency} latency */
    show(latency) {
      details.replaceChildren(summary, drawTable(latency));
      element.replaceChildren(
        h("div", { class: "card-head" }, h("h2", {}, "Latency"), legend()),
        latency.series.length
          ? plot(latency)
          : empty("status", "No requests yet", "Latencies appear here after the first search."),
        details,
      );
    },
  };
}

/** @param {number | null | undefined} value */
export const formatMilliseconds = (value) =>
  value === null || value === undefined ? "–" : `${formatNumber(value, value < 10 ? 2 : 0)} ms`;

/** @param {Latency} latency */
function plot(latency) {
  const scales = createScales(latency.series);
  const lastMinute = LINES.map(({ key, name }) => `${name} ${formatMilliseconds(latency[key])}`).join(", ");
  const label = `Latency over ten minutes. Last minute: ${lastMinute}.`;
  const shown = latency.series.filter(({ time }) => time >= scales.start);
  const gap = latency.bucket_seconds * 3;
  return svg(
    "svg",
    { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    QUARTERS.map((share) => drawLevel(share, scales)),
    QUARTERS.map((share) => drawTime(share, scales)),
    LINES.map(({ key }) => drawLine(shown, key, gap, scales)),
  );
}

/**
 * @param {LatencyRow[]} series
 * @returns {Scales}
 */
function createScales(series) {
  const last = series[series.length - 1].time;
  const now = Date.now() / 1000;
  const end = now > last && now - last < SPAN_SECONDS ? now : last; // the clock of the service may differ
  const highest = Math.max(0, ...series.flatMap((row) => LINES.map(({ key }) => row[key] ?? 0)));
  const top = 4 * roundUp(highest / 4, [1, 2, 2.5, 5, 10]); // four steps, each a round number
  return {
    x: (time) => LEFT + (1 - (end - time) / SPAN_SECONDS) * (WIDTH - LEFT - RIGHT),
    y: (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM),
    start: end - SPAN_SECONDS,
    end,
    top,
  };
}

/**
 * @param {number} share
 * @param {Scales} scales
 */
function drawLevel(share, { y, top }) {
  const value = share * top;
  const text = `${formatNumber(value, 3)}${share === 1 ? " ms" : ""}`;
  return [
    svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
    svg("text", { class: "tick end", x: LEFT - 8, y: y(value) + 3 }, text),
  ];
}

/**
 * @param {number} share
 * @param {Scales} scales
 */
function drawTime(share, { x, start }) {
  const time = start + share * SPAN_SECONDS;
  const side = share === 0 ? "" : share === 1 ? "end" : "middle";
  return svg("text", { class: `tick ${side}`, x: x(time), y: HEIGHT - 8 }, formatClock(time));
}

/**
 * Joins neighboring points; the line has a gap where there were no requests for a while.
 *
 * @param {LatencyRow[]} rows
 * @param {LineKey} key
 * @param {number} gap seconds
 * @param {Scales} scales
 */
function drawLine(rows, key, gap, { x, y }) {
  const points = rows.flatMap((row) => {
    const value = row[key];
    return value === null || value === undefined ? [] : [{ time: row.time, x: x(row.time), y: y(value) }];
  });
  const steps = points.map((point, at) => {
    const isJoined = at > 0 && point.time - points[at - 1].time <= gap;
    return `${isJoined ? "L" : "M"}${point.x.toFixed(1)} ${point.y.toFixed(1)}`;
  });
  return [
    svg("path", { class: `series ${key}`, d: steps.join("") }),
    points.map((point) => svg("circle", { class: `point ${key}`, cx: point.x, cy: point.y, r: 2.5 })),
  ];
}

const legend = () =>
  h(
    "ul",
    { class: "legend" },
    LINES.map(({ key, name }) => h("li", {}, h("span", { class: `swatch ${key}`, "aria-hidden": "true" }), name)),
  );

/** @param {Latency} latency */
function drawTable({ series, bucket_seconds }) {
  const head = ["Time", "Requests", ...LINES.map(({ name }) => `${name} (ms)`)];
  /** @param {LatencyRow} row */
  const cells = (row) => [
    formatNumber(row.requests),
    ...LINES.map(({ key }) => {
      const value = row[key];
      return value === null ? "–" : formatNumber(value);
    }),
  ];
  return h(
    "table",
    {},
    h("caption", {}, `Percentiles of the last ten minutes, in steps of ${bucket_seconds} seconds`),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        head.map((title) => h("th", { scope: "col" }, title)),
      ),
    ),
    h(
      "tbody",
      {},
      series.toReversed().map((row) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, formatClock(row.time)),
          cells(row).map((cell) => h("td", {}, cell)),
        ),
      ),
    ),
  );
}

/** @param {number} seconds */
const formatClock = (seconds) =>
  new Date(seconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
