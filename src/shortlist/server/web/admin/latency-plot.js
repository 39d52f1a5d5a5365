// A plot of lines over time, its legend, and the same numbers as a table.

import { h, svg } from "../core/dom.js";
import { ceiling, number } from "../search/outcome.js";

const WIDTH = 720,
  HEIGHT = 240,
  LEFT = 92, // fits the largest number and the unit in the font of a small screen
  RIGHT = 12,
  TOP = 12,
  BOTTOM = 28;

/** `series`: rows with `time` in seconds; `lines`: [{key, name}]; a value may be missing. */
export function plot(series, lines, { span, unit, label, gap }) {
  const last = series.at(-1).time;
  const now = Date.now() / 1000;
  const until = now > last && now - last < span ? now : last; // the clock of the service may differ
  const highest = Math.max(0, ...series.flatMap((row) => lines.map(({ key }) => row[key] ?? 0)));
  const most = 4 * ceiling(highest / 4, [1, 2, 2.5, 5, 10]); // four steps, each a round number
  const x = (time) => LEFT + (1 - (until - time) / span) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
  const shown = series.filter((row) => until - row.time <= span);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * most);
  const times = [0, 0.25, 0.5, 0.75, 1].map((share) => until - (1 - share) * span);
  return svg(
    "svg",
    { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    ticks.map((value, at) => [
      svg("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      svg(
        "text",
        { class: "tick end", x: LEFT - 8, y: y(value) + 3 },
        at === ticks.length - 1 ? `${number(value, 3)} ${unit}` : number(value, 3),
      ),
    ]),
    times.map((time, at) =>
      svg(
        "text",
        {
          class: `tick ${at === 0 ? "" : at === times.length - 1 ? "end" : "middle"}`,
          x: x(time),
          y: HEIGHT - 8,
        },
        clock(time),
      ),
    ),
    lines.map(({ key }) => [
      svg("path", {
        class: `series ${key}`,
        d: path(
          shown.filter((row) => row[key] !== null && row[key] !== undefined),
          key,
        ),
      }),
      shown.map(
        (row) =>
          row[key] !== null &&
          row[key] !== undefined &&
          svg("circle", { class: `point ${key}`, cx: x(row.time), cy: y(row[key]), r: 2.5 }),
      ),
    ]),
  );

  /** Joins neighboring points; the line has a gap where there were no requests for a while. */
  function path(rows, key) {
    return rows
      .map(
        (row, at) =>
          `${at && row.time - rows[at - 1].time <= gap ? "L" : "M"}${x(row.time).toFixed(1)} ${y(row[key]).toFixed(1)}`,
      )
      .join("");
  }
}

export function legend(lines) {
  return h(
    "ul",
    { class: "legend" },
    lines.map(({ key, name }) => h("li", {}, h("span", { class: `swatch ${key}`, "aria-hidden": "true" }), name)),
  );
}

/** The numbers of the plot as a table. */
export function asTable(series, lines, { unit, caption }) {
  return h(
    "table",
    {},
    h("caption", {}, caption),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Time"),
        h("th", { scope: "col" }, "Requests"),
        lines.map(({ name }) => h("th", { scope: "col" }, `${name} (${unit})`)),
      ),
    ),
    h(
      "tbody",
      {},
      series.toReversed().map((row) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, clock(row.time)),
          h("td", {}, number(row.requests)),
          lines.map(({ key }) => h("td", {}, row[key] === null ? "–" : number(row[key]))),
        ),
      ),
    ),
  );
}

const clock = (seconds) =>
  new Date(seconds * 1000).toLocaleTimeString("en-GB", {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
