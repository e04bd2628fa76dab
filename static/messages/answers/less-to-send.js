// @ts-check
/** Of a request that was too long for the model: the topics that fit, each a click from being asked with. */

import { newest } from "../../lib/newest.js";
import { numbered, reasonOf, visible } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { answerAgain, questionOf } from "../list/versions.js";

/** The share of a window that a request takes at most; the answer needs the rest. */
const FILLED = 0.9;
const MOST_ASKED = 8;
const MOST_SHOWN = 3;

/**
 * @typedef {object} Offer
 * @property {string} label
 * @property {number} tokens  What asking with this topic alone takes.
 */

/**
 * Shows the topics below a failed answer whenever the panel shows news; what was too long is at the end of the chat.
 * @param {HTMLElement} list  The messages.
 * @param {import("../list/message-actions.js").Page} page
 */
export function startLessToSend(list, page) {
  const { wire, chatId, panel } = page;
  const wish = newest(0, (/** @type {() => void} */ show) => show());
  const refresh = () => {
    const place = list.querySelector(".message:last-of-type .less-to-send");
    const message = /** @type {HTMLElement | null} */ (place?.closest("[data-message-id]") ?? null);
    if (!(place instanceof HTMLElement) || !message || !panel?.state.isOn || !wire.isOpen) return;
    const { active, topics } = panel.state;
    const others = topics.map(({ label }) => label).filter((label) => active.length !== 1 || active[0] !== label);
    const question = questionOf(message).querySelector(".body")?.textContent?.trim() ?? "";
    wish.ask(async () => {
      const offers = await fitting(wire, chatId, question, others);
      return () => place.replaceChildren(...offers.map((each) => button(each, () => ask(each.label, message))));
    });
  };

  /** @param {string} label @param {HTMLElement} message */
  const ask = async (label, message) => {
    try {
      if (await panel?.pick([label])) await answerAgain(message, page);
    } catch (error) {
      toast(reasonOf(error));
    }
  };

  document.addEventListener("panel-changed", refresh);
}

/**
 * The topics with which the request fits: first what the question is clearly about.
 * @param {import("../../wire.js").Wire} wire
 * @param {string} chatId
 * @param {string} message
 * @param {readonly string[]} labels
 * @returns {Promise<Offer[]>}
 */
async function fitting(wire, chatId, message, labels) {
  const { topics, elsewhere } = await wire.call("smart_context.suggest_topics", { chat_id: chatId, message });
  const meant = [...topics, ...(elsewhere ? [elsewhere.label] : [])].filter((label) => labels.includes(label));
  const asked = [...new Set([...meant, ...labels])].slice(0, MOST_ASKED);
  const costs = await Promise.all(asked.map(async (label) => {
    const params = { chat_id: chatId, message, topics: [label], brief: true };
    const { tokens, unfiltered, window } = await wire.call("smart_context.preview", params);
    return { label, tokens, most: FILLED * (window ?? unfiltered) };
  }));
  return costs.filter(({ tokens, most }) => tokens <= most).slice(0, MOST_SHOWN);
}

/** @param {Offer} offer @param {() => void} ask */
function button({ label, tokens }, ask) {
  const made = document.createElement("button");
  made.type = "button";
  const name = document.createElement("b");
  name.dir = "auto";
  name.textContent = visible(label);
  made.append(name, ` ${numbered(tokens)} tokens`);
  made.addEventListener("click", ask);
  return made;
}
