// @ts-check
/**
 * Runs before the first paint, and starts the page's scripts after it: remembered looks don't flash
 * in later, a chat begins at its end, and what is clicked is done once the script listens.
 */
(() => {
  const root = document.documentElement;
  const PRESSED = "button, .bubble, .switch-row, input[type=checkbox]";
  const MOVED_BY_HAND = ["wheel", "touchmove"];
  /** A page that nobody sees gets no frames. */
  const LONGEST_WAIT_MS = 200;
  /** What the user did, in order. @type {Map<unknown, () => void>} */
  const wishes = new Map();
  const over = new AbortController();
  const { signal } = over;
  let isOver = false;

  root.dataset.scripted = "";
  root.dataset.arriving = "";
  if (location.hash) root.dataset.aimed = "";
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    if (localStorage.getItem("chats") === "closed") root.dataset.chats = "closed";
    if (localStorage.getItem("guide") === "done") root.dataset.guide = "done";
    const width = Number(localStorage.getItem("side-width"));
    if (width) root.style.setProperty("--side-width", `min(${width}px, 50vw)`);
    if (localStorage.getItem("side") === "closed") root.dataset.side = "closed";
    const today = new Date().toDateString();
    const firstDay = localStorage.getItem("first-day");
    if (!firstDay) localStorage.setItem("first-day", today);
    else if (firstDay !== today) root.dataset.knowsKeys = "";
  } catch {
    // Without storage the page follows the system.
  }

  for (const [event, keep] of [["click", keepClick], ["submit", keepSubmit], ["input", keepInput], ["keydown", submitByKey]]) {
    document.addEventListener(String(event), /** @type {EventListener} */ (keep), { capture: true, signal });
  }
  for (const event of MOVED_BY_HAND) addEventListener(event, () => (root.dataset.scrolled = ""), { passive: true, signal });
  requestAnimationFrame(stayAtEnd);
  document.addEventListener("DOMContentLoaded", () => void start());

  async function start() {
    delete root.dataset.arriving;
    const scripts = /** @type {NodeListOf<HTMLLinkElement>} */ (document.querySelectorAll("link[data-start]"));
    try {
      for (const { href } of scripts) {
        await nextFrame();
        await import(href);
      }
    } finally {
      isOver = true;
      over.abort();
      for (const wish of wishes.values()) wish();
    }
  }

  /** Until the browser has drawn what is there. */
  function nextFrame() {
    return new Promise((resolve) => {
      setTimeout(resolve, document.hidden ? 0 : LONGEST_WAIT_MS);
      requestAnimationFrame(() => setTimeout(resolve));
    });
  }

  /** Before each frame, since the messages come in several pieces. */
  function stayAtEnd() {
    const scroll = document.getElementById("scroll");
    if (scroll && !("scrolled" in root.dataset) && !location.hash) scroll.scrollTop = scroll.scrollHeight;
    if (!isOver) requestAnimationFrame(stayAtEnd);
  }

  /** @param {MouseEvent} event */
  function keepClick(event) {
    const pressed = event.target instanceof Element ? event.target.closest(PRESSED) : null;
    if (!(pressed instanceof HTMLElement) || ("form" in pressed && pressed.form && "type" in pressed && pressed.type === "submit")) return;
    event.preventDefault();
    wishes.set(event, () => pressed.isConnected && pressed.click());
  }

  /** What the browser can do by itself it does. @param {SubmitEvent} event */
  function keepSubmit(event) {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || form.hasAttribute("action") || form.method === "dialog") return;
    event.preventDefault();
    wishes.set(form, () => form.isConnected && form.requestSubmit());
  }

  /** @param {Event} event */
  function keepInput({ target }) {
    if (!(target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) || target.type === "checkbox") return;
    const send = target.form?.querySelector(".send");
    send?.toggleAttribute("disabled", !target.value.trim());
    wishes.set(target, () => target.isConnected && target.dispatchEvent(new Event("input", { bubbles: true })));
  }

  /** @param {KeyboardEvent} event */
  function submitByKey(event) {
    const { target, key } = event;
    if (!(target instanceof HTMLTextAreaElement) || key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    if (matchMedia("(hover: none) and (pointer: coarse)").matches) return; // it is a new line
    event.preventDefault();
    target.form?.requestSubmit();
  }
})();
