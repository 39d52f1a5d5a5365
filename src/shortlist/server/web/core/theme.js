// Runs before the first paint, so that the page never flashes in the wrong theme.
{
  const chosen = localStorage.getItem("shortlist-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
}
