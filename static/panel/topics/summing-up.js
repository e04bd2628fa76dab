// @ts-check
/** Sums up topics: first the dialog shows what stays, what goes, and what the summary can’t back. */

import { find } from "../../lib/find.js";
import { counted, messagesCounted, numbered, reasonOf, visible } from "../../lib/text.js";

const TYPED_MS = 500;
const NEWS_OF_NOTHING = "…";

/** @typedef {{ summary: string, summed_up: string[], kept: { message_id: string, why: string }[], tokens_before: number, tokens_after: number, unsupported: string[], problem?: string }} Account */

class SummingUp {
  #wire;
  #chatId;
  #announce;
  #dialog = /** @type {HTMLDialogElement} */ (document.getElementById("sum-up"));
  #text = /** @type {HTMLTextAreaElement} */ (find("textarea", this.#dialog));
  /** @type {readonly string[]} */
  #topics = [];
  /** The newest question; an answer to an older one is not shown. */
  #asked = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #typing;

  /** @param {import("../../wire.js").Wire} wire @param {string} chatId @param {(words: string) => void} announce */
  constructor(wire, chatId, announce) {
    this.#wire = wire;
    this.#chatId = chatId;
    this.#announce = announce;
  }

  start() {
    document.addEventListener("sum-up-topics", (event) => this.#open(/** @type {CustomEvent} */ (event).detail.topics));
    this.#text.addEventListener("input", () => {
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => this.#check(), TYPED_MS);
      this.#offer();
    });
    find("form[data-sum-up]", this.#dialog).addEventListener("submit", (event) => {
      event.preventDefault();
      this.#apply();
    });
    find("[data-rewrite]", this.#dialog).addEventListener("click", () => this.#write());
    this.#dialog.addEventListener("close", () => (this.#asked += 1));
  }

  /** @param {readonly string[]} topics */
  #open(topics) {
    this.#topics = topics;
    find("h2", this.#dialog).textContent = `Sum up ${visible(topics.join(", "))}`;
    this.#text.value = "";
    /** @type {HTMLInputElement} */ (find("[name=instructions]", this.#dialog)).value = "";
    this.#show({ summary: "", summed_up: [], kept: [], tokens_before: 0, tokens_after: 0, unsupported: [] });
    this.#dialog.showModal();
    this.#text.focus();
    this.#write();
  }

  /** Lets the model write the summary. */
  async #write() {
    const { value } = /** @type {HTMLInputElement} */ (find("[name=instructions]", this.#dialog));
    this.#tell("Writing a summary…", true);
    try {
      const account = await this.#ask({ instructions: value });
      if (!account) return;
      this.#text.value = account.summary;
      this.#show(account);
      this.#tell(account.summed_up.length ? (account.problem ?? "") : "Nothing to sum up: all of its messages stay.");
    } catch (error) {
      // What would stay and go can be seen without a model, too.
      const account = await this.#ask({ summary: NEWS_OF_NOTHING }).catch(() => null);
      if (account) this.#show({ ...account, tokens_after: 0, unsupported: [] });
      this.#tell(account ? `${reasonOf(error)} You can write the summary yourself.` : reasonOf(error));
    }
    this.#text.focus();
  }

  /** Looks up what was typed. */
  async #check() {
    if (!this.#text.value.trim()) return;
    try {
      const account = await this.#ask({ summary: this.#text.value });
      if (account) this.#show(account);
    } catch (error) {
      this.#tell(reasonOf(error));
    }
  }

  async #apply() {
    this.#tell("", true);
    try {
      const account = await this.#ask({ summary: this.#text.value, apply: true });
      if (!account) return;
      this.#dialog.close();
      this.#announce(`A summary of ${messagesCounted(account.summed_up.length)} is sent in their place.`);
    } catch (error) {
      this.#tell(reasonOf(error));
    }
  }

  /** @param {Record<string, unknown>} params @returns {Promise<Account | null>} */
  async #ask(params) {
    clearTimeout(this.#typing);
    const asked = ++this.#asked;
    const account = await this.#wire.call("smart_context.compact_topics", { chat_id: this.#chatId, topics: this.#topics, ...params });
    return asked === this.#asked ? account : null;
  }

  /** @param {string} words @param {boolean} [isBusy] */
  #tell(words, isBusy = false) {
    const line = find(".sum-up-told", this.#dialog);
    line.textContent = words;
    this.#dialog.toggleAttribute("data-busy", isBusy);
    this.#offer(isBusy);
  }

  #offer(isBusy = false) {
    const button = /** @type {HTMLButtonElement} */ (find("button.primary", this.#dialog));
    const { count, longer } = find(".sum-up-gone", this.#dialog).dataset;
    button.disabled = isBusy || !this.#text.value.trim() || !count || longer === "";
  }

  /** @param {Account} account */
  #show({ summed_up: gone, kept, tokens_before: before, tokens_after: after, unsupported }) {
    const claims = find(".sum-up-claims", this.#dialog);
    claims.hidden = !unsupported.length;
    this.#list(".sum-up-claims ul", unsupported.map((claim) => [visible(claim), ""]));
    const isLonger = after > 0 && after >= before;
    const costs = after ? `Next message: ${numbered(before)} → ${counted(after, "token")}` : "";
    find(".sum-up-tokens", this.#dialog).textContent = isLonger ? `${costs}. Nothing to gain: shorten the summary.` : costs;
    find(".sum-up-gone", this.#dialog).toggleAttribute("data-longer", isLonger);
    find(".sum-up-gone", this.#dialog).dataset.count = gone.length ? String(gone.length) : "";
    this.#part(".sum-up-gone", `${messagesCounted(gone.length)} behind the summary`, gone.map((id) => [saidBy(id), ""]));
    this.#part(".sum-up-kept", `${messagesCounted(kept.length)} word for word`, kept.map(({ message_id: id, why }) => [saidBy(id), why]));
    this.#offer();
  }

  /** @param {string} selector @param {string} words @param {[string, string][]} rows */
  #part(selector, words, rows) {
    find(selector, this.#dialog).hidden = !rows.length;
    find(`${selector} summary`, this.#dialog).textContent = words;
    this.#list(`${selector} ul`, rows);
  }

  /** @param {string} selector @param {[string, string][]} rows */
  #list(selector, rows) {
    find(selector, this.#dialog).replaceChildren(
      ...rows.map(([words, why]) => {
        const line = document.createElement("li");
        const said = document.createElement("span");
        said.dir = "auto";
        said.textContent = words;
        line.append(said);
        if (why) line.append(Object.assign(document.createElement("small"), { textContent: why }));
        return line;
      }),
    );
  }
}

/** The beginning of a message, as far as it is on the page. @param {string} id */
function saidBy(id) {
  const words = document.getElementById(`m-${id}`)?.querySelector(".body")?.textContent ?? "";
  return words.replaceAll(/\s+/g, " ").trim().slice(0, 160) || "An earlier message";
}

/** @param {import("../../wire.js").Wire} wire @param {string} chatId @param {(words: string) => void} announce */
export function startSummingUp(wire, chatId, announce) {
  new SummingUp(wire, chatId, announce).start();
}
