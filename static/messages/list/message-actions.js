// @ts-check
/** The actions of a message: copy, edit, answer again, show another version, pin, hide. */

import { chooseModel } from "../../frame/model-choice.js";
import { isComposing } from "../../lib/composing.js";
import { copied } from "../../lib/copied.js";
import { fit } from "../../lib/fitting.js";
import { clone } from "../../lib/from-template.js";
import { fetchText } from "../../lib/fragments.js";
import { recall, remember } from "../../lib/memory.js";
import { reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { openMade } from "../chat-menu.js";
import { makeLinks } from "../note-sheet.js";
import { actOnCode, equipCode } from "./code-block.js";
import { takeFromTabOrder } from "./tool-keys.js";
import { answerAgain, questionOf, showVersion } from "./versions.js";

/** What asks for the rest of an answer that was stopped. */
const GO_ON = "Please go on where you stopped.";

/**
 * @typedef {object} Page
 * @property {import("../../wire.js").Wire} wire
 * @property {string} chatId
 * @property {import("../../panel/topics/topics-panel.js").TopicsPanel | null} panel
 * @property {(id: string, top?: number) => Promise<HTMLElement | null>} show  Gets the messages from the server and shows one, at that place in the window.
 * @property {(words: string) => void} announce
 * @property {(text: string) => Promise<unknown>} ask  Sends a message.
 */

/** Gives messages that are new on the page their buttons. @param {readonly HTMLElement[]} messages */
export function equip(messages) {
  for (const message of messages) {
    if (!message.querySelector(".actions")) message.append(actionsFor(message));
    equipCode(message);
    takeFromTabOrder(message);
    makeLinks(message);
    for (const time of message.querySelectorAll("time")) showTime(time);
  }
}

/** Listens to the buttons of all messages. @param {HTMLElement} list @param {Page} page */
export function listen(list, page) {
  list.addEventListener("click", (event) => {
    const pressed = event.target instanceof Element ? event.target.closest("button") : null;
    if (!pressed) return;
    if (pressed.dataset.code) actOnCode(pressed).catch((error) => toast(reasonOf(error)));
    const message = /** @type {HTMLElement | null} */ (pressed.closest("[data-message-id]"));
    if (message && pressed.dataset.action) act(pressed.dataset.action, pressed, message, page);
  });
  for (const time of list.querySelectorAll(".versions time")) showTime(/** @type {HTMLTimeElement} */ (time));
}

/**
 * @param {string} action
 * @param {HTMLButtonElement} pressed
 * @param {HTMLElement} message
 * @param {Page} page
 */
async function act(action, pressed, message, page) {
  const { wire, chatId, panel } = page;
  const id = message.dataset.messageId ?? "";
  const isPressed = pressed.getAttribute("aria-pressed") === "true";
  try {
    if (action === "copy") await copied(pressed, sourceOf(chatId, id));
    if (action === "edit") edit(message, await sourceOf(chatId, id), async (text, asks) => {
      if (asks) await answerAgain(message, page, { text });
      else await wire.call("chat.edit", { chat_id: chatId, message_id: id, text });
    });
    if (action === "regenerate" || action === "what-fits") {
      await answerAgain(message, page, { ...changedText(questionOf(message)), ...(action === "what-fits" ? { what_fits: true } : {}) });
      focusBox();
    }
    if (action === "other-model") {
      const use = async (/** @type {{ model: string }} */ { model }) => answerAgain(message, page, { ...changedText(questionOf(message)), model });
      await chooseModel({ wire, title: "Ask another model", current: await modelInUse(wire, chatId), isOther: true, use });
    }
    if (action === "go-on") await page.ask(GO_ON);
    if (action === "branch") await openMade(wire, "memory.fork", { chat_id: chatId, message_id: id, topics: [...(panel?.state.active ?? [])] });
    if (action === "version") await showVersion(pressed, message, page);
    if (action === "about") document.dispatchEvent(new CustomEvent("assign-messages", { detail: { ids: exchangeOf(message) } }));
    if (action === "pin") await panel?.mark(isPressed ? "release" : "pin", [id]);
    if (action === "hide") await panel?.mark(isPressed ? "release" : "hide", [id]);
  } catch (error) {
    toast(reasonOf(error));
  }
}

/** The ids of a message and, of a question, those of its answers. @param {HTMLElement} message */
export function exchangeOf(message) {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-message-id]")]);
  const rest = message.dataset.role === "user" ? all.slice(all.indexOf(message) + 1) : [];
  const next = rest.findIndex(({ dataset }) => dataset.role === "user");
  return [message, ...(next < 0 ? rest : rest.slice(0, next))].map(({ dataset }) => dataset.messageId ?? "");
}

