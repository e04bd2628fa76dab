// @ts-check
/** Chats that are selected in the list, and what is done with all of them at once. */

import { numbered, reasonOf, visible } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/** @typedef {{ pinned?: boolean, archived?: boolean, folder?: string }} Arrangement  One of them. */

/** What was done with chats, in words. @param {number} count @param {Arrangement} how */
export function arrangedInWords(count, { pinned, archived, folder }) {
  const are = count === 1 ? "The chat is" : `${numbered(count)} chats are`;
  if (folder) return `${are} in the folder “${visible(folder)}”.`;
  if (folder === "") return `${are} in no folder now.`;
  if (pinned !== undefined) return pinned ? `${are} pinned.` : `${are} no longer pinned.`;
  return archived ? `${are} archived.` : `${are} out of the archive.`;
}

export class ChatSelection {
  #nav;
  #wire;
  #refresh;
  /** @type {Set<string>} */
  #ids = new Set();
  #last = "";
  /** Takes away the notice of what was done before. */
  #forgetNotice = () => {};

  /** @param {HTMLElement} nav @param {import("../wire.js").Wire} wire @param {() => Promise<void>} refresh */
  constructor(nav, wire, refresh) {
    this.#nav = nav;
    this.#wire = wire;
    this.#refresh = refresh;
    this.#bar.addEventListener("click", (event) => {
      const pressed = event.target instanceof Element ? event.target.closest("[data-arrange]") : null;
      if (pressed instanceof HTMLElement) this.#do(pressed.dataset.arrange ?? "").catch((error) => toast(reasonOf(error)));
    });
    // Before others: Escape gives the selection up and nothing else.
    document.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.#ids.size || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      event.stopPropagation();
      this.#clear();
    }, { capture: true });
    this.#dialog.addEventListener("close", () => this.#putIntoFolder().catch((error) => toast(reasonOf(error))));
  }

  /** Selects a chat, or no longer; with Shift all up to it. @param {HTMLElement} entry @param {boolean} extends_ */
  toggle(entry, extends_) {
    const id = entry.dataset.chatId ?? "";
    const ids = this.#entries.map((other) => other.dataset.chatId ?? "");
    const [from, to] = [ids.indexOf(this.#last), ids.indexOf(id)].sort((a, b) => a - b);
    if (extends_ && from >= 0) for (const other of ids.slice(from, to + 1)) this.#ids.add(other);
    else if (!this.#ids.delete(id)) this.#ids.add(id);
    this.#last = id;
    this.show();
  }

  /** Shows what is selected, also in a list that was fetched again; what is gone is not selected. */
  show() {
    const there = new Set(this.#entries.map((entry) => entry.dataset.chatId ?? ""));
    for (const id of this.#ids) if (!there.has(id)) this.#ids.delete(id);
    for (const entry of this.#entries) {
      const isOn = this.#ids.has(entry.dataset.chatId ?? "");
      entry.toggleAttribute("data-selected", isOn);
      entry.querySelector("[data-chat-action=select]")?.setAttribute("aria-pressed", String(isOn));
    }
    this.#bar.hidden = !this.#ids.size;
    this.#nav.toggleAttribute("data-selecting", this.#ids.size > 0);
    const words = this.#ids.size ? `${numbered(this.#ids.size)} selected` : "";
    const told = /** @type {HTMLElement} */ (this.#bar.querySelector("[role=status]"));
    if (told.textContent !== words) told.textContent = words;
  }

  #clear() {
    const focus = this.#bar.contains(document.activeElement);
    const first = this.#entries.find((entry) => this.#ids.has(entry.dataset.chatId ?? ""));
    this.#ids.clear();
    this.show();
    if (focus) first?.querySelector("a")?.focus();
  }

  /** @param {string} deed */
  async #do(deed) {
    const ids = [...this.#ids];
    if (deed === "none") this.#clear();
    else if (deed === "folder") this.#askForFolder();
    else if (deed === "delete") await this.#delete(ids);
    else {
      const inside = deed === "pin" ? "[data-kind=pinned]" : "[data-kind=archived]";
      const isOn = this.#selected.every((entry) => entry.closest(inside));
      await this.#arrange(ids, deed === "pin" ? { pinned: !isOn } : { archived: !isOn });
    }
  }

  /** @param {string[]} ids @param {Arrangement} how */
  async #arrange(ids, how) {
    const [key] = /** @type {(keyof Arrangement)[]} */ (Object.keys(how));
    const { chats } = await this.#wire.call("memory.list_chats", {});
    const before = chats.filter((/** @type {{ id: string }} */ { id }) => ids.includes(id));
    await this.#wire.call("memory.arrange_chats", { chat_ids: ids, ...how });
    this.#clear();
    await this.#refresh();
    const act = () => void this.#putBack(before, key).catch((error) => toast(reasonOf(error)));
    this.#forgetNotice();
    this.#forgetNotice = toast(arrangedInWords(ids.length, how), { label: "Undo", act });
  }

  /** Arranges chats as they were. @param {readonly (Arrangement & { id: string })[]} before @param {keyof Arrangement} key */
  async #putBack(before, key) {
    for (const { id, [key]: was } of before) {
      await this.#wire.call("memory.arrange_chats", { chat_ids: [id], [key]: was ?? (key === "folder" ? "" : false) });
    }
    await this.#refresh();
  }

  /** @param {string[]} ids */
  async #delete(ids) {
    // The page leaves its own chat once that is deleted.
    ids.sort((a, b) => Number(a === document.body.dataset.chatId) - Number(b === document.body.dataset.chatId));
    for (const id of ids) await this.#wire.call("memory.delete_chat", { chat_id: id });
    this.#clear();
    await this.#refresh();
    this.#forgetNotice();
    toast(`${ids.length === 1 ? "A chat is" : `${numbered(ids.length)} chats are`} in the trash.`, {
      label: "Undo",
      act: async () => {
        for (const id of ids) await this.#wire.call("memory.restore_chat", { chat_id: id });
        await this.#refresh();
      },
    });
  }

  #askForFolder() {
    const names = [...this.#nav.querySelectorAll("[data-kind=folder]")].map((folder) => folder.getAttribute("data-name") ?? "");
    const known = /** @type {HTMLElement} */ (this.#dialog.querySelector("datalist"));
    known.replaceChildren(...names.map((name) => Object.assign(document.createElement("option"), { value: name })));
    const folder = this.#selected[0]?.closest("[data-kind=folder]")?.getAttribute("data-name");
    const field = /** @type {HTMLInputElement} */ (this.#dialog.querySelector("input"));
    field.value = folder ?? "";
    this.#dialog.returnValue = "";
    this.#dialog.showModal();
    field.select();
  }

  async #putIntoFolder() {
    if (this.#dialog.returnValue !== "put") return;
    const field = /** @type {HTMLInputElement} */ (this.#dialog.querySelector("input"));
    await this.#arrange([...this.#ids], { folder: field.value.trim() });
  }

  /** Those that can be selected; others' chats can't. */
  get #entries() {
    return /** @type {HTMLElement[]} */ ([...this.#nav.querySelectorAll(".chat-entry:has([data-chat-action=select])")]);
  }

  get #selected() {
    return this.#entries.filter((entry) => this.#ids.has(entry.dataset.chatId ?? ""));
  }

  get #bar() {
    return /** @type {HTMLElement} */ (this.#nav.querySelector(".chats-selected"));
  }

  get #dialog() {
    return /** @type {HTMLDialogElement} */ (document.getElementById("folder-dialog"));
  }
}
