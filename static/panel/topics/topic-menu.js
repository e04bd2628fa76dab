// @ts-check
/** What can be done with a topic: right click, long press, the menu key and “…” open it. */

const EDGE_PX = 8;

/**
 * @param {HTMLElement} root  The `.topics` element.
 * @param {import("./topics-panel.js").TopicsPanel} panel
 */
export function startTopicMenu(root, panel) {
  const menu = /** @type {HTMLElement} */ (document.getElementById("topic-menu"));
  /** @type {readonly string[]} */
  let topics = [];
  /** @type {HTMLElement | null} */
  let opener = null;

  /** @param {boolean} givesFocusBack */
  const close = (givesFocusBack) => {
    if (menu.hidden) return;
    menu.hidden = true;
    opener?.setAttribute("aria-expanded", "false");
    if (givesFocusBack) opener?.focus();
  };
  /** @param {readonly string[]} labels @param {HTMLElement} from @param {{ x: number, y: number }} at */
  const open = (labels, from, { x, y }) => {
    [topics, opener] = [labels, from];
    menu.querySelector("[data-topic-deed=rename-topics]")?.toggleAttribute("hidden", labels.length !== 1);
    menu.hidden = false;
    if (from instanceof HTMLButtonElement) from.setAttribute("aria-expanded", "true");
    const { width, height } = menu.getBoundingClientRect();
    menu.style.setProperty("left", `${Math.max(EDGE_PX, Math.min(x, innerWidth - width - EDGE_PX))}px`);
    menu.style.setProperty("top", `${Math.max(EDGE_PX, Math.min(y, innerHeight - height - EDGE_PX))}px`);
    menu.querySelector("button")?.focus();
  };

  root.addEventListener("contextmenu", (event) => {
    const bubble = event.target instanceof Element ? event.target.closest(".bubble") : null;
    const input = bubble?.querySelector("input");
    if (!bubble || !input) return;
    event.preventDefault();
    const { left, bottom } = bubble.getBoundingClientRect();
    const isByKey = event.button !== 2 || (!event.clientX && !event.clientY);
    const at = isByKey ? { x: left, y: bottom } : { x: event.clientX, y: event.clientY };
    // WebKit gives the bubble the focus after this event, which would close the menu.
    setTimeout(() => open([input.value], input, at));
  });
  root.addEventListener("keydown", (event) => {
    const input = event.target;
    if (event.key !== "F2" || !(input instanceof HTMLInputElement) || !input.closest(".bubble")) return;
    event.preventDefault();
    document.dispatchEvent(new CustomEvent("rename-topics", { detail: { topics: [input.value] } }));
  });
  root.addEventListener("click", (event) => {
    const more = event.target instanceof Element ? event.target.closest("[data-topic-more]") : null;
    if (!(more instanceof HTMLElement)) return;
    const label = /** @type {HTMLElement | null} */ (more.closest("[data-label]"))?.dataset.label;
    if (!menu.hidden && opener === more) return close(true);
    const { left, bottom } = more.getBoundingClientRect();
    open(label ? [label] : panel.state.active, more, { x: left, y: bottom });
  });
  menu.addEventListener("click", (event) => {
    const deed = event.target instanceof Element ? event.target.closest("[data-topic-deed]") : null;
    if (!(deed instanceof HTMLElement)) return;
    close(true);
    document.dispatchEvent(new CustomEvent(deed.dataset.topicDeed ?? "", { detail: { topics } }));
  });
  menu.addEventListener("keydown", (event) => {
    const buttons = /** @type {HTMLElement[]} */ ([...menu.querySelectorAll("button:not([hidden])")]);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close(true);
    else if (step) {
      const at = buttons.indexOf(/** @type {HTMLElement} */ (document.activeElement));
      buttons[(at + step + buttons.length) % buttons.length].focus();
    }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  menu.addEventListener("focusout", (event) => {
    // Safari names no element when a button of the menu is pressed.
    const next = event.relatedTarget;
    if (next instanceof Node && next !== opener && !menu.contains(next)) close(false);
  });
  document.addEventListener("pointerdown", (event) => {
    const at = event.target instanceof Node ? event.target : null;
    if (!at || ![menu, opener].some((one) => one?.contains(at))) close(false);
  });
}
