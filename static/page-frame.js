// @ts-check
/** The frame around the chat: what is folded away, and light or dark. */

const NARROW = { chats: matchMedia("(max-width: 900px)"), side: matchMedia("(max-width: 1100px)") };
const root = document.documentElement;

/** Listens to the buttons that fold the list of chats and the panel. */
export function startFrame() {
  for (const name of /** @type {const} */ (["chats", "side"])) {
    document.querySelector(`[data-toggle=${name}]`)?.addEventListener("click", () => toggle(name));
    document.querySelector(`[data-close=${name}]`)?.addEventListener("click", () => toggle(name, false));
    NARROW[name].addEventListener("change", () => toggle(name, false));
    showExpanded(name);
  }
  document.querySelector(".backdrop")?.addEventListener("click", closeDrawers);
  addEventListener("keydown", (event) => event.key === "Escape" && !event.defaultPrevented && closeDrawers());
  document.querySelector("[data-theme-toggle]")?.addEventListener("click", switchTheme);
}

/** @param {"chats" | "side"} name @param {boolean} [open] */
function toggle(name, open) {
  if (NARROW[name].matches) {
    const isOpen = open ?? root.dataset.drawer !== name;
    if (isOpen) root.dataset.drawer = name;
    else if (root.dataset.drawer === name) delete root.dataset.drawer;
    /** @type {HTMLElement | null} */ (document.querySelector(".backdrop"))?.toggleAttribute("hidden", !isOpen);
    const focus = isOpen ? document.querySelector(`[data-close=${name}]`) : document.querySelector(`[data-toggle=${name}]`);
    /** @type {HTMLElement | null} */ (focus)?.focus();
  } else if (open === undefined) {
    const isClosed = root.dataset[name] !== "closed";
    root.dataset[name] = isClosed ? "closed" : "open";
    localStorage.setItem(name, root.dataset[name]);
  } else {
    closeDrawers();
  }
  showExpanded(name);
}

function closeDrawers() {
  const drawer = root.dataset.drawer;
  if (drawer === "chats" || drawer === "side") toggle(drawer, false);
}

/** @param {"chats" | "side"} name */
function showExpanded(name) {
  const isOpen = NARROW[name].matches ? root.dataset.drawer === name : root.dataset[name] !== "closed";
  document.querySelector(`[data-toggle=${name}]`)?.setAttribute("aria-expanded", String(isOpen));
}

function switchTheme() {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}
