// @ts-check
/** Gives each answer the link to its receipt, if there is one. */

import { messagesIn } from "../lib/reconcile.js";
import { WhatItKnew } from "./knew.js";

export class ReceiptLinks {
  #list;
  #wire;
  #chatId;
  /** @type {Set<string>} */
  #answers = new Set();
  #knew;

  /** @param {HTMLElement} list  Holds the messages. @param {import("../wire.js").Wire} wire @param {string} chatId */
  constructor(list, wire, chatId) {
    this.#list = list;
    this.#wire = wire;
    this.#chatId = chatId;
    this.#knew = new WhatItKnew(wire, chatId);
  }

  start() {
    this.#knew.start(this.#list);
    this.#wire.on("smart_context.receipt_kept", (news) => news.chat_id === this.#chatId && this.#refresh());
    this.#wire.onStatus((status) => status === "open" && this.#refresh());
  }

  /** Handles messages that are new on the page. @param {readonly HTMLElement[]} messages */
  show(messages) {
    for (const message of messages) {
      const link = /** @type {HTMLAnchorElement | null} */ (message.querySelector("a[data-receipt]"));
      const id = message.dataset.messageId ?? "";
      if (!link || !link.hidden || !this.#answers.has(id)) continue;
      link.href = `/chats/${encodeURIComponent(this.#chatId)}/turns/${encodeURIComponent(id)}`;
      link.hidden = false;
      if (!("extracted" in message.dataset)) this.#knew.watch(message);
    }
  }

  /** Fails silently: the chat is complete without the links. */
  async #refresh() {
    const { turns } = await this.#wire.call("smart_context.turns", { chat_id: this.#chatId }).catch(() => ({ turns: [] }));
    this.#answers = new Set(turns.map((/** @type {{ answer: string }} */ { answer }) => answer));
    this.show(messagesIn(this.#list));
  }
}
