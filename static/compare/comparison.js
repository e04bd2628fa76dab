// @ts-check
/** Two answers to one question side by side, with what each was sent. */

import { LiveAnswer } from "../messages/answers/live-answer.js";
import { find } from "../lib/find.js";
import { messagesCounted, reasonOf, visible } from "../lib/text.js";
import { toast } from "../lib/toasts.js";
import { about, costInWords } from "../panel/sends/cost.js";

/** @typedef {"left" | "right"} Side */
/**
 * @typedef {object} Wish
 * @property {string} question
 * @property {Record<Side, string>} names  What people read above each answer.
 * @property {Record<string, unknown>} params  Of the command.
 * @property {(side: Side) => unknown} kept  Called once an answer is in the chat.
 */

const SIDES = /** @type {const} */ (["left", "right"]);
const SHOWN = 20;

export class ComparisonDialog {
  #dialog;
  #wire;
  #chatId;
  #id = "";
  #isRunning = false;
  /** @type {Partial<Record<Side, LiveAnswer>>} */
  #answers = {};
  /** @type {(side: Side) => unknown} */
  #kept = () => undefined;

  /** @param {HTMLDialogElement} dialog @param {import("../wire.js").Wire} wire @param {string} chatId */
  constructor(dialog, wire, chatId) {
    this.#dialog = dialog;
    this.#wire = wire;
    this.#chatId = chatId;
  }

  start() {
    this.#wire.on("smart_context.comparison", (news) => news.chat_id === this.#chatId && this.#hear(news));
    this.#dialog.addEventListener("click", ({ target }) => {
      const button = target instanceof Element ? target.closest("button") : null;
      if (target === this.#dialog) this.#dialog.close();
      if (button?.hasAttribute("data-stop")) this.#stop();
      if (button?.dataset.keep) this.#keep(/** @type {Side} */ (button.dataset.keep));
    });
    this.#dialog.addEventListener("close", () => this.#stop());
  }

  /** Asks, and shows both answers as they come. @param {Wish} wish */
  async ask({ question, names, params, kept }) {
    if (this.#isRunning) return;
    this.#begin(question, names);
    this.#kept = kept;
    try {
      const found = await this.#wire.call("smart_context.compare", { chat_id: this.#chatId, ...params });
      this.#id = found.comparison_id;
      for (const side of SIDES) this.#show(side, found[side], found[`only_${side}`]);
      const lacking = SIDES.filter((side) => found[side].error || found[side].stopped);
      this.#tell(lacking.length ? `Incomplete: ${lacking.map((side) => names[side]).join(", ")}` : "Both answers are complete.");
    } catch (error) {
      for (const side of SIDES) this.#fail(side, reasonOf(error));
    } finally {
      this.#setRunning(false);
    }
  }

  /** @param {string} question @param {Record<Side, string>} names */
  #begin(question, names) {
    this.#id = "";
    find(".comparison-question", this.#dialog).textContent = visible(question);
    for (const side of SIDES) {
      const column = this.#column(side);
      column.querySelector(".body")?.replaceChildren();
      this.#part(side, "h3").textContent = names[side];
      this.#part(side, ".comparison-facts").textContent = "Asking…";
      for (const part of [".comparison-error", ".comparison-only"]) this.#part(side, part).hidden = true;
      this.#button(side).disabled = true;
      this.#answers[side] = new LiveAnswer(column);
    }
    this.#setRunning(true);
    this.#tell("Asking twice.");
    this.#dialog.showModal();
  }

  /** @param {{ comparison_id: string, side: Side, offset: number, text: string }} news */
  #hear({ comparison_id: id, side, offset, text }) {
    if (!this.#isRunning || (this.#id && id !== this.#id)) return;
    this.#id = id;
    if (text) this.#part(side, ".comparison-facts").textContent = "Answering…";
    this.#answers[side]?.add(offset, text);
  }

  /** @param {Side} side @param {any} answer @param {readonly string[]} only */
  #show(side, answer, only) {
    this.#answers[side]?.add(0, answer.text);
    const { receipt, seconds } = answer;
    const price = receipt?.spent?.price;
    const paid = price ? `${about(price, receipt.cost.price.currency)} with the answer` : "";
    const facts = receipt ? [costInWords({ ...receipt.cost, price: undefined }), paid] : [];
    if (seconds !== null) facts.push(`${seconds.toFixed(1)} s`);
    if (answer.stopped) facts.push("stopped");
    this.#part(side, ".comparison-facts").textContent = facts.filter(Boolean).join(" · ") || "Nothing was sent.";
    if (answer.error) this.#fail(side, answer.error);
    this.#button(side).disabled = !answer.text;
    const rows = new Map((receipt?.messages ?? []).map((/** @type {any} */ row) => [row.id, row.text]));
    const details = this.#part(side, ".comparison-only");
    details.hidden = !only.length;
    this.#part(side, "summary").textContent = `${messagesCounted(only.length)} only here`;
    const lines = only.slice(0, SHOWN).map((id) => line(visible(rows.get(id) || "(no text)")));
    if (only.length > SHOWN) lines.push(line(`and ${only.length - SHOWN} more`));
    this.#part(side, "ul").replaceChildren(...lines);
  }

  /** @param {Side} side @param {string} reason */
  #fail(side, reason) {
    const notice = this.#part(side, ".comparison-error");
    notice.textContent = reason;
    notice.hidden = false;
    if (this.#part(side, ".comparison-facts").textContent === "Asking…") this.#part(side, ".comparison-facts").textContent = "";
  }

  /** @param {Side} side */
  async #keep(side) {
    this.#button(side).disabled = true;
    try {
      await this.#wire.call("smart_context.keep_answer", { comparison_id: this.#id, side });
      this.#dialog.close();
      toast("The answer is in the chat.");
      this.#kept(side);
    } catch (error) {
      this.#fail(side, reasonOf(error));
      this.#button(side).disabled = false;
    }
  }

  #stop() {
    if (this.#isRunning) this.#wire.call("chat.stop", { chat_id: this.#chatId }).catch((error) => toast(reasonOf(error)));
  }

  /** @param {boolean} isRunning */
  #setRunning(isRunning) {
    this.#isRunning = isRunning;
    for (const side of SIDES) this.#column(side).toggleAttribute("data-generating", isRunning);
    const stop = find("[data-stop]", this.#dialog);
    const goes = !isRunning && stop === document.activeElement;
    stop.hidden = !isRunning;
    if (goes) (SIDES.map((side) => this.#button(side)).find(({ disabled }) => !disabled) ?? find("form button", this.#dialog)).focus();
  }

  /** @param {string} words */
  #tell(words) {
    find("[data-told]", this.#dialog).textContent = words;
  }

  /** @param {Side} side */
  #column(side) {
    return find(`[data-side=${side}]`, this.#dialog);
  }

  /** @param {Side} side @param {string} selector */
  #part(side, selector) {
    return /** @type {HTMLElement} */ (this.#column(side).querySelector(selector));
  }

  /** @param {Side} side */
  #button(side) {
    return /** @type {HTMLButtonElement} */ (this.#part(side, "[data-keep]"));
  }
}

/** @param {string} words */
function line(words) {
  const entry = document.createElement("li");
  entry.dir = "auto";
  entry.textContent = words;
  return entry;
}
