// @ts-check
/** The list of chats: search, rename, delete with undo, folders, and which chats are being answered. */

import { isComposing } from "../lib/composing.js";
import { ChatSelection } from "./chat-selection.js";
import { fetchFragment } from "../lib/fragments.js";
import { recall, remember } from "../lib/memory.js";
import { reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

const QUIET_MS = 250;
const SEARCH_KEY = "search";
const UNDO_KEY = "deleted-chat";
const OPEN_KEY = "open-folders";
const MORE = 500;
const DRAWN = ".chat-entry > a:not(details:not([open]) *)";

export class ChatList {
  #nav;
  #wire;
  #chatId;
  /** @type {Set<string>} */
  #answering = new Set();
  /** Chats of which news of answers came since the list was last asked about them. @type {Set<string>} */
  #heard = new Set();
  #selection;
  #most = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {HTMLElement} nav @param {import("../wire.js").Wire} wire @param {string} chatId */
  constructor(nav, wire, chatId) {
    this.#nav = nav;
    this.#wire = wire;
    this.#chatId = chatId;
    this.#selection = new ChatSelection(nav, wire, () => this.refresh());
  }

  start() {
    this.#showTimes();
    this.#showFolders();
    this.#nav.addEventListener("toggle", ({ target }) => this.#keepFolder(target), { capture: true });
    this.#search.addEventListener("input", () => {
      remember("sessionStorage", SEARCH_KEY, this.#search.value);
      this.#soon();
    });
    // A hit leads to another page, on which the others are still wanted.
    this.#search.value ||= recall("sessionStorage", SEARCH_KEY);
    addEventListener("hashchange", () => this.#showHit());
    this.#nav.addEventListener("click", (event) => {
      const pressed = event.target instanceof Element ? event.target.closest("[data-chat-action]") : null;
      if (!(pressed instanceof HTMLElement)) return;
      const entry = /** @type {HTMLElement | null} */ (pressed.closest("[data-chat-id]"));
      if (!entry) this.#showOlder();
      else if (pressed.dataset.chatAction === "select") this.#selection.toggle(entry, event.shiftKey);
      else if (pressed.dataset.chatAction === "rename") this.#rename(entry);
      // A second click at the same place meant the chat that was there before.
      else if (event.detail < 2) this.#delete(entry);
    });
    this.#nav.addEventListener("keydown", rove);
    document.addEventListener("show-chats", (event) => {
      this.#showNew(/** @type {CustomEvent<string[]>} */ (event).detail).catch((error) => toast(reasonOf(error)));
    });
    this.#wire.on("memory.chat_changed", () => this.#soon());
    this.#wire.on("memory.chat_deleted", ({ chat_id: id }) => id === this.#chatId && this.#gone());
    this.#wire.on("memory.chat_shared", (told) => this.#shared(told));
    this.#wire.on("chat.started", ({ chat_id: id }) => this.#setAnswering(id, true));
    this.#wire.on("chat.finished", ({ chat_id: id }) => this.#setAnswering(id, false));
    this.#wire.on("chat.failed", ({ chat_id: id }) => this.#setAnswering(id, false));
    for (const mark of this.#nav.querySelectorAll(".answering:not([hidden])")) {
      this.#answering.add(/** @type {HTMLElement} */ (mark.closest("[data-chat-id]")).dataset.chatId ?? "");
    }
    this.#wire.onStatus((status) => status === "open" && this.#catchUp().catch(() => {}));
    this.#offerUndo();
  }

  /** Takes off the marks of answers that ended while the page could not hear of it. */
  async #catchUp() {
    const marked = [...this.#answering];
    if (!marked.length) return;
    this.#heard.clear();
    await this.refresh((id) => marked.includes(id) && !this.#heard.has(id));
  }

  /**
   * Fetches the list again, unless the user is renaming a chat.
   * @param {(id: string) => boolean} [isUnsure]  True for a chat whose answer may have ended unheard; the fetched list decides.
   */
  async refresh(isUnsure = () => false) {
    if (this.#nav.querySelector(".chat-rename")) return;
    const asked = { current: this.#chatId, q: this.#search.value.trim(), most: `${this.#most}` };
    const query = new URLSearchParams(asked);
    const fresh = await fetchFragment(`/chats?${query}`);
    for (const mark of fresh.querySelectorAll("[data-chat-id] .answering[hidden]")) {
      const id = /** @type {HTMLElement} */ (mark.closest("[data-chat-id]")).dataset.chatId ?? "";
      if (isUnsure(id)) this.#answering.delete(id);
    }
    const focused = controlIn(this.#nav);
    const at = placeIn(this.#nav);
    this.#nav.querySelector(".chat-list")?.replaceWith(fresh);
    if (focused) /** @type {HTMLElement | null} */ (fresh.querySelector(focused))?.focus();
    this.#showTimes();
    this.#showFolders();
    this.#selection.show();
    this.#showAnswering();
    this.#showHit();
    // What had the focus is gone, or in a folder that is closed: whoever uses keys goes on beside it.
    const isLost = focused && document.activeElement === document.body;
    if (isLost) (linksIn(fresh)[at] ?? linksIn(fresh).at(-1) ?? this.#search).focus();
    const title = fresh.querySelector("[aria-current] .chat-title")?.textContent;
    const heading = document.getElementById("chat-title");
    if (!title || !heading || heading.textContent === title) return;
    document.title = document.title.replace(heading.textContent ?? "", title);
    heading.textContent = title;
  }

  /** Shows chats that are new in the list: the first of them in sight, and all for a moment in another colour. @param {readonly string[]} ids  In the list's order. */
  async #showNew(ids) {
    this.#search.value = "";
    remember("sessionStorage", SEARCH_KEY, "");
    await this.refresh();
    while (!this.#entry(ids[0])) {
      const further = this.#nav.querySelector("[data-chat-action=further]");
      if (!further) return;
      this.#most = this.#nav.querySelectorAll("[data-chat-id]").length + MORE;
      await this.refresh();
    }
    for (const id of ids) {
      const entry = this.#entry(id);
      entry?.toggleAttribute("data-found", true);
      const folder = entry?.closest("details");
      if (folder) folder.open = true;
    }
    this.#entry(ids[0])?.scrollIntoView({ block: "center" });
    /** @type {HTMLElement | null | undefined} */ (this.#entry(ids[0])?.querySelector("a"))?.focus({ preventScroll: true });
  }

  /** @param {string} id @returns {HTMLElement | null} */
  #entry(id) {
    return this.#nav.querySelector(`[data-chat-id="${CSS.escape(id)}"]`);
  }

  #showOlder() {
    this.#most = this.#nav.querySelectorAll("[data-chat-id]").length + MORE;
    this.refresh().catch((error) => toast(reasonOf(error)));
  }

  /** Opens the folders that were open before. */
  #showFolders() {
    const open = foldersOpen();
    for (const folder of this.#nav.querySelectorAll("details")) folder.open ||= open.has(keyOf(folder));
  }

  /** @param {EventTarget | null} folder */
  #keepFolder(folder) {
    if (!(folder instanceof HTMLDetailsElement) || !folder.isConnected) return;
    const open = foldersOpen();
    if (folder.open) open.add(keyOf(folder));
    else open.delete(keyOf(folder));
    remember("localStorage", OPEN_KEY, open.size ? JSON.stringify([...open]) : "");
  }

  /** Marks the hit that the page has come to. */
  #showHit() {
    for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (this.#nav.querySelectorAll(".hit"))) {
      const isHere = link.pathname === location.pathname && link.hash === location.hash;
      if (isHere) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refresh().catch((error) => toast(reasonOf(error))), QUIET_MS);
  }

  /** @param {HTMLElement} entry */
  #rename(entry) {
    const id = entry.dataset.chatId ?? "";
    const link = /** @type {HTMLElement} */ (entry.querySelector("a"));
    const input = document.createElement("input");
    input.className = "chat-rename";
    input.setAttribute("aria-label", "Name of the chat");
    input.value = link.querySelector(".chat-title")?.textContent ?? "";
    link.hidden = true;
    entry.prepend(input);
    input.select();
    let isOver = false;
    /** @param {boolean} keep */
    const end = async (keep) => {
      if (isOver) return;
      isOver = true;
      const title = input.value.trim();
      input.remove();
      link.hidden = false;
      link.focus();
      if (keep && title) await this.#attempt("memory.rename_chat", { chat_id: id, title });
    };
    input.addEventListener("keydown", (event) => {
      if (isComposing(event)) return;
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.preventDefault();
      end(event.key === "Enter");
    });
    input.addEventListener("blur", () => end(true));
  }

  /** @param {HTMLElement} entry */
  async #delete(entry) {
    const id = entry.dataset.chatId ?? "";
    const title = entry.querySelector(".chat-title")?.textContent?.trim() || "the chat";
    if (!(await this.#attempt("memory.delete_chat", { chat_id: id }))) return;
    if (id === this.#chatId) return; // `#gone` sees to it, as in every tab that shows the chat
    remember("sessionStorage", UNDO_KEY, JSON.stringify({ id, title }));
    this.#offerUndo();
  }

  /** Leaves the deleted chat, unless a message is being written in it; the next page, or this one, offers to undo that. */
  #gone() {
    const title = document.getElementById("chat-title")?.textContent?.trim() || "The chat";
    remember("sessionStorage", UNDO_KEY, JSON.stringify({ id: this.#chatId, title, wasOpen: true }));
    const box = /** @type {HTMLTextAreaElement | null} */ (document.activeElement?.closest("#message-box"));
    if (box?.value) this.#offerUndo();
    else location.assign("/");
  }

  /** A chat was shared, or taken back; its page is of no use to others then. @param {Record<string, any>} told */
  #shared({ chat_id: id, shared, person }) {
    const me = /** @type {HTMLElement | null} */ (this.#nav.querySelector("[data-person]"))?.dataset.person;
    if (id === this.#chatId && !shared && person !== me) location.assign("/");
    else this.#soon();
  }

  #offerUndo() {
    const deleted = JSON.parse(recall("sessionStorage", UNDO_KEY) || "null");
    if (!deleted) return;
    remember("sessionStorage", UNDO_KEY, "");
    toast(`“${deleted.title}” is in the trash.`, {
      label: "Undo",
      act: async () => {
        const isBack = await this.#attempt("memory.restore_chat", { chat_id: deleted.id });
        if (isBack && deleted.wasOpen) location.assign(`/chats/${encodeURIComponent(deleted.id)}`);
      },
    });
  }

  /** @param {string} command @param {Record<string, unknown>} params */
  async #attempt(command, params) {
    try {
      await this.#wire.call(command, params);
      await this.refresh();
      return true;
    } catch (error) {
      toast(reasonOf(error));
      return false;
    }
  }

  /** @param {string} id @param {boolean} isAnswering */
  #setAnswering(id, isAnswering) {
    this.#heard.add(id);
    if (isAnswering) this.#answering.add(id);
    else this.#answering.delete(id);
    this.#showAnswering();
  }

  /** Shows when each chat was last changed, in the reader's time zone and language. */
  #showTimes() {
    for (const time of this.#nav.querySelectorAll("time")) {
      const when = new Date(time.dateTime);
      if (Number.isNaN(when.valueOf())) continue;
      const isToday = when.toDateString() === new Date().toDateString();
      time.textContent = when.toLocaleString([], isToday ? { timeStyle: "short" } : { day: "numeric", month: "short" });
      time.title = when.toLocaleString();
    }
  }

  #showAnswering() {
    for (const entry of this.#nav.querySelectorAll("[data-chat-id]")) {
      const id = /** @type {HTMLElement} */ (entry).dataset.chatId ?? "";
      entry.querySelector(".answering")?.toggleAttribute("hidden", !this.#answering.has(id));
    }
  }

  get #search() {
    return /** @type {HTMLInputElement} */ (this.#nav.querySelector("#chat-search"));
  }
}

/** Finds the focused link or button of an entry again in a list that takes this one's place. @param {HTMLElement} nav */
function controlIn(nav) {
  const focused = /** @type {HTMLElement | null} */ (nav.querySelector(".chat-entry :focus"));
  const entry = /** @type {HTMLElement | null} */ (focused?.closest("[data-chat-id]"));
  if (!focused || !entry) return "";
  const { chatAction } = focused.dataset;
  return `[data-chat-id="${CSS.escape(entry.dataset.chatId ?? "")}"] ${chatAction ? `[data-chat-action=${chatAction}]` : "a"}`;
}

/** The place of the focused entry among those that are drawn; -1 if none has the focus. @param {HTMLElement} nav */
function placeIn(nav) {
  const link = nav.querySelector(".chat-entry:focus-within > a");
  return linksIn(nav).indexOf(/** @type {HTMLElement} */ (link));
}

/** The chats that are drawn. @param {Element} list @returns {HTMLElement[]} */
function linksIn(list) {
  return [...list.querySelectorAll(DRAWN)].map((link) => /** @type {HTMLElement} */ (link));
}

/** Names a folder of the list. @param {HTMLElement} folder */
function keyOf(folder) {
  const { kind, name } = /** @type {HTMLElement} */ (folder.closest("section")).dataset;
  return `${kind} ${name}`;
}

/** The folders that the reader has opened. @returns {Set<string>} */
function foldersOpen() {
  return new Set(JSON.parse(recall("localStorage", OPEN_KEY) || "[]"));
}

/** Each chat is a single Tab stop: arrow keys move to its buttons and to the next chats. @param {KeyboardEvent} event */
function rove(event) {
  const focused = event.target instanceof Element ? event.target.closest(".chat-entry :is(a, button)") : null;
  const entry = focused?.closest(".chat-entry");
  if (!focused || !entry || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const isAcross = event.key === "ArrowRight" || event.key === "ArrowLeft";
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const stops = [...(isAcross ? entry.querySelectorAll("a, button") : (entry.closest(".chat-list")?.querySelectorAll(DRAWN) ?? []))];
  const at = stops.indexOf(isAcross ? focused : /** @type {Element} */ (entry.querySelector("a")));
  const next = /** @type {HTMLElement | undefined} */ (step && stops[at + step]);
  if (!next) return;
  event.preventDefault();
  next.focus();
}
