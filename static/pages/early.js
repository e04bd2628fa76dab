// @ts-check
/** Runs before the first paint, so that the remembered looks don't flash in later. */
(() => {
  const root = document.documentElement;
  root.dataset.scripted = "";
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    if (localStorage.getItem("chats") === "closed") root.dataset.chats = "closed";
    if (localStorage.getItem("guide") === "done") root.dataset.guide = "done";
    if (localStorage.getItem("side") === "closed") root.dataset.side = "closed";
  } catch {
    // Without storage the page follows the system.
  }
})();
