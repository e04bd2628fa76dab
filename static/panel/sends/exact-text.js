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

  /** @param {() => Promise<{ body: Body, prompt_tokens: number[], parts: Record<string, number> }>} ask */
  async open(ask) {
    let tokens, parts;
    try {
      ({ body: this.#body, prompt_tokens: tokens, parts } = await ask());
    } catch (error) {
      toast(`Couldn’t load the text: ${reasonOf(error)}`);
      return;
    }
    this.#dialog.querySelector(".exact-body")?.replaceChildren(...shown(this.#body.messages, tokens), ...fieldsOf(this.#body, parts.tools));
    this.#dialog.showModal();
  }
}

/** @param {readonly PromptMessage[]} prompt @param {readonly number[]} tokens  Of each. */
function shown(prompt, tokens) {
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
    const isToCome = !text && at === prompt.length - 1;
    const words = isToCome ? element("p", "Your message goes here.") : element("pre", visible(text.slice(0, room)));
    words.dir = "auto";
    const block = piece(message.role, words, isToCome ? undefined : tokens[at]);
    block.dataset.role = message.role;
    blocks.push(block);
    if (text.length > room) blocks.push(element("p", "Only the beginning is shown; Copy includes everything."));
    room -= text.length;
  }
  return blocks;
}

/**
 * What goes with the messages: the tools, then all other fields, which no model reads.
 * @param {Body} body @param {number} tokens  Of the tools.
 */
function fieldsOf({ messages: _, tools, ...others }, tokens) {
  return [
    ...(tools ? [field("tools", "Tools", tools, tokens)] : []),
    ...(Object.keys(others).length ? [field("others", "Other fields", others, 0)] : []),
  ];
}

/** @param {string} name @param {string} title @param {unknown} value @param {number} tokens */
function field(name, title, value, tokens) {
  const block = piece(title, element("pre", visible(JSON.stringify(value, null, 2).slice(0, SHOWN_CHARACTERS))), tokens);
  block.dataset.field = name;
  return block;
}

/** A piece of the request, with what it costs; it can be folded. @param {string} title @param {HTMLElement} text @param {number} [tokens] */
function piece(title, text, tokens) {
  const block = document.createElement("details");
  block.className = "exact-message";
  block.open = true;
  const head = document.createElement("summary");
  if (tokens !== undefined) head.dataset.tokens = counted(tokens, "token");
  head.append(element("h3", title));
  block.append(head, text);
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