/** The model that answers in this chat, as a choice. @param {import("../../wire.js").Wire} wire @param {string} chatId */
async function modelInUse(wire, chatId) {
  return (await wire.call("system.status", { chat_id: chatId })).chat_choice;
}

/** The text in the form of a message that is being edited, if it was changed. @param {HTMLElement} message */
function changedText(message) {
  const box = message.querySelector("textarea");
  const text = box?.value.trim();
  return text && text !== box?.defaultValue.trim() ? { text } : {};
}

/** What was written in place of a text; empty if that has changed since. @param {string} text @param {string} kept */
function writtenOver(text, kept) {
  try {
    const [before, words] = JSON.parse(kept);
    return before === text ? String(words) : "";
  } catch {
    return "";
  }
}

/**
 * Replaces a message with a form until the user saves or cancels. What was written is there again
 * after Escape or a reload.
 * @param {HTMLElement} message
 * @param {string} text
 * @param {(text: string, asks: boolean) => Promise<unknown>} save  Told whether to answer again.
 */
function edit(message, text, save) {
  if (message.querySelector(".edit")) return;
  const form = /** @type {HTMLFormElement} */ (clone("edit-template"));
  const box = /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea"));
  const key = `edit:${location.pathname}:${message.dataset.messageId}`;
  const close = () => {
    form.remove();
    message.removeAttribute("data-editing");
    /** @type {HTMLElement | null} */ (message.querySelector("[data-action=edit]"))?.focus();
  };
  box.defaultValue = text;
  box.value = writtenOver(text, recall("sessionStorage", key)) || text;
  box.setSelectionRange(box.value.length, box.value.length);
  message.setAttribute("data-editing", "");
  message.append(form);
  fit(box);
  box.focus();
  form.scrollIntoView({ block: "nearest" });
  box.addEventListener("input", () => {
    fit(box);
    remember("sessionStorage", key, JSON.stringify([text, box.value]));
  });
  form.querySelector("[data-cancel]")?.addEventListener("click", () => {
    remember("sessionStorage", key, "");
    close();
  });
  form.addEventListener("keydown", (event) => {
    // While an input method composes, Enter chooses characters.
    if (isComposing(event)) return;
    const isEnter = event.key === "Enter" && event.target === box && !event.shiftKey;
    if (!isEnter && event.key !== "Escape") return;
    event.preventDefault();
    if (isEnter) form.requestSubmit(/** @type {HTMLElement | null} */ (form.querySelector("[data-ask]")));
    else close();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const words = box.value.trim();
    if (!words) return;
    try {
      const asks = event.submitter?.hasAttribute("data-ask") ?? false;
      const saved = save(words, asks);
      form.toggleAttribute("inert", true);
      await saved;
      remember("sessionStorage", key, "");
      close();
      if (asks) focusBox();
    } catch (error) {
      form.toggleAttribute("inert", false);
      toast(reasonOf(error));
    }
  });
}

/** What was pressed goes away with the former answer. On a touch screen the focus would open the keyboard. */
function focusBox() {
  if (matchMedia("(hover: hover)").matches) document.getElementById("message-box")?.focus();
}

/** @param {HTMLElement} message */
function actionsFor(message) {
  const actions = clone("actions-template");
  const role = message.dataset.role;
  if (role !== "user") actions.querySelector("[data-action=edit]")?.remove();
  if ("isSummary" in message.dataset || role === "tool" || role === "system") actions.querySelector("[data-action=branch]")?.remove();
  if ("isSummary" in message.dataset || "extracted" in message.dataset) for (const mark of actions.querySelectorAll("[aria-pressed]")) mark.remove();
  if (role !== "assistant") for (const own of actions.querySelectorAll("[data-action=regenerate], [data-action=other-model], [data-receipt]")) own.remove();
  return actions;
}

/** @param {string} chatId @param {string} id */
function sourceOf(chatId, id) {
  return fetchText(`/chats/${encodeURIComponent(chatId)}/text?message=${encodeURIComponent(id)}`);
}

/** @param {HTMLTimeElement} time */
function showTime(time) {
  const when = new Date(time.dateTime);
  if (Number.isNaN(when.valueOf())) return;
  const isToday = when.toDateString() === new Date().toDateString();
  time.textContent = when.toLocaleString([], isToday ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}
