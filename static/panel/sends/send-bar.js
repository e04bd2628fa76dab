// @ts-check
/** Shows what the next message sends, by part, while it is being written. */

import { commandIn } from "../../composer/commands.js";
import { ExactText } from "./exact-text.js";
import { find } from "../../lib/find.js";
import { newest } from "../../lib/newest.js";
import { numbered, reasonOf } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { knownInWords, priceInWords, rereadInWords } from "./cost.js";
import { partsOf, totalInWords, windowInWords, withTopics } from "./parts.js";
import { row, segment } from "./shown-parts.js";

const TYPING_MS = 120;
const SHOWN_PLACES = 3;
/** @type {ReadonlyMap<string, string>} */
const NO_HUES = new Map();
const FILES = "The model may look into notes";

export class SendBar {
  #root;
  #wire;
  #chatId;
  #box;
  #attached;
  #wish;
  /** @type {ReadonlyMap<string, string>} */
  #hues = new Map();
  #files = document.createElement("input");

  /**
   * @param {HTMLElement} root  The `.sends` section.
   * @param {import("../../wire.js").Wire} wire
   * @param {string} chatId
   * @param {HTMLTextAreaElement | null} box  Where the message is written.
   * @param {() => Record<string, unknown>} attached  What is to go with it, as `chat.send` takes it.
   */
  constructor(root, wire, chatId, box, attached) {
    this.#root = root;
    this.#wire = wire;
    this.#chatId = chatId;
    this.#box = box;
    this.#attached = attached;
    this.#wish = newest(TYPING_MS, (/** @type {import("./parts.js").Preview} */ preview) => this.#show(preview));
  }

  start() {
    const refresh = () => this.refresh();
    this.#files.type = "checkbox";
    this.#files.setAttribute("aria-label", FILES);
    this.#files.addEventListener("change", () => this.#storeFiles());
    this.#box?.addEventListener("input", refresh);
    document.addEventListener("attachments-changed", refresh);
    document.addEventListener("panel-changed", (event) => {
      const { hues } = /** @type {CustomEvent<import("../../cloud/topic-state.js").PanelState>} */ (event).detail;
      this.#hues = hues;
      refresh();
    });
    for (const event of ["smart_context.contexts_changed", "memory.chat_changed", "system.config_read"]) {
      this.#wire.on(event, (news) => (news.chat_id ?? this.#chatId) === this.#chatId && refresh());
    }
    this.#wire.onStatus((status) => status === "open" && refresh());
    const exact = new ExactText(/** @type {HTMLDialogElement} */ (document.querySelector("dialog.exact")));
    find(".sends-show", this.#root).addEventListener("click", () => exact.open(() => this.#preview(false), this.#hues));
  }

  refresh() {
    if (this.#wire.isOpen) this.#wish.ask(() => this.#preview(true));
  }

  /** @param {boolean} brief */
  #preview(brief) {
    const written = this.#box?.value ?? "";
    const message = written.trim() && !commandIn(written) ? written : "";
    return this.#wire.call("smart_context.preview", { chat_id: this.#chatId, message, brief, ...this.#attached() });
  }

  /** @param {import("./parts.js").Preview} preview */
  #show(preview) {
    const { tokens, unfiltered, by_topic: byTopic, parts: byPart, part_names: names } = preview;
    const { window: room, window_note: note, unseen, file_tools: files, cut_texts: cuts } = preview;
    const parts = partsOf(byPart, names, unfiltered);
    const pieces = withTopics(parts, byTopic);
    const total = totalInWords(tokens, unfiltered);
    this.#root.removeAttribute("data-unknown");
    this.#root.toggleAttribute("data-over", room !== null && tokens > room);
    find(".sends-total", this.#root).textContent = total;
    find(".sends-window", this.#root).textContent = windowInWords(tokens, room, note);
    this.#showCost(preview.cost, preview.reread_because, preview.model.startsWith("embedded/"));
    const bar = find(".sends-bar", this.#root);
    bar.setAttribute("aria-label", [total, ...pieces.map(({ name, tokens: count }) => `${name} ${numbered(count)}`)].join(", "));
    bar.replaceChildren(...pieces.map((piece) => segment(piece, this.#hues)));
    this.#showParts(parts, files);
    document.dispatchEvent(new CustomEvent("attachments-cut", { detail: { cuts, canAsk: files !== false } }));
    this.#showUnseen(unseen);
  }

  /**
   * @param {import("./cost.js").Cost} cost
   * @param {string} why  Why the server reads again what it has read.
   * @param {boolean} isFree  Nothing is sent anywhere.
   */
  #showCost(cost, why, isFree) {
    const line = find(".sends-cost", this.#root);
    const told = [cost.price ? priceInWords(cost) : knownInWords(cost), rereadInWords(cost, why)];
    line.textContent = told.filter(Boolean).join(cost.price ? " · " : " ");
    line.hidden = isFree || !line.textContent;
    line.title = cost.price ? knownInWords(cost) : "";
  }

  /**
   * @param {readonly import("./parts.js").Part[]} parts
   * @param {boolean | null} files  The model may read files; `null` if there is no choice.
   */
  #showParts(parts, files) {
    const hadFocus = document.activeElement === this.#files;
    const rows = parts.map((part) => row(part, NO_HUES));
    if (files !== null) {
      const at = parts.findIndex(({ part }) => part === "tools");
      const tools = row({ ...(parts[at] ?? { part: "tools", tokens: 0, share: 0 }), name: FILES }, NO_HUES);
      const label = document.createElement("label");
      this.#files.checked = files;
      label.append(this.#files, tools.firstElementChild ?? "");
      tools.prepend(label);
      rows.splice(at < 0 ? rows.length : at, at < 0 ? 0 : 1, tools);
    }
    find(".sends-parts", this.#root).replaceChildren(...rows);
    if (hadFocus) this.#files.focus();
  }

  async #storeFiles() {
    try {
      await this.#wire.call("smart_context.set_file_tools", { chat_id: this.#chatId, on: this.#files.checked });
    } catch (error) {
      toast(`Couldn’t change what the model may look into: ${reasonOf(error)}`);
    }
    this.refresh();
  }

  /** @param {readonly { where: string, what: string }[]} places */
  #showUnseen(places) {
    const note = find(".sends-unseen", this.#root);
    note.hidden = places.length === 0;
    const told = places.slice(0, SHOWN_PLACES).map(({ where, what }) => `${what} in ${where}`);
    if (places.length > SHOWN_PLACES) told.push(`and ${places.length - SHOWN_PLACES} more`);
    const words = note.querySelector("span");
    if (words) words.textContent = `Not visible, but sent: ${told.join("; ")}.`;
  }
}
