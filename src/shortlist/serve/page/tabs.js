// The tabs, in order. A tab is a module with `mount(root, params)`, which may give back `unmount`.

export const tabs = [
  { id: "search", title: "Search", icon: "search", load: () => import("./search.js") },
  { id: "documents", title: "Documents", icon: "documents", load: () => import("./documents.js") },
  { id: "settings", title: "Settings", icon: "settings", load: () => import("./settings.js") },
  { id: "status", title: "Status", icon: "status", load: () => import("./status.js") },
];
