// @ts-check
/** Shows a whole request to the letter, as it would be sent now. */

import { counted } from "./parts.js";
import { copied } from "../../lib/copied.js";
import { reasonOf, visible } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

const SHOWN_CHARACTERS = 200_000;

/** @typedef {{ role: string, content: unknown, tool_calls?: unknown }} PromptMessage */

export class ExactText {
  #dialog;
  /** @type {readonly PromptMessage[]} */
  #prompt = [];

  /** @param {HTMLDialogElement} dialog */
  constructor(dialog) {
    this.#dialog = dialog;
    const copy = /** @type {HTMLElement | null} */ (dialog.querySelector("[data-copy]"));
    copy?.addEventListener("click", () => {
      copied(copy, JSON.stringify(this.#prompt, null, 2)).catch((error) => toast(reasonOf(error)));
    });
  }

  /** @param {() => Promise<{ prompt: PromptMessage[] }>} ask */
  async open(ask) {
    try {
      this.#prompt = (await ask()).prompt;
    } catch (error) {
      toast(`Couldn’t load the text: ${reasonOf(error)}`);
      return;
    }
    this.#dialog.querySelector(".exact-body")?.replaceChildren(...shown(this.#prompt));
    this.#dialog.showModal();
  }
}

/** @param {readonly PromptMessage[]} prompt */
function shown(prompt) {
  /** @type {HTMLElement[]} */
  const blocks = [];
  let room = SHOWN_CHARACTERS;
  for (const [at, message] of prompt.entries()) {
    if (room <= 0) {
      const left = prompt.length - at;
      blocks.push(element("p", `${counted(left)} more ${left === 1 ? "message" : "messages"}; Copy includes everything.`));
      break;
    }
    const text = textOf(message);
    const block = element("section", "");
    block.className = "exact-message";
    block.dataset.role = message.role;
    const isToCome = !text && at === prompt.length - 1;
    const words = isToCome ? element("p", "Your message goes here.") : element("pre", visible(text.slice(0, room)));
    words.dir = "auto";
    block.append(element("h3", message.role), words);
    blocks.push(block);
    if (text.length > room) blocks.push(element("p", "Only the beginning is shown; Copy includes everything."));
    room -= text.length;
  }
  return blocks;
}

/** @param {PromptMessage} message */
function textOf({ content, tool_calls: calls }) {
  const text = typeof content === "string" ? content : content ? JSON.stringify(content, null, 2) : "";
  return calls ? `${text}\n${JSON.stringify(calls, null, 2)}`.trim() : text;
}

/** @param {string} name @param {string} text */
function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}
