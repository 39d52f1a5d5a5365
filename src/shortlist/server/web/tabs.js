// The tabs, in order.

import * as settings from "./admin/settings.js";
import * as status from "./admin/status.js";
import * as ask from "./ask/tab.js";
import * as documents from "./documents/tab.js";
import * as evaluate from "./evaluate/tab.js";
import * as search from "./search/tab.js";

/** @import { IconName } from "./core/icons.js" */
/** @import { Params } from "./core/route.js" */

/**
 * A tab fills its root, and may return a function to call when it is left.
 * @typedef {object} Tab
 * @property {string} id
 * @property {string} title
 * @property {IconName} image
 * @property {(root: HTMLElement, params: Params) => (() => void) | void} mount
 */

/** @type {Tab[]} */
export const tabs = [
  { id: "search", title: "Search", image: "search", mount: search.mount },
  { id: "ask", title: "Ask", image: "ask", mount: ask.mount },
  { id: "eval", title: "Eval", image: "eval", mount: evaluate.mount },
  { id: "documents", title: "Documents", image: "documents", mount: documents.mount },
  { id: "settings", title: "Settings", image: "settings", mount: settings.mount },
  { id: "status", title: "Status", image: "status", mount: status.mount },
];
