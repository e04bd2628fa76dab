// @ts-check
/** The Receipts tab: what each turn of the chat was given. */

import { clone } from "../lib/from-template.js";
import { counted, money, numbered, reasonOf, visible } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/**
 * @typedef {object} Summary
 * @property {string} turn
 * @property {string} at
 * @property {string} text  The question's first words; empty if it is gone.
 * @property {string} outcome
 * @property {string[]} topics
 * @property {number} in
 * @property {number} total
 * @property {number} tokens
 * @property {boolean} was_sent
 * @property {import("./sends/cost.js").Cost} cost
 * @property {{ price: number | null } | null} spent
 */

/** @param {HTMLElement} root @param {import("../wire.js").Wire} wire @param {string} chatId */
export function startReceipts(root, wire, chatId) {
  const refresh = async () => {
    if (root.hidden || !wire.isOpen) return;
    try {
      show(root, chatId, (await wire.call("smart_context.receipts", { chat_id: chatId })).receipts);
    } catch (error) {
      toast(`Couldn’t load the receipts: ${reasonOf(error)}`);
    }
  };
  new MutationObserver(refresh).observe(root, { attributeFilter: ["hidden"] });
  wire.on("smart_context.receipt_kept", (news) => news.chat_id === chatId && refresh());
  wire.onStatus((status) => status === "open" && refresh());
}

/** @param {HTMLElement} root @param {string} chatId @param {readonly Summary[]} receipts */
function show(root, chatId, receipts) {
  root.querySelector(".nothing")?.toggleAttribute("hidden", receipts.length > 0);
  root.querySelector(".receipt-list")?.replaceChildren(...receipts.map((receipt) => entry(chatId, receipt)));
}

/** @param {string} chatId @param {Summary} receipt */
function entry(chatId, receipt) {
  const line = clone("receipt-template");
  const link = /** @type {HTMLAnchorElement} */ (line.querySelector("a"));
  link.href = `/chats/${encodeURIComponent(chatId)}/turns/${encodeURIComponent(receipt.turn)}`;
  const [question, facts] = /** @type {NodeListOf<HTMLElement>} */ (link.querySelectorAll("span"));
  question.textContent = visible(receipt.text) || "A question that is no longer in the chat";
  facts.textContent = [
    when(receipt.at),
    ...(receipt.was_sent ? sentBy(receipt) : receipt.outcome === "failed" ? [] : ["nothing sent"]),
    receipt.spent?.price ? money(receipt.spent.price, receipt.cost.price?.currency ?? "") : "",
    receipt.topics.map(visible).join(", "),
    receipt.outcome === "finished" ? "" : receipt.outcome,
  ].filter(Boolean).join(" · ");
  return line;
}

/** What a turn sent, in words. @param {Summary} receipt */
function sentBy(receipt) {
  const messages = receipt.total ? `${numbered(receipt.in)} of ${numbered(receipt.total)} messages` : "no earlier messages";
  return [messages, counted(receipt.tokens, "token")];
}

/** @param {string} at */
function when(at) {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date().toDateString();
  return Number.isNaN(time.valueOf()) ? "" : time.toLocaleString([], isToday ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}
