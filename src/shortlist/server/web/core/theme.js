// Runs before the first paint, so that the page never flashes in the wrong theme, or with the outline of another tab.
{
  const chosen = localStorage.getItem("shortlist-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
  document.documentElement.dataset.firstTab = location.hash.match(/^#\/([a-z]+)/)?.[1] ?? "search";
}
