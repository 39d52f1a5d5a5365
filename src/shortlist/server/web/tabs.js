// The tabs, in order. A tab is a module with `mount(root, params)`, which may return a function to call when it is left.

import * as ask from "./ask/tab.js";
import * as documents from "./documents/tab.js";
import * as evaluate from "./evaluate/tab.js";
import * as search from "./search/tab.js";
import * as settings from "./admin/settings.js";
import * as status from "./admin/status.js";

export const tabs = [
  { id: "search", title: "Search", icon: "search", mount: search.mount },
  { id: "ask", title: "Ask", icon: "ask", mount: ask.mount },
  { id: "eval", title: "Eval", icon: "eval", mount: evaluate.mount },
  { id: "documents", title: "Documents", icon: "documents", mount: documents.mount },
  { id: "settings", title: "Settings", icon: "settings", mount: settings.mount },
  { id: "status", title: "Status", icon: "status", mount: status.mount },
];
