// The state of the page in the address: #/tab?name=value. It survives a reload and the back button.

export function here() {
  const [, tab = "", query = ""] = location.hash.match(/^#\/([a-z]*)(?:\?(.*))?$/) ?? [];
  return { tab, params: Object.fromEntries(new URLSearchParams(query)) };
}

export function address(tab, params = {}) {
  const kept = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(kept).toString();
  return `#/${tab}${query ? `?${query}` : ""}`;
}

/** Writes the state to the address without a new entry in the history. */
export function remember(tab, params) {
  history.replaceState(null, "", address(tab, params));
  dispatchEvent(new CustomEvent("remembered"));
}
