// @ts-check
/** The Topics tab: shows what the plugin says, and tells it what the user picks. */

import { bubblesOf, inputOf, showCloud } from "../../cloud/cloud-view.js";
import { find } from "../../lib/find.js";
import { messagesCounted, reasonOf, visible } from "../../lib/text.js";
import { toast } from "../../lib/toasts.js";
import { inside, isFiltered, NOTHING_KNOWN, withNews } from "../../cloud/topic-state.js";
import { isOn } from "../plugin-notices.js";
import { Waiting } from "./waiting.js";

/** What a choice has done, in words. @type {Record<string, string>} */
const DONE = { set_filter: "picked", pin: "pinned", hide: "hidden" };

export class TopicsPanel {
  #root;
  #wire;
  #chatId;
  /** @type {import("../../cloud/topic-state.js").PanelState} */
  state = NOTHING_KNOWN;
  /** The newest wish of this page; an answer to an older one is not shown. */
  #wish = 0;
  #waiting;
  /** How many events were shown: an answer that one of them overtook may be older than it. */
  #heard = 0;

  /**
   * @param {HTMLElement} root  The `.topics` element.
   * @param {import("../../wire.js").Wire} wire
   */
  constructor(root, wire) {
    this.#root = root;
    this.#waiting = new Waiting(root);
    this.#wire = wire;
    this.#chatId = root.dataset.chatId ?? "";
  }

