// @ts-check
/**
 * While a question is written: the topics that it is clearly about glow, and Tab asks with them only.
 * Where topics are picked and it is about another one, that can be added, picked alone, or ignored.
 */

import { isComposing } from "../../lib/composing.js";
import { newest } from "../../lib/newest.js";
import { counted, numbered, visible } from "../../lib/text.js";

const TYPING_MS = 450;
const SHORTEST = 8;

/**
 * @typedef {object} News
 * @property {string[]} topics  What the draft is clearly about, while nothing is picked.
 * @property {number} tokens  What asking with these alone takes.
 * @property {number} all  What it takes without a filter.
 * @property {{ label: string, count: number } | null} [elsewhere]  Its topic, where that is not picked.
 */

/** @param {Omit<import("./foresight.js").Page, "box"> & { box: HTMLTextAreaElement }} page */
export function startTopicHint({ root, wire, chatId, panel, box }) {
  const line = box.form?.querySelector(".topic-hint");
  if (!(line instanceof HTMLElement)) return;
  /** @type {string[]} */
  let meant = [];
  /** The topic that the draft sounds like; empty while that is not said. */
  let shown = "";
  let dismissed = "";

  const hide = () => {
    wish.forget();
    meant = [];
    shown = "";
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

  const sendAnyway = () => {
    hide();
    box.form?.dispatchEvent(new CustomEvent("send-anyway"));
  };

  /** @param {News} news */
  const show = ({ topics, tokens, all, elsewhere }) => {
    const { active } = panel.state;
    if (elsewhere && shown === elsewhere.label) return;
    hide();
    if (elsewhere) {
      shown = elsewhere.label;
      meant = [...active, shown];
      const only = () => {
        meant = [elsewhere.label];
        pick();
      };
      line.append(...warning(elsewhere, { Add: pick, "Only that": only, "Send anyway": sendAnyway }));
      line.hidden = false;
      return;
    }
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

  /** What the message is about, and what it would cost. @param {string} message @returns {Promise<News>} */
  const ask = async (message) => {
    const { topics, elsewhere } = await wire.call("smart_context.suggest_topics", { chat_id: chatId, message });
    if (panel.state.active.length) return { topics: [], tokens: 0, all: 0, elsewhere };
    if (!topics.length) return { topics, tokens: 0, all: 0 };
    const asked = { chat_id: chatId, message, topics, brief: true };
    const { tokens, unfiltered: all } = await wire.call("smart_context.preview", asked);
    return { topics, tokens, all };
  };

  const refresh = () => {
    const written = box.value.trim();
    const { active, topics, isOn } = panel.state;
    const isOpen = wire.isOpen && isOn && topics.length > active.length && topics.length > 1;
    if (!isOpen || written.length < SHORTEST || written.startsWith("/")) return hide();
    if (dismissed && written.startsWith(dismissed)) return;
    dismissed = "";
    wish.ask(() => ask(written));
  };

  box.addEventListener("input", refresh);
  box.form?.addEventListener("submit", hide);
  document.addEventListener("panel-changed", refresh);
  box.addEventListener("keydown", (event) => {
    if (line.hidden || isComposing(event) || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
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

/**
 * The words and buttons for a draft that is off the pick.
 * @param {{ label: string, count: number }} topic @param {Record<string, () => void>} deeds  By what their buttons say.
 */
function warning({ label, count }, deeds) {
  const words = document.createElement("span");
  const name = document.createElement("b");
  name.dir = "auto";
  name.textContent = visible(label);
  words.append("This sounds like ", name, ` (${counted(count, "message")}).`);
  const buttons = Object.entries(deeds).map(([says, deed], place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = says;
    if (!place) button.setAttribute("aria-keyshortcuts", "Tab");
    button.addEventListener("click", deed);
    return button;
  });
  return [words, ...buttons];
}
