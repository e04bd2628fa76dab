// @ts-check
/** The attachments of the next message, as chips by the message box. Fires `attachments-changed`. */

import { asText, fromText, holdReason, markOf, MOST_FILES, refusal, UNSEEN } from "./attached.js";
import { makeChip, showChip, showCut, showShare } from "./attached-chip.js";
import { recall, remember } from "../lib/memory.js";
import { keepOnly } from "../lib/reconcile.js";
import { reasonOf, visible } from "../lib/text.js";
import { NotUploaded } from "./upload.js";
import { Uploads } from "./uploads.js";

/** @typedef {import("./attached.js").Attached} Attached */
/** @typedef {import("./attached.js").Stored} Stored */

export class Attachments {
  #form;
  #list;
  #say;
  #key;
  /** @type {readonly Attached[]} */
  #attached = [];
  /** @type {Map<number, HTMLElement>} */
  #chips = new Map();
  #nextId = 1;
  #uploads = new Uploads({
    begins: (id) => this.#change(id, { state: "sending", told: "" }),
    goes: (id, share) => showShare(this.#chips.get(id), share),
    arrives: (id, stored) => this.#arrived(id, stored),
    fails: (id, error) => this.#failed(id, error),
  });

  /**
   * @param {HTMLFormElement} form  The `.composer`.
   * @param {string} chatId
   * @param {(words: string) => void} say  Tells those who don't see the chips.
   */
  constructor(form, chatId, say) {
    this.#form = form;
    this.#list = /** @type {HTMLElement} */ (form.querySelector(".attaching"));
    this.#say = say;
    this.#key = `attached:${chatId}`;
  }

  /** Starts listening, with the attachments from when the chat was last open. */
  start() {
    this.#list.addEventListener("click", (event) => {
      const pressed = event.target instanceof Element ? event.target.closest("button") : null;
      const id = Number(/** @type {HTMLElement | null | undefined} */ (pressed?.closest("[data-id]"))?.dataset.id);
      if (pressed?.classList.contains("chip-remove")) this.#remove(id);
      if (pressed?.classList.contains("attaching-again")) this.#uploads.again(id);
      if (pressed?.classList.contains("attaching-whole")) this.#sendAll(id);
    });
    this.#form.addEventListener("images-on", () => {
      delete this.#form.dataset.hidesImages;
      this.#set(this.#attached.map((one) => (one.told === UNSEEN ? { ...one, told: "" } : one)));
    });
    document.addEventListener("attachments-cut", (event) => this.#showCuts(/** @type {CustomEvent<import("./attached.js").Cuts>} */ (event).detail));
    for (const kept of fromText(recall("localStorage", this.#key))) this.#add({ ...kept, state: "ready" });
  }

  get all() {
    return this.#attached;
  }

  /** Why the message can't be sent yet; empty if it can. */
  get hold() {
    return holdReason(this.#attached);
  }

  /** Attaches files once they are uploaded; reports those that can't be taken, and why. @param {readonly { file: File, isFolder?: boolean, isWhole?: boolean }[]} picked  `isWhole`: all of a long text goes. */
  addFiles(picked) {
    for (const { file, isFolder, isWhole } of picked) {
      if (!this.#hasRoom("file")) return;
      const told = refusal({ size: file.size, isFolder }, Number(this.#form.dataset.maxFileBytes));
      const id = this.#add({ kind: "file", name: file.name || "file", size: file.size, state: told ? "refused" : "sending", told, stored: null, isWhole });
      if (told) this.#say(`${visible(file.name)} could not be attached: ${told}`);
      else this.#uploads.send(id, file);
    }
  }

  /** Adds something that the server already has; does nothing if it is attached. @param {"file" | "link"} kind @param {Stored} stored @param {string} [path]  Where it is in the vault. */
  addStored(kind, stored, path) {
    const name = (kind === "link" ? stored.title || stored.url : stored.name) ?? "";
    const same = this.#attached.find((one) => markOf(one.stored) === markOf(stored));
    if (same) {
      this.#change(same.id, { path: path ?? same.path });
      this.#say(`${visible(name)} is attached already.`);
    } else if (this.#hasRoom(kind)) {
      this.#add({ kind, name, size: stored.size ?? 0, state: "ready", told: this.#warningOf(stored), stored, path });
      this.#say(`${visible(name)} is attached.`);
    }
  }

  /** True if it is attached. @param {string} mark  A storage key or an address. */
  holds(mark) {
    return this.#attached.some((one) => markOf(one.stored) === mark);
  }

  /** Returns all attachments and removes them from the box. */
  take() {
    const taken = this.#attached;
    this.#set([]);
    return taken;
  }

  /** Puts back attachments that could not be sent, before newer ones. @param {readonly Attached[]} taken */
  giveBack(taken) {
    this.#set([...taken, ...this.#attached]);
  }

  /** Removes one. @param {string} mark */
  drop(mark) {
    this.#set(this.#attached.filter((one) => markOf(one.stored) !== mark));
  }

  /** @param {"file" | "link"} kind */
  #hasRoom(kind) {
    if (this.#attached.filter((one) => one.kind === kind).length < MOST_FILES) return true;
    const problem = /** @type {HTMLElement} */ (this.#form.querySelector(".composer-problem"));
    problem.textContent = `Up to ${MOST_FILES} ${kind}s go with one message; the rest weren’t attached.`;
    problem.hidden = false;
    return false;
  }

  /** @param {Omit<Attached, "id">} attached */
  #add(attached) {
    const id = this.#nextId++;
    this.#set([...this.#attached, { ...attached, id }]);
    this.#list.scrollTop = this.#list.scrollHeight;
    return id;
  }

  /** @param {number} id @param {Partial<Attached>} news */
  #change(id, news) {
    this.#set(this.#attached.map((one) => (one.id === id ? { ...one, ...news } : one)));
  }

  /** @param {readonly Attached[]} attached */
  #set(attached) {
    this.#attached = attached;
    keepOnly(this.#list, attached.map((one) => this.#chipOf(one)));
    this.#list.hidden = !attached.length;
    remember("localStorage", this.#key, asText(attached));
    this.#form.dispatchEvent(new CustomEvent("attachments-changed", { bubbles: true }));
  }

  /** @param {Attached} one */
  #chipOf(one) {
    const chip = this.#chips.get(one.id) ?? makeChip(one);
    this.#chips.set(one.id, chip);
    showChip(chip, one);
    return chip;
  }

  /** @param {number} id @param {Stored} stored */
  #arrived(id, stored) {
    const sent = this.#find(id);
    if (!sent) return;
    const { name = "", size = 0 } = stored;
    const isTwice = this.holds(markOf(stored));
    if (isTwice) this.#set(this.#attached.filter((one) => one.id !== id));
    else this.#change(id, { state: "ready", name, size, told: this.#warningOf(stored), stored: sent.isWhole ? { ...stored, whole: true } : stored });
    this.#say(`${visible(name)} is attached${isTwice ? " already" : ""}.`);
  }

  /** @param {number} id @param {unknown} error */
  #failed(id, error) {
    const name = this.#find(id)?.name;
    if (name === undefined) return;
    const isRefused = error instanceof NotUploaded && error.isRefused;
    this.#change(id, { state: isRefused ? "refused" : "failed", told: reasonOf(error) });
    this.#say(`${visible(name)} could not be attached: ${reasonOf(error)}`);
  }

  /** @param {number} id */
  #sendAll(id) {
    const one = this.#find(id);
    if (!one?.stored) return;
    this.#change(id, { stored: { ...one.stored, whole: true } });
    /** @type {HTMLElement | null | undefined} */ (this.#chips.get(id)?.querySelector(".chip-remove"))?.focus();
    this.#say(`All of ${visible(one.name)} will be sent.`);
  }

  /** Says on each chip how much of its text goes. @param {import("./attached.js").Cuts} told */
  #showCuts({ cuts, canAsk }) {
    for (const one of this.#attached) {
      const chip = this.#chips.get(one.id);
      if (chip && one.state === "ready") showCut(chip, one, cuts.find(({ storage_key: key }) => key === one.stored?.storage_key), canAsk);
    }
  }

  /** @param {Stored} stored */
  #warningOf(stored) {
    const isUnseen = "hidesImages" in this.#form.dataset && stored.file_type?.startsWith("image/");
    return isUnseen ? UNSEEN : "";
  }

  /** @param {number} id */
  #remove(id) {
    const place = this.#attached.findIndex((one) => one.id === id);
    const name = this.#attached[place]?.name ?? "";
    this.#set(this.#attached.filter((one) => one.id !== id));
    this.#uploads.forget(id);
    this.#chips.delete(id);
    const heir = this.#list.children[Math.min(place, this.#attached.length - 1)];
    /** @type {HTMLElement | null} */ (heir?.querySelector(".chip-remove") ?? this.#form.querySelector("textarea"))?.focus();
    this.#say(`${visible(name)} was removed.`);
  }

  /** @param {number} id */
  #find(id) {
    return this.#attached.find((one) => one.id === id);
  }
}