  /** Listens to the user and to the server. */
  start() {
    this.#apply(JSON.parse(this.#root.dataset.state || "{}"));
    this.#listenToUser();
    for (const event of ["smart_context.topics_updated", "smart_context.filter_changed"]) {
      this.#wire.on(event, (news) => this.#isOurs(news) && this.#hear(news));
    }
    this.#wire.on("smart_context.extraction", (news) => this.#isOurs(news) && this.#showExtraction(news));
    this.#wire.on("chat.finished", (news) => this.#isOurs(news) && this.refresh());
    this.#wire.on("system.plugins_changed", ({ plugins }) => isOn(plugins) && this.refresh());
    this.#wire.onStatus((status) => {
      this.#root.toggleAttribute("data-offline", status !== "open");
      if (status === "open") this.refresh();
    });
  }

  /** Asks for everything again; the server's state wins over what the page shows. */
  async refresh() {
    if (!this.#chatId || !this.#wire.isOpen) return;
    try {
      const [wish, heard] = [this.#wish, this.#heard];
      const news = await this.#call("get_topics", {});
      if (wish !== this.#wish || this.#waiting.isOn) return;
      if (heard === this.#heard) this.#apply(news);
      else await this.refresh();
    } catch (error) {
      this.#showReason(reasonOf(error));
    }
  }

  /** @param {readonly string[]} topics */
  async pick(topics) {
    return this.#change("set_filter", { topics }, { active_topics: topics });
  }

  /** Picks a topic, or lets it go. @param {string} label */
  async toggle(label) {
    const { active } = this.state;
    await this.pick(active.includes(label) ? active.filter((one) => one !== label) : [...active, label]);
  }

  /** Pins, hides or releases messages. @param {"pin" | "hide" | "release"} verb @param {readonly string[]} messageIds */
  async mark(verb, messageIds) {
    return this.#change(verb, { message_ids: messageIds }, {});
  }

  /**
   * Shows the wish at once, and then what the server made of it; if it fails, what was before.
   * @param {string} command
   * @param {Record<string, unknown>} params
   * @param {Record<string, unknown>} hoped
   * @returns {Promise<boolean>}  Whether the server did it.
   */
  async #change(command, params, hoped) {
    const wish = ++this.#wish;
    const isAway = !this.#wire.isOpen;
    this.#waiting.begin();
    const before = this.state;
    this.state = { ...withNews(this.state, hoped), messageIds: before.messageIds };
    showCloud(this.#root, this.state);
    try {
      const news = await this.#call(command, params);
      if (wish === this.#wish) this.#apply(news);
      return true;
    } catch (error) {
      if (wish === this.#wish) {
        this.state = before;
        // That the connection was lost meanwhile is said by the page's notice.
        this.#apply(this.#wire.isOpen ? { reason: reasonOf(error) } : {});
        if (isAway && !this.#wire.isOpen) toast(`Not ${DONE[command] ?? "changed"}: the server can’t be reached.`);
      }
      return false;
    } finally {
      this.#waiting.end();
    }
  }

  /** @param {Record<string, any>} news */
  #hear(news) {
    // While our own wish is on its way, what it is answered with is newer than this.
    if (this.#waiting.isOn && news.active_topics) return;
    this.#heard += 1;
    this.#apply(news);
    if (news.active_topics && news.embedding_search === undefined) this.refresh();
  }

  /** @param {import("../../cloud/topic-state.js").News} news */
  #apply(news) {
    this.state = withNews(this.state, news);
    const { state } = this;
    showCloud(this.#root, state);
    find(".always-count", this.#root).textContent = state.stickyCount ? messagesCounted(state.stickyCount) : "none yet";
    find(".cloud", this.#root).toggleAttribute("disabled", !state.isOn);
    for (const name of ["clear", "more"]) find(`[data-panel=${name}]`, this.#root).hidden = state.active.length === 0;
    const similarity = /** @type {HTMLInputElement} */ (find("[data-panel=similarity]", this.#root));
    similarity.checked = state.isOn;
    find(".switch-row", this.#root).title = state.isOn ? "Picked topics decide what is sent" : "Off: everything is sent";
    if (state.status) this.#waiting.tell(state.status);
    this.#showMoved();
    this.#root.toggleAttribute("data-filtered", isFiltered(state));
    this.#root.toggleAttribute("data-fell-back", state.fellBack);
    this.#showReason(state.reason);
    this.#tellPage();
  }

  #tellPage() {
    this.#root.dispatchEvent(new CustomEvent("panel-changed", { bubbles: true, detail: this.state }));
    if (!this.state.messageIds) return;
    const detail = { message_ids: [...this.state.messageIds] };
    document.dispatchEvent(new CustomEvent("smart_context.highlight", { detail }));
  }

  /** @param {{ state: string, reason?: string }} news */
  #showExtraction({ state, reason }) {
    this.#root.dataset.extraction = state;
    const what = this.state.all.length ? "Topics keep the names they have" : "Couldn’t find topics";
    const failed = `${what}: ${reason || "the model gave no reason"}`;
    const isFirst = state === "running" && !this.state.all.length && this.state.total > 0;
    find(".cloud-empty-title", this.#root).textContent = isFirst ? `Reading ${messagesCounted(this.state.total)} for topics…` : "Topics appear here";
    find(".cloud-empty-words", this.#root).hidden = isFirst;
    find(".extraction-text", this.#root).textContent = { running: "Finding topics…", failed }[state] ?? "";
  }

  /** Says which messages moved between topics, until that is undone or another choice follows. */
  #showMoved() {
    const { moved, undoWords } = this.state;
    const notice = find(".moved", this.#root);
    const words = moved.length ? `${visible(undoWords)}.` : "";
    // What is said again as it was is not read out again.
    if (find(".moved-text", this.#root).textContent !== words) find(".moved-text", this.#root).textContent = words;
    notice.title = moved[0]?.why ?? "";
    notice.hidden = !moved.length;
  }

  /** @param {string} reason */
  #showReason(reason) {
    const line = find(".reason", this.#root);
    line.hidden = !reason;
    line.textContent = reason;
  }

  #listenToUser() {
    const cloud = find("bubble-cloud", this.#root);
    cloud.addEventListener("change", () => {
      const shown = bubblesOf(cloud).map(inputOf);
      const elsewhere = this.state.active.filter((label) => !shown.some((input) => input.value === label));
      this.pick([...elsewhere, ...shown.filter((input) => input.checked).map((input) => input.value)]);
    });
    this.#root.addEventListener("keydown", (event) => this.#press(event));
    this.#root.addEventListener("click", (event) => {
      const target = event.target instanceof Element ? event.target : null;
      const gone = target?.closest("[data-remove]")?.closest("[data-label]");
      if (gone instanceof HTMLElement) this.pick(this.state.active.filter((label) => label !== gone.dataset.label));
      if (target?.closest("[data-panel=clear]")) this.pick([]);
      const opener = target?.closest(".bubble-open")?.closest(".bubble");
      if (opener instanceof HTMLElement) this.#open(opener.dataset.topic ?? "");
      if (target?.closest("[data-panel=outside]")) this.#open("");
      if (target?.closest("[data-panel=refresh]")) this.findTopics();
    });
    const similarity = /** @type {HTMLInputElement} */ (find("[data-panel=similarity]", this.#root));
    similarity.addEventListener("change", () => {
      const enabled = similarity.checked;
      this.#change("set_similarity_mode", { enabled }, { embedding_search: enabled, active_topics: [] });
    });
  }

  /** Shows the parts of a topic, or all topics again. @param {string} id  Empty: all. */
  #open(id) {
    const before = this.state.inside;
    this.state = inside(this.state, id);
    showCloud(this.#root, this.state);
    this.#tellPage();
    const button = id ? "[data-panel=outside]" : `.bubble[data-topic="${CSS.escape(before)}"] .bubble-open`;
    /** @type {HTMLElement | null} */ (this.#root.querySelector(button))?.focus();
  }

  /** @param {KeyboardEvent} event */
  #press(event) {
    const input = event.target;
    if (event.key !== "Enter" || !(input instanceof HTMLInputElement) || input.type !== "checkbox") return;
    event.preventDefault();
    input.click();
  }

  /** Finds the topics of the chat again. */
  async findTopics() {
    try {
      await this.#call("refresh_topics", { regroup: true });
    } catch (error) {
      this.#showExtraction({ state: "failed", reason: reasonOf(error) });
    }
  }

  /** @param {string} command @param {Record<string, unknown>} params */
  #call(command, params) {
    return this.#wire.call(`smart_context.${command}`, { chat_id: this.#chatId, ...params });
  }

  /** @param {{ chat_id?: string }} news */
  #isOurs(news) {
    return news.chat_id === this.#chatId;
  }
}
