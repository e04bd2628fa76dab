// @ts-check
/** While a question is written: the topics that it is clearly about glow, and Tab asks with them only. */

import { newest } from "../../lib/newest.js";
import { numbered, visible } from "../../lib/text.js";

const TYPING_MS = 450;
const SHORTEST = 8;

/** @param {Omit<import("./foresight.js").Page, "box"> & { box: HTMLTextAreaElement }} page */
export function startTopicHint({ root, wire, chatId, panel, box }) {
  const line = box.form?.querySelector(".topic-hint");
  if (!(line instanceof HTMLElement)) return;
  /** @type {string[]} */
  let meant = [];
  let dismissed = "";

  const hide = () => {
    wish.forget();
    meant = [];
    line.hidden = true;
    line.replaceChildren();
    for (const bubble of root.querySelectorAll("[data-meant]")) bubble.removeAttribute("data-meant");
  };

  const pick = () => {
    const labels = meant;
    hide();
    box.focus();
    panel.pick(labels);
  };

  /** @param {{ topics: string[], tokens: number, all: number }} news */
  const show = ({ topics, tokens, all }) => {
    hide();
    if (!topics.length || tokens >= all) return;
    meant = topics;
    for (const bubble of root.querySelectorAll(".bubble")) {
      const label = bubble.querySelector("input")?.value ?? "";
      bubble.toggleAttribute("data-meant", topics.includes(label));
    }
    line.append(offer(topics, tokens, all, pick));
    line.hidden = false;
  };
  const wish = newest(TYPING_MS, show, hide);

  /** What the message is about, and what it would cost. @param {string} message */
  const ask = async (message) => {
    const { topics } = await wire.call("smart_context.suggest_topics", { chat_id: chatId, message });
    if (!topics.length) return { topics, tokens: 0, all: 0 };
    const asked = { chat_id: chatId, message, topics, brief: true };
    const { tokens, unfiltered: all } = await wire.call("smart_context.preview", asked);
    return { topics, tokens, all };
  };

  const refresh = () => {
    const written = box.value.trim();
    const { active, topics, isOn } = panel.state;
    const isOpen = wire.isOpen && isOn && !active.length && topics.length > 1;
    if (!isOpen || written.length < SHORTEST || written.startsWith("/")) return hide();
    if (dismissed && written.startsWith(dismissed)) return;
    dismissed = "";
    wish.ask(() => ask(written));
  };

  box.addEventListener("input", refresh);
  box.form?.addEventListener("submit", hide);
  document.addEventListener("panel-changed", refresh);
  box.addEventListener("keydown", (event) => {
    if (line.hidden || event.isComposing || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.key === "Escape") {
      dismissed = box.value.trim();
      hide();
    } else if (event.key === "Tab") pick();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

/**
 * The button that asks with some topics only.
 * @param {string[]} topics @param {number} tokens @param {number} all @param {() => void} pick
 */
function offer(topics, tokens, all, pick) {
  const button = document.createElement("button");
  button.type = "button";
  const key = document.createElement("kbd");
  key.textContent = "Tab";
  const names = document.createElement("b");
  names.dir = "auto";
  names.textContent = visible(topics.join(" and "));
  const costs = `only: ${numbered(tokens)} instead of ${numbered(all)} tokens`;
  button.append(key, " Ask with ", names, ` ${costs}`);
  button.addEventListener("click", pick);
  return button;
}
