// @ts-check
/**
 * The keys to the tools of messages. Of all messages only one has Tab stops: that whose tools had
 * the focus last while it is in view, else the lowest one in view. Arrows lead to the others.
 */

import { isInView, messagesInView } from "./messages-in-view.js";

const TOOLBARS = ".actions, .code-actions";
const TOOLS = `:is(${TOOLBARS}) > :is(button, a)`;
const WITHOUT_TOOLS = "[data-folded], [data-generating], [data-editing]";
const STEPS = /** @type {Record<string, number>} */ ({ ArrowUp: -1, ArrowDown: 1, ArrowLeft: -1, ArrowRight: 1 });

/** Takes the tools of a message out of the order of Tab. @param {Element} message */
export function takeFromTabOrder(message) {
  for (const tool of toolsIn(message)) tool.tabIndex = -1;
}

/** @param {HTMLElement} scroll  Holds the messages, and can have the focus. */
export function startToolKeys(scroll) {
  /** @type {HTMLElement | null} */
  let current = null;
  /** @param {HTMLElement | null} message @param {HTMLElement} [tool]  The stop of its toolbar; else the first one. */
  const makeStop = (message, tool) => {
    if (current && current !== message) takeFromTabOrder(current);
    current = message;
    for (const bar of message?.querySelectorAll(TOOLBARS) ?? []) {
      const tools = shownIn(bar);
      const wanted = tools.find((one) => one === (tool ?? document.activeElement));
      const stop = wanted ?? tools.find((one) => one.tabIndex === 0 && !tool) ?? tools[0];
      for (const one of tools) one.tabIndex = one === stop ? 0 : -1;
    }
  };
  const choose = () => {
    const isThere = current?.isConnected && !current.matches(WITHOUT_TOOLS) && isInView(scroll, current);
    makeStop(isThere ? current : lowestIn(scroll));
  };
  // Before the focus comes in: what is in view changes too often to follow it.
  document.addEventListener("keydown", ({ key, target }) => {
    if (key === "Tab" && !messageOf(/** @type {Element} */ (target))) choose();
  }, { capture: true });
  scroll.addEventListener("focusin", ({ target }) => {
    const tool = /** @type {HTMLElement} */ (target);
    if (tool.matches(TOOLS)) makeStop(messageOf(tool), tool);
  });
  scroll.addEventListener("keydown", (event) => {
    const goal = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey ? null : goalOf(event);
    if (!goal) return;
    event.preventDefault();
    goal.focus();
  });
  /** @param {KeyboardEvent} event @returns {HTMLElement | undefined | null} */
  const goalOf = ({ key, target }) => {
    const from = /** @type {HTMLElement} */ (target);
    if (from === scroll && key === "Enter") {
      choose();
      return current && shownIn(current.querySelector(".actions"))[0];
    }
    const step = STEPS[key];
    if (!step || !from.matches(`${TOOLS}, .fold`)) return null;
    if (key === "ArrowUp" || key === "ArrowDown") return counterpart(from, scroll, step);
    const tools = shownIn(from.closest(TOOLBARS));
    return tools.at((tools.indexOf(from) + step) % tools.length);
  };
}

/** The same tool of the next message, or the line of messages that are not sent before it. @param {HTMLElement} from @param {HTMLElement} scroll @param {number} step */
function counterpart(from, scroll, step) {
  const places = /** @type {HTMLElement[]} */ ([...scroll.querySelectorAll(`[data-message-id]:not(${WITHOUT_TOOLS}), .fold`)]);
  const next = places[places.indexOf(messageOf(from) ?? from) + step];
  if (!next || next.matches(".fold")) return next;
  const tools = shownIn(next.querySelector(".actions"));
  return tools.find(({ title }) => title === from.title) ?? tools[0];
}

/** @param {Element | null} parent @returns {HTMLElement[]} */
function toolsIn(parent) {
  return [.../** @type {NodeListOf<HTMLElement>} */ (parent?.querySelectorAll(TOOLS) ?? [])];
}

/** The tools that can be pressed. @param {Element | null} toolbar */
function shownIn(toolbar) {
  return toolsIn(toolbar).filter((tool) => !tool.hidden);
}

/** The lowest message whose head is in view, else the one that fills the view. @param {HTMLElement} scroll */
function lowestIn(scroll) {
  const { top } = scroll.getBoundingClientRect();
  const seen = messagesInView(scroll).filter(({ message }) => !message.matches(WITHOUT_TOOLS));
  const heads = seen.filter((one) => one.top >= top).sort((a, b) => b.top - a.top);
  return (heads[0] ?? seen[0])?.message ?? null;
}

/** @param {Element} part @returns {HTMLElement | null} */
function messageOf(part) {
  return part.closest("[data-message-id]");
}
