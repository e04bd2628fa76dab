// @ts-check
/** What the menu of the open chat does with it: find, choose a model, rename, duplicate, delete. */

import { keyHeaders } from "../key.js";
import { isComposing } from "../lib/composing.js";
import { download } from "../lib/download.js";
import { reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../wire.js").Wire} Wire */

/** @param {Wire} wire @param {string} chatId @param {() => void} find */
export function startChatMenu(wire, chatId, find) {
  /** @type {Record<string, () => Promise<unknown> | void>} */
  const deeds = {
    find,
    private: () => toggle("private", (on) => wire.call("chat.set_private", { chat_id: chatId, private: on }), {
      on: "Other chats can’t recall this one.",
      off: "Other chats can recall this one again.",
    }),
    model: chooseModel,
    share: () => toggle("share", (on) => wire.call("memory.share_chat", { chat_id: chatId, shared: on }), {
      on: "All people here can read this chat and write in it.",
      off: "Only you can read this chat again.",
    }),
    rename: () => rename(wire, chatId),
    duplicate: () => openMade(wire, "memory.copy_chat", { chat_id: chatId }),
    markdown: () => save(chatId, "markdown"),
    html: () => save(chatId, "html"),
    json: () => save(chatId, "json"),
    openai: () => save(chatId, "openai"),
    delete: () => wire.call("memory.delete_chat", { chat_id: chatId }),
  };
  document.addEventListener("click", async (event) => {
    const pressed = event.target instanceof Element ? event.target.closest("[data-chat-menu]") : null;
    if (!(pressed instanceof HTMLElement)) return;
    try {
      await deeds[pressed.dataset.chatMenu ?? ""]?.();
    } catch (error) {
      toast(reasonOf(error));
    }
  });
}

/**
 * Turns a state of the chat on or off, and says so.
 * @param {string} name  Of its button.
 * @param {(isOn: boolean) => Promise<unknown>} set
 * @param {{ on: string, off: string }} words
 */
async function toggle(name, set, words) {
  const button = /** @type {HTMLElement} */ (document.querySelector(`[data-chat-menu=${name}]`));
  const isOn = button.getAttribute("aria-pressed") !== "true";
  await set(isOn);
  button.setAttribute("aria-pressed", String(isOn));
  toast(isOn ? words.on : words.off);
}

/** Opens the list of models, or where one is connected. */
function chooseModel() {
  const button = /** @type {HTMLElement | null} */ (document.querySelector("[data-connected=true]:not([hidden]) [data-open-model]"));
  if (button) button.click();
  else location.assign("/settings");
}

/** Lets the browser save the chat as a file, by the name that tells an import its id. @param {string} chatId @param {string} form */
async function save(chatId, form) {
  const address = `/chats/${encodeURIComponent(chatId)}/export?as=${form}`;
  const response = await fetch(address, { headers: keyHeaders() });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  const name = response.headers.get("Content-Disposition")?.split("''")[1] ?? chatId;
  download(text, decodeURIComponent(name), response.headers.get("Content-Type") ?? undefined);
}

/** Opens the chat that a command makes. @param {Wire} wire @param {string} command @param {Record<string, unknown>} params */
export async function openMade(wire, command, params) {
  const made = await wire.call(command, params);
  location.assign(`/chats/${encodeURIComponent(made.chat_id)}`);
}

/** Puts a field in the title's place. @param {Wire} wire @param {string} chatId */
function rename(wire, chatId) {
  const heading = /** @type {HTMLElement} */ (document.getElementById("chat-title"));
  const input = document.createElement("input");
  input.className = "chat-rename";
  input.dir = "auto";
  input.setAttribute("aria-label", "Name of this chat");
  input.value = heading.textContent ?? "";
  heading.hidden = true;
  heading.after(input);
  input.select();
  let isOver = false;
  /** @param {boolean} keeps */
  const end = async (keeps) => {
    if (isOver) return;
    isOver = true;
    const title = input.value.trim();
    input.remove();
    heading.hidden = false;
    if (!keeps || !title || title === heading.textContent) return;
    try {
      await wire.call("memory.rename_chat", { chat_id: chatId, title });
    } catch (error) {
      toast(reasonOf(error));
    }
  };
  input.addEventListener("keydown", (event) => {
    if (isComposing(event) || (event.key !== "Enter" && event.key !== "Escape")) return;
    event.preventDefault();
    event.stopPropagation();
    end(event.key === "Enter");
  });
  input.addEventListener("blur", () => end(true));
}
