// @ts-check
/** Shows a whole request to the letter, as it would be sent now. */

import { copied } from "../../lib/copied.js";
import { counted, reasonOf, visible } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";

const SHOWN_CHARACTERS = 200_000;

/** @typedef {{ role: string, content: unknown, tool_calls?: unknown }} PromptMessage */
/** @typedef {{ messages: PromptMessage[], tools?: unknown } & Record<string, unknown>} Body */

export class ExactText {
  #dialog;
  /** @type {Body} */
  #body = { messages: [] };

  /** @param {HTMLDialogElement} dialog */
  constructor(dialog) {
    this.#dialog = dialog;
    const copy = /** @type {HTMLElement | null} */ (dialog.querySelector("[data-copy]"));
    copy?.addEventListener("click", () => {
      copied(copy, JSON.stringify(this.#body, null, 2)).catch((error) => toast(reasonOf(error)));
    });
  }

  /** @param {() => Promise<{ body: Body }>} ask */
  async open(ask) {
    try {
      this.#body = (await ask()).body;
    } catch (error) {
      toast(`Couldn’t load the text: ${reasonOf(error)}`);
      return;
    }
    this.#dialog.querySelector(".exact-body")?.replaceChildren(...shown(this.#body.messages), ...fieldsOf(this.#body));
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
      blocks.push(element("p", `${counted(left, "more message")}; Copy includes everything.`));
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

/**
 * What goes with the messages: the tools, then all other fields.
 * @param {Body} body
 */
function fieldsOf({ messages: _, tools, ...others }) {
  return [
    ...(tools ? [field("tools", "Tools", tools)] : []),
    ...(Object.keys(others).length ? [field("others", "Other fields", others)] : []),
  ];
}

/** @param {string} name @param {string} title @param {unknown} value */
function field(name, title, value) {
  const block = element("section", "");
  block.className = "exact-message";
  block.dataset.field = name;
  block.append(element("h3", title), element("pre", visible(JSON.stringify(value, null, 2).slice(0, SHOWN_CHARACTERS))));
  return block;
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
