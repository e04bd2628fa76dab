// @ts-check
/** Shows a whole request to the letter, as it would be sent now, and where each text of it comes from. */

import { copied } from "../../lib/copied.js";
import { find } from "../../lib/find.js";
import { counted, reasonOf, visible } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { partsOf, totalInWords, withTopics } from "./parts.js";
import { colour, row, segment } from "./shown-parts.js";

const SHOWN_CHARACTERS = 200_000;

/** @typedef {{ role: string, content: unknown, tool_calls?: unknown }} PromptMessage */
/** @typedef {{ messages: PromptMessage[], tools?: unknown } & Record<string, unknown>} Body */
/** @typedef {{ part: string, topic: string, at: number }} Source  Of a text from that character on. */
/** @typedef {import("./parts.js").Preview & { body: Body, prompt_tokens: number[], prompt_sources: Source[][] }} WholePreview */
/** @typedef {(element: HTMLElement, source: Source) => string} Mark  Colours an element; gives the name of the source. */

export class ExactText {
  #dialog;
  /** @type {Body} */
  #body = { messages: [] };

  /** @param {HTMLDialogElement} dialog */
  constructor(dialog) {
    this.#dialog = dialog;
    const copy = /** @type {HTMLElement | null} */ (dialog.querySelector("[data-copy]"));
    copy?.addEventListener("click", () => {
      copied(copy, JSON.stringify(this.#body, null, 2)).catch((error) => toast(reasonOf(error)));
    });
  }

  /** @param {() => Promise<WholePreview>} ask @param {ReadonlyMap<string, string>} hues  Of topics, by label. */
  async open(ask, hues) {
    let preview;
    try {
      preview = await ask();
    } catch (error) {
      toast(`Couldn’t load the text: ${reasonOf(error)}`);
      return;
    }
    const { body, tokens, unfiltered, parts, part_names: names, by_topic: byTopic } = preview;
    this.#body = body;
    const pieces = withTopics(partsOf(parts, names, 0), byTopic);
    find(".exact-total", this.#dialog).textContent = totalInWords(tokens, unfiltered);
    find(".exact-bar", this.#dialog).replaceChildren(...pieces.map((piece) => segment(piece, hues)));
    find(".exact-parts", this.#dialog).replaceChildren(...pieces.map((piece) => row(piece, hues)));
    /** @type {Mark} */
    const mark = (element, source) => {
      colour(element, source, hues);
      return source.topic || (source.part === "history" ? "" : names[source.part]);
    };
    find(".exact-messages", this.#dialog).replaceChildren(...shown(preview, mark), ...fieldsOf(body, parts.tools));
    this.#dialog.showModal();
    find(".exact-body", this.#dialog).scrollTop = 0;
  }
}

/** @param {WholePreview} preview @param {Mark} mark */
function shown({ body: { messages: prompt }, prompt_tokens: tokens, prompt_sources: sources }, mark) {
  /** @type {HTMLElement[]} */
  const blocks = [];
  let room = SHOWN_CHARACTERS;
  for (const [at, message] of prompt.entries()) {
    if (room <= 0) {
      const left = prompt.length - at;
      blocks.push(element("p", `${counted(left, "more message")}; Copy includes everything.`));
      break;
    }
    const text = textOf(message);
    const isToCome = !text && at === prompt.length - 1;
    const block = piece(message.role, isToCome ? undefined : tokens[at]);
    block.dataset.role = message.role;
    if (isToCome) block.append(element("p", "Your message goes here."));
    else write(block, text.slice(0, room), sources[at], mark);
    blocks.push(block);
    if (text.length > room) blocks.push(element("p", "Only the beginning is shown; Copy includes everything."));
    room -= text.length;
  }
  return blocks;
}

/**
 * Writes a text into its block: as one, or where it has several sources, each under its name.
 * @param {HTMLElement} block @param {string} text @param {readonly Source[]} sources @param {Mark} mark
 */
function write(block, text, sources, mark) {
  if (sources.length < 2) {
    if (sources.length) block.querySelector("h3")?.after(element("span", mark(block, sources[0])));
    block.append(element("pre", visible(text)));
    return;
  }
  const characters = [...text]; // as the server counts them
  for (const [i, source] of sources.entries()) {
    if (source.at >= characters.length) break; // the end is not shown
    const part = element("div", "");
    const name = element("p", mark(part, source) || "Messages");
    part.append(name, element("pre", visible(characters.slice(source.at, sources[i + 1]?.at).join("").trim())));
    block.append(part);
  }
}

/**
 * What goes with the messages: the tools, then all other fields, which no model reads.
 * @param {Body} body @param {number} tokens  Of the tools.
 */
function fieldsOf({ messages: _, tools, ...others }, tokens) {
  return [
    ...(tools ? [field("tools", "Tools", tools, tokens)] : []),
    ...(Object.keys(others).length ? [field("others", "Other fields", others, 0)] : []),
  ];
}

/** @param {string} name @param {string} title @param {unknown} value @param {number} tokens */
function field(name, title, value, tokens) {
  const block = piece(title, tokens);
  block.dataset.field = name;
  if (name === "tools") block.dataset.part = name;
  block.append(element("pre", visible(JSON.stringify(value, null, 2).slice(0, SHOWN_CHARACTERS))));
  return block;
}

/** A piece of the request, with what it costs; it can be folded. @param {string} title @param {number} [tokens] */
function piece(title, tokens) {
  const block = document.createElement("details");
  block.className = "exact-message";
  block.open = true;
  const head = document.createElement("summary");
  if (tokens !== undefined) head.dataset.tokens = counted(tokens, "token");
  head.append(element("h3", title));
  block.append(head);
  return block;
}

/** @param {PromptMessage} message */
function textOf({ content, tool_calls: calls }) {
  const text = typeof content === "string" ? content : content ? JSON.stringify(content, null, 2) : "";
  return calls ? `${text}\n${JSON.stringify(calls, null, 2)}`.trim() : text;
}

/** @param {string} name @param {string} text */
function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  made.dir = "auto";
  return made;
}
