// @ts-check
/** The commands that a slash in the message box shows: arrows choose, Enter runs, Escape closes. */

import { isComposing } from "../lib/composing.js";
import { clone } from "../lib/from-template.js";
import { visible } from "../lib/text.js";
import { commandsFrom } from "./commands.js";

/** @typedef {import("./commands.js").OwnCommand} OwnCommand */

export class SlashMenu {
  #box;
  #list;
  #run;
  #chosen = 0;
  /** The text at which the user closed the menu. */
  #closedFor = "";
  #shownFor = "";
  /** @type {readonly OwnCommand[]} */
  #own = [];

  /** @param {HTMLTextAreaElement} box @param {HTMLElement} list @param {(name: string) => void} run */
  constructor(box, list, run) {
    this.#box = box;
    this.#list = list;
    this.#run = run;
  }

  start() {
    this.#list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.#list.addEventListener("click", (event) => {
      const option = event.target instanceof Element ? event.target.closest("[data-command]") : null;
      if (option instanceof HTMLElement) this.#run(option.dataset.command ?? "");
    });
    this.#box.addEventListener("blur", () => this.#close());
    this.#box.addEventListener("focus", () => this.show());
  }

  /** Takes the commands that the user's notes hold. @param {readonly OwnCommand[]} own */
  setOwn(own) {
    this.#own = own;
    for (const old of this.#list.querySelectorAll("[data-own]")) old.remove();
    this.#list.append(...own.map(({ name, hint }) => {
      const option = clone("own-command-template");
      Object.assign(option.dataset, { own: "", command: name });
      option.id = `slash-own-${name}`;
      const [key, words] = /** @type {any} */ (option.children);
      [key.textContent, words.textContent] = [`/${name}`, visible(hint)];
      return option;
    }));
    this.show();
  }

  /** Call it whenever the text may have changed. */
  show() {
    const { value } = this.#box;
    if (value !== this.#closedFor) this.#closedFor = "";
    const isWanted = document.activeElement === this.#box && !this.#closedFor;
    const possible = isWanted ? commandsFrom(value, this.#own) : [];
    for (const option of this.#all()) option.hidden = !possible.includes(option.dataset.command ?? "");
    this.#list.hidden = !possible.length;
    this.#choose(value === this.#shownFor ? this.#chosen : 0);
    this.#shownFor = value;
  }

  /** Handles a key; true if the menu used it. @param {KeyboardEvent} event */
  press(event) {
    const options = this.#shown();
    if (!options.length || event.shiftKey || isComposing(event)) return false;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.#choose((this.#chosen + step + options.length) % options.length);
    else if (event.key === "Escape") this.#close();
    else if (event.key === "Enter" || event.key === "Tab") this.#run(options[this.#chosen].dataset.command ?? "");
    else return false;
    event.preventDefault();
    return true;
  }

  #close() {
    this.#closedFor = this.#box.value;
    this.#list.hidden = true;
    this.#choose(0);
  }

  /** @param {number} place */
  #choose(place) {
    this.#chosen = place;
    const options = this.#shown();
    for (const option of this.#all()) option.setAttribute("aria-selected", String(option === options[place]));
    if (options[place]) this.#box.setAttribute("aria-activedescendant", options[place].id);
    else this.#box.removeAttribute("aria-activedescendant");
  }

  #all() {
    return /** @type {HTMLElement[]} */ ([...this.#list.querySelectorAll("[data-command]")]);
  }

  #shown() {
    return this.#list.hidden ? [] : this.#all().filter((option) => !option.hidden);
  }
}
