// @ts-check
/** Where the next message is written, sent and stopped. */

import { isComposing } from "../lib/composing.js";
import { find } from "../lib/find.js";
import { fit } from "../lib/fitting.js";
import { commandIn } from "./commands.js";
import { Queue } from "./queue.js";
import { SlashMenu } from "./slash-menu.js";
import { recall, remember } from "../lib/memory.js";
import { reasonOf } from "../lib/text.js";

/** @typedef {import("./attached.js").Attached} Attached */
/** @typedef {import("./commands.js").Command} Command */
/**
 * @typedef {object} Deeds
 * @property {(text: string, attached: readonly Attached[], isOffPick?: boolean) => Promise<unknown>} send
 * @property {() => Promise<unknown>} stop
 * @property {(command: Command, words: string) => Promise<unknown>} run
 */

/** True where Enter is the only way to a new line: on a phone's keyboard, that has no Shift for it. @param {KeyboardEvent} event */
function isNewLine({ ctrlKey, metaKey }) {
  return !ctrlKey && !metaKey && matchMedia("(hover: none) and (pointer: coarse)").matches;
}

export class Composer {
  #form;
  #box;
  #attachments;
  #deeds;
  #draftKey;
  /** The draft as this page last read or wrote it. */
  #draft = "";
  #menu;
  #isAnswering = false;
  /** The user has stopped the answer. */
  #isStopped = false;
  /** True once it is known whether an answer was being written when the page was opened. */
  #isShown = false;
  #isSending = false;
  #queue;
  /** @type {readonly import("./commands.js").OwnCommand[]} */
  #own = [];

