// @ts-check
/** Asks before something unusually large leaves the page. */

import { counted } from "./context-draft.js";
import { recall, remember } from "./memory.js";

const PATIENCE_MS = 1500;
const GROWTH = 1.5;

/**
 * Whether the user wants it, after having been told how large it is.
 * @param {string} question
 * @param {string} words
 * @param {string} yes  What the button says that goes on.
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

  /** @param {import("./wire.js").Wire} wire @param {string} chatId */
  constructor(wire, chatId) {
    this.#wire = wire;
    this.#chatId = chatId;
  }

  /**
   * Whether a message may be sent; asks if that would send unusually much.
   * @param {string} message
   * @param {Record<string, unknown>} attached  What goes with it, as `chat.send` takes it.
   */
  async allows(message, attached) {
    const weight = await this.#weigh({ message, ...attached });
    if (!weight || !weight.ask_above || weight.tokens <= weight.ask_above) return true;
    const key = `sent-large:${this.#chatId}`;
    if (weight.tokens <= Number(recall("sessionStorage", key)) * GROWTH) return true;
    const parts = [["the chat", weight.history], ["its role", weight.role], ["attached notes", weight.contexts], ["attached files", weight.attachments]]
      .filter(([, tokens]) => tokens)
      .map(([name, tokens]) => `${counted(Number(tokens))} of ${name}`);
    const words = `About ${counted(weight.tokens)} tokens would be sent${parts.length ? `: ${parts.join(", ")}` : ""}. Picking topics in the panel makes it less.`;
    if (!(await asked("Send this much?", words, "Send"))) return false;
    remember("sessionStorage", key, String(weight.tokens));
    return true;
  }

  /** Nobody waits long for a warning. @param {Record<string, unknown>} written */
  #weigh(written) {
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, null));
    const weighed = this.#wire.call("smart_context.weigh", { chat_id: this.#chatId, ...written });
    return Promise.race([weighed, late]).catch(() => null);
  }
}
