// The icons of the page, as paths.

import { svg } from "./dom.js";

const ICONS = {
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16.2 16.2 21 21",
  ask: "M4 5h16v11h-9l-5 4v-4H4zM8 9h8M8 12.5h5",
  eval: "M4 20V11M10 20V5M16 20v-6M2.5 20h19M20 8l-2 2-1.5-1.5",
  download: "M12 4v11M7.5 11l4.5 4.5 4.5-4.5M5 20h14",
  upload: "M12 15V4M7.5 8.5 12 4l4.5 4.5M5 20h14",
  documents: "M7 3h7l4 4v14H7zM14 3v4h4M10 12h5M10 16h5",
  settings:
    "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4M9 14.8a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4",
  status: "M3 13h4l3-8 4 14 3-6h4",
  auto: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16",
  light:
    "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  dark: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5",
  close: "M6 6l12 12M18 6 6 18",
  check: "M5 12.5l4.5 4.5L19 7.5",
  warn: "M12 4 2.8 20h18.4zM12 10v4.5M12 17.2v.3",
  plus: "M12 5v14M5 12h14",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5",
  reload: "M20 11a8 8 0 0 0-14.3-4L4 9M4 4v5h5M4 13a8 8 0 0 0 14.3 4L20 15M20 20v-5h-5",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  up: "M7 11v9H4v-9zM7 11l4-7c1.5 0 2.5 1 2.5 2.5L13 9h5.5a2 2 0 0 1 2 2.3l-1.2 7a2 2 0 0 1-2 1.7H7",
  down: "M7 13V4H4v9zM7 13l4 7c1.5 0 2.5-1 2.5-2.5L13 15h5.5a2 2 0 0 0 2-2.3l-1.2-7a2 2 0 0 0-2-1.7H7",
  none: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M6.5 6.5l11 11",
};

/** @typedef {keyof typeof ICONS} IconName */

/** @param {IconName} name */
export function icon(name) {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));
}