  /**
   * @param {HTMLFormElement} form
   * @param {string} chatId
   * @param {import("./attachments.js").Attachments} attachments
   * @param {Deeds} deeds
   */
  constructor(form, chatId, attachments, deeds) {
    this.#form = form;
    this.#box = /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea"));
    this.#attachments = attachments;
    this.#deeds = deeds;
    this.#draftKey = `draft:${chatId}`;
    this.#queue = new Queue(find(".queued", this.#form), `waiting:${chatId}`, () => {
      this.#show();
      this.#sendNext();
    });
    this.#menu = new SlashMenu(this.#box, find(".commands", this.#form), (name) => this.#choose(name));
  }

  /** Starts listening, with the draft from when the chat was last open. */
  start() {
    this.#draft = recall("localStorage", this.#draftKey);
    this.#box.value ||= this.#draft;
    addEventListener("storage", (event) => event.key === this.#draftKey && this.#follow(event.newValue ?? ""));
    this.#box.addEventListener("input", () => {
      find(".composer-problem", this.#form).hidden = true;
      this.#show();
    });
    this.#box.addEventListener("keydown", (event) => {
      if (this.#menu.press(event)) return;
      if (event.key !== "Enter" || event.shiftKey || isComposing(event) || isNewLine(event)) return;
      event.preventDefault();
      this.#form.requestSubmit();
    });
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#form.addEventListener("send-anyway", () => this.#send(true));
    addEventListener("resize", () => fit(this.#box));
    find(".stop", this.#form).addEventListener("click", () => {
      // Who stops an answer wants to think again about what was to follow it.
      this.hold();
      this.#isStopped = true; // Safari gives a button that is clicked no focus
      this.#attempt(this.#deeds.stop);
    });
    this.#queue.start();
    this.#menu.start();
    this.#form.addEventListener("attachments-changed", () => this.#show());
    this.#attachments.start();
    this.#show();
  }

  /** Offers to stop while an answer is being written. @param {boolean} isAnswering */
  setAnswering(isAnswering) {
    this.#isAnswering = isAnswering;
    if (isAnswering && !this.#isShown) this.#queue.goOn();
    this.#isShown = true;
    // The button that was pressed last goes away with the answer that it stopped.
    const focused = document.activeElement;
    const wasThere = focused === find(".stop", this.#form) || (this.#isStopped && focused === document.body);
    this.#show();
    if (!isAnswering) {
      this.#isStopped = false;
      if (wasThere) this.focus();
    }
    this.#sendNext();
  }

  /** Puts what waits back into the box, for the answer before it has failed. */
  hold() {
    this.#takeBack(this.#queue.takeAll());
  }

  focus() {
    this.#box.focus({ preventScroll: true });
  }

  /** Takes the commands that the user's notes hold. @param {readonly import("./commands.js").OwnCommand[]} own */
  setOwnCommands(own) {
    this.#own = own;
    this.#menu.setOwn(own);
  }

  /** Does what was chosen in the menu. @param {string} name */
  #choose(name) {
    const asked = commandIn(`/${name}`, this.#own);
    if (asked && "command" in asked) this.#run(asked.command);
    else if (asked && "text" in asked) this.#fill(asked.text);
  }

  /** Puts a text into the box, to go on with or to send. @param {string} text */
  #fill(text) {
    this.#box.value = text;
    this.focus();
    this.#box.setSelectionRange(text.length, text.length);
    this.#show();
  }

  #submit() {
    const asked = commandIn(this.#box.value, this.#own);
    if (!asked) this.#send();
    else if ("text" in asked) this.#fill(asked.text);
    else if ("command" in asked) this.#run(asked.command, asked.words);
    else this.#tell(asked.problem);
  }

  /** @param {boolean} [isOffPick]  It belongs to none of the picked topics. */
  async #send(isOffPick = false) {
    const text = this.#box.value;
    if (!text.trim()) return;
    const { hold } = this.#attachments;
    if (hold) {
      this.#tell(hold);
      return;
    }
    const attached = this.#attachments.take();
    this.#box.value = "";
    this.focus();
    if (this.#isBusy) this.#queue.add({ text, attached, isOffPick });
    else await this.#sendNow({ text, attached, isOffPick });
    this.#show();
  }

  /** @param {import("./queue.js").Waiting} message */
  async #sendNow({ text, attached, isOffPick }) {
    this.#isSending = true;
    this.#show();
    const kept = await this.#attempt(() => this.#deeds.send(text, attached, isOffPick));
    this.#isSending = false;
    if (kept) this.#sendNext();
    else this.#takeBack([{ text, attached, isOffPick }, ...this.#queue.takeAll()]);
    this.#show();
  }

  /** Sends what waits for the answer before it. */
  #sendNext() {
    if (this.#isBusy) return;
    const next = this.#queue.next();
    if (next) this.#sendNow(next);
  }

  /** Puts texts back, before what was typed since. @param {readonly import("./queue.js").Waiting[]} messages */
  #takeBack(messages) {
    if (!messages.length) return;
    this.#box.value = [...messages.map(({ text }) => text), this.#box.value].filter(Boolean).join("\n\n");
    this.#attachments.giveBack(messages.flatMap(({ attached }) => attached));
    this.#show();
  }

  get #isBusy() {
    return this.#isAnswering || this.#isSending;
  }

  /** @param {Command} command @param {string} [words] */
  async #run(command, words = "") {
    const text = this.#box.value;
    this.focus();
    await this.#give(text, () => this.#deeds.run(command, words));
    this.#show();
  }

  /**
   * Empties the box; puts the text back if the server never got it, before what was typed since.
   * @param {string} text
   * @param {() => Promise<unknown>} deed
   */
  async #give(text, deed) {
    this.#box.value = "";
    this.#show();
    const kept = await this.#attempt(deed);
    const since = this.#box.value;
    // With text after it, a command is none; it is quickly typed again.
    if (!kept && !(since && commandIn(text))) this.#box.value = [text, since].filter(Boolean).join("\n\n");
    return kept;
  }

  /** @param {() => Promise<unknown>} deed */
  async #attempt(deed) {
    find(".composer-problem", this.#form).hidden = true;
    try {
      await deed();
      return true;
    } catch (error) {
      this.#tell(reasonOf(error));
      return false;
    }
  }

  /** @param {string} words */
  #tell(words) {
    const problem = find(".composer-problem", this.#form);
    problem.textContent = words;
    problem.hidden = false;
  }

  #show() {
    const box = this.#box;
    if (box.value !== this.#draft) {
      this.#draft = box.value;
      remember("localStorage", this.#draftKey, this.#draft);
    }
    fit(this.#box);
    box.placeholder = this.#attachments.all.length ? "What about it?" : "Write a message";
    find(".stop", this.#form).hidden = !this.#isBusy;
    const send = /** @type {HTMLButtonElement} */ (find(".send", this.#form));
    send.hidden = this.#isBusy && !box.value.trim();
    send.disabled = !box.value.trim();
    send.title = this.#isBusy ? "Send after this answer" : "Send";
    this.#menu.show();
  }

  /** Takes over what was written in another tab, or sent there, unless the text here is another. @param {string} draft */
  #follow(draft) {
    const isSame = this.#box.value === this.#draft;
    this.#draft = draft;
    if (isSame) this.#box.value = draft;
    if (isSame) this.#show();
  }
}
