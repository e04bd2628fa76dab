// @ts-check
/** Asks before something unusually large leaves the page, and takes back what has not left it. */

import { numbered } from "../lib/text.js";
import { recall, remember } from "../lib/memory.js";

const PATIENCE_MS = 1500;
const GROWTH = 1.5;

/**
 * Asks whether to send something this large; true if the user agrees.
 * @param {string} question
 * @param {string} words
 * @param {string} yes  The label of the button that agrees.
 * @returns {Promise<boolean>}
 */
export function asked(question, words, yes) {
  const dialog = document.createElement("dialog");
  dialog.className = "ask";
  const title = document.createElement("h2");
  Object.assign(title, { textContent: question, id: "ask-title" });
  dialog.setAttribute("aria-labelledby", "ask-title");
  const text = document.createElement("p");
  text.textContent = words;
  const buttons = document.createElement("form");
  buttons.method = "dialog";
  buttons.append(button("Cancel", ""), button(yes, "yes"));
  dialog.append(title, text, buttons);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

/** @param {string} label @param {string} value */
function button(label, value) {
  const element = document.createElement("button");
  Object.assign(element, { type: "submit", value, textContent: label });
  if (value) element.className = "primary";
  return element;
}

export class OutputGuard {
  #wire;
  #chatId;
  #isTakenBack = false;

  /** @param {import("../wire.js").Wire} wire @param {string} chatId */
  constructor(wire, chatId) {
    this.#wire = wire;
    this.#chatId = chatId;
  }

  /**
   * True if a message may be sent; asks first if it is unusually large. Stopping meanwhile takes it back.
   * @param {string} message
   * @param {Record<string, unknown>} attached  What goes with it, as `chat.send` takes it.
   */
  async allows(message, attached) {
    this.#isTakenBack = false;
    return (await this.#isWanted(message, attached)) && !this.#isTakenBack;
  }

  /** Stops the answer, or the message if it is not sent yet. */
  stop() {
    this.#isTakenBack = true;
    return this.#wire.call("chat.stop", { chat_id: this.#chatId });
  }

  /** @param {string} message @param {Record<string, unknown>} attached */
  async #isWanted(message, attached) {
    const preview = await this.#preview({ message, ...attached });
    if (!preview || !preview.ask_above || preview.tokens <= preview.ask_above) return true;
    const key = `sent-large:${this.#chatId}`;
    if (preview.tokens <= Number(recall("sessionStorage", key)) * GROWTH) return true;
    const parts = Object.entries(preview.parts)
      .filter(([, tokens]) => tokens)
      .map(([part, tokens]) => `${preview.part_names[part]} ${numbered(Number(tokens))}`);
    const words = `About ${numbered(preview.tokens)} tokens would be sent. ${parts.join(", ")}. Pick topics in the panel to send less.`;
    if (!(await asked("Send this much?", words, "Send"))) return false;
    remember("sessionStorage", key, String(preview.tokens));
    return true;
  }

  /** The preview, unless it takes too long: a warning is not worth a long wait. @param {Record<string, unknown>} written */
  #preview(written) {
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, null));
    const params = { chat_id: this.#chatId, brief: true, ...written };
    return Promise.race([this.#wire.call("smart_context.preview", params), late]).catch(() => null);
  }
}
