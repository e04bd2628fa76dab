// @ts-check
/** The page of all topics: a map or a list to walk in, narrowed by time and search, with what was said. */

import { addressOf, isSingle, narrowing, placeIn } from "../atlas/atlas.js";
import { startAtlasKeys } from "../atlas/atlas-keys.js";
import { showCrumbs } from "../atlas/crumbs.js";
import { chatsCounted, factsOf, noticeOf } from "../atlas/facts.js";
import { Inside } from "../atlas/inside.js";
import { startCard } from "../atlas/map-card.js";
import { moveFocus } from "../atlas/moving-focus.js";
import { makeStop, startRoving } from "../atlas/roving.js";
import { RowsSheet } from "../atlas/rows-sheet.js";
import { AtlasSource } from "../atlas/source.js";
import { ThemeMap } from "../atlas/theme-map.js";
import { TimeHandles } from "../atlas/time-handles.js";
import { showByTheme } from "../atlas/topic-list.js";
import { TopicSheet } from "../atlas/topic-sheet.js";
import { isShown, zoom } from "../atlas/zoom.js";
import { pageWire } from "../frame/connection.js";
import { startFrame } from "../frame/page-frame.js";
import { startTrust } from "../frame/trust.js";
import { find } from "../lib/find.js";
import { reasonOf, visible } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/** @typedef {import("../atlas/atlas.js").Place} Place */
/** @typedef {import("../atlas/atlas.js").Atlas} Atlas */
/** @typedef {import("../atlas/atlas.js").Theme} Theme */
/** @typedef {import("../atlas/atlas.js").Topic} Topic */

/** Above and below the cloud of a theme, as in the style sheet. */
const INSIDE_PADDING = 16;

const wire = pageWire();
startFrame();
startTrust(wire);
class TopicsPage {
  #place = placeIn(location.search);
  #outer = find("[data-layer=themes]");
  #inner = find("[data-layer=inside]");
  #search = /** @type {HTMLInputElement} */ (find("#topic-search"));
  #map = new ThemeMap(find(".themes"));
  #inside = new Inside(this.#inner);
  #sheet = new TopicSheet(find("[data-sheet=topic]"), wire);
  #rows = new RowsSheet(find("[data-sheet=rows]"));
  #source = new AtlasSource(wire, () => this.#show());
  #time = new TimeHandles(find(".time"), (dates) => this.#go(dates, this.#isNarrowed));
  /** The size of the map as it was last drawn: to ask for it would lay out all that has just changed. */
  #room = { width: 0, height: 0 };
  /** What there was beside the map then. */
  #around = "";
  /** How far the map is scrolled. */
  #scrolled = 0;

  start() {
    this.#search.value = this.#place.query;
    this.#source.start(() => this.#place);
    this.#sheet.start();
    this.#rows.start();
    this.#time.start();
    this.#listen();
    startRoving(find(".map-room"));
    startCard(find(".map-room"));
    startAtlasKeys(this.#search, {
      atlas: () => this.#source.atlas,
      go: (next) => this.#go(next),
      numbered: () => this.#numbered(),
      commands: () => this.#commands(),
      close: () => this.#close(),
    });
    this.#show();
  }

  get #isNarrowed() {
    return Object.keys(narrowing(this.#place)).length > 0;
  }

  /**
   * Goes to a place in the atlas.
   * @param {Partial<Place>} step
   * @param {boolean} [replaces]  It takes the place of this one in the browser's history.
   */
  #go(step, replaces = false) {
    const next = { ...this.#place, ...step };
    if (addressOf(next) === addressOf(this.#place)) return;
    history[replaces ? "replaceState" : "pushState"](null, "", addressOf(next));
    this.#enter(next);
  }

  /** @param {Place} next */
  #enter(next) {
    const follows = !document.activeElement?.closest(".topics-search, .view-switch, .time");
    const before = this.#place;
    this.#place = next;
    if (document.activeElement !== this.#search) this.#search.value = next.query;
    this.#source.narrow(next);
    this.#show();
    if (follows) moveFocus(before, next);
  }

  #show() {
    const { atlas } = this.#source;
    const isAbout = this.#source.isAbout(this.#place);
    find("main").ariaBusy = String(!this.#source.problem && !isAbout);
    this.#showNotice(atlas, isAbout);
    if (!atlas) return;
    const topic = atlas.topics.get(this.#place.topic);
    const theme = atlas.themes.find(({ id }) => id === (topic?.themeId ?? this.#place.theme));
    if ((this.#place.topic && !topic) || (this.#place.theme && !theme)) {
      toast("This topic is no longer there. Its messages may be in another one.");
      this.#go({ topic: "", theme: "" }, true);
      return;
    }
    this.#showHead(atlas, theme, topic);
    this.#showSheets(atlas, theme, topic);
    const within = topic ? [topic] : (theme?.topics ?? [...atlas.topics.values()]);
    this.#time.show(atlas, this.#place, within, (topic ?? theme)?.hue ?? "");
    this.#measure();
    // The map comes last: it fills the room that all else leaves.
    const drawn = this.#place.isList ? this.#showList(atlas) : this.#showMap(atlas, theme);
    const facts = factsOf(atlas, theme, drawn);
    if (find(".facts").textContent !== facts) find(".facts").textContent = facts;
  }

  /** @param {Atlas} atlas @param {Theme | undefined} theme @param {Topic | undefined} topic */
  #showHead(atlas, theme, topic) {
    const place = this.#place;
    showCrumbs(find(".crumbs ol"), place, theme, topic);
    document.title = `${visible((topic ?? theme)?.label ?? "Topics")} · ${document.title.split(" · ").slice(-1)[0]}`;
    find("main").toggleAttribute("data-topic-open", Boolean(topic));
    for (const button of document.querySelectorAll("[data-view]")) {
      button.ariaPressed = String((button.getAttribute("data-view") === "list") === place.isList);
    }
    const { isPaused } = this.#source;
    const [words, button] = /** @type {HTMLCollectionOf<HTMLElement>} */ (find(".unread").children);
    const unread = `${isPaused ? "" : "Reading "}${chatsCounted(atlas.pending)}${isPaused ? " not read yet" : "…"}`;
    find(".unread").hidden = !atlas.pending;
    if (words.textContent !== unread) words.textContent = unread;
    button.textContent = isPaused ? "Go on reading" : "Pause";
  }

  /** @param {Atlas} atlas @param {Theme | undefined} theme @param {Topic | undefined} topic */
  #showSheets(atlas, theme, topic) {
    const { query, isList } = this.#place;
    const found = atlas.found.filter(({ themeId }) => !theme || themeId === theme.id);
    const inside = isList ? [] : (theme?.topics.filter(({ now }) => now > 0) ?? []);
    find("[data-sheet=topic]").hidden = !topic;
    if (topic) this.#sheet.show(topic, this.#place);
    else this.#sheet.leave();
    this.#rows.show(topic ? [] : query ? found : inside, this.#place);
  }

  /** @param {Atlas} atlas @param {Theme | undefined} theme */
  #showMap(atlas, theme) {
    find(".map-room").hidden = atlas.topics.size === 0;
    find(".topic-list").hidden = true;
    const left = this.#inner.dataset.theme ?? "";
    this.#inner.dataset.theme = theme?.id ?? "";
    const drawn = theme ? atlas.topics.size : this.#map.show(atlas, this.#place, this.#room);
    if (Boolean(theme) !== isShown(this.#inner)) {
      const area = this.#map.areaOf(theme?.id ?? left);
      zoom(this.#outer, this.#inner, Boolean(theme), area && { ...area, y: area.y - this.#scrolled }, this.#room);
    }
    if (theme) this.#inside.show(theme, this.#place, this.#room.height - INSIDE_PADDING);
    makeStop(theme ? this.#inner : this.#outer);
    return drawn;
  }

  /** @param {Atlas} atlas */
  #showList(atlas) {
    const list = find(".topic-list");
    find(".map-room").hidden = true;
    list.hidden = atlas.topics.size === 0;
    showByTheme(list, atlas, this.#place);
    return atlas.topics.size;
  }

  /** The map has another size once something beside or below it has come or gone. */
  #measure() {
    const around = [...document.querySelectorAll(".sheet, .time, .unread")].map((part) => part instanceof HTMLElement && part.hidden);
    if (around.join() === this.#around || this.#place.isList) return;
    this.#around = around.join();
    find(".map-room").hidden = false;
    const { clientWidth: width, clientHeight: height } = find(".map-room");
    this.#room = { width, height };
  }

  /** @param {Atlas | null} atlas @param {boolean} isAbout */
  #showNotice(atlas, isAbout) {
    const { problem } = this.#source;
    const { title, words } = noticeOf(atlas, this.#place, { isAbout, problem, isOpen: wire.isOpen });
    find("main").toggleAttribute("data-empty", Boolean(title));
    find(".topics-empty").hidden = !title;
    if (find(".empty-title").textContent !== title) find(".empty-title").textContent = title;
    find(".empty-words").textContent = words;
    find("[data-clear]").hidden = !(atlas?.topics.size && title);
    find("[data-new]").hidden = !atlas || atlas.topics.size > 0 || atlas.pending > 0;
  }

  #clear() {
    this.#search.value = "";
    this.#go({ query: "", since: "", until: "" });
  }

  /** One step outwards; false at the top. */
  #close() {
    const { topic, theme, query, isList } = this.#place;
    if (document.activeElement === this.#search && this.#search.value) {
      this.#search.value = "";
      this.#go({ query: "" });
    } else if (topic) {
      const { atlas } = this.#source;
      const above = atlas?.themes.find(({ id }) => id === atlas.topics.get(topic)?.themeId);
      this.#go({ topic: "", theme: isList || query || !above || isSingle(above) ? "" : above.id });
    } else if (theme) this.#go({ theme: "" });
    else if (this.#isNarrowed) this.#clear();
    else return false;
    return true;
  }

  #listen() {
    document.addEventListener("click", (event) => this.#follow(event));
    addEventListener("popstate", () => this.#enter(placeIn(location.search)));
    this.#search.form?.addEventListener("submit", (event) => event.preventDefault());
    this.#search.addEventListener("input", () => {
      this.#go({ query: this.#search.value.trim(), topic: "" }, this.#place.query !== "");
    });
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => this.#go({ isList: button.getAttribute("data-view") === "list" }));
    }
    find("[data-back]").addEventListener("click", () => this.#close());
    find("[data-clear]").addEventListener("click", () => {
      this.#clear();
      this.#search.focus();
    });
    find(".unread button").addEventListener("click", () => this.#pause());
    new ResizeObserver(([{ contentRect }]) => {
      const room = { width: Math.round(contentRect.width), height: Math.round(contentRect.height) };
      if (!room.width || (room.width === this.#room.width && room.height === this.#room.height)) return;
      this.#room = room;
      this.#show();
    }).observe(find(".map-room"));
    this.#outer.addEventListener("scroll", () => (this.#scrolled = this.#outer.scrollTop), { passive: true });
    document.fonts.ready.then(() => {
      this.#map.measureAgain();
      this.#show();
    });
  }

  /** A plain click on a link goes to its theme or topic without loading the page; what is searched for stays. @param {MouseEvent} event */
  #follow(event) {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const isHeld = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (!link || isHeld || event.button || event.defaultPrevented || link.pathname !== "/topics" || link.origin !== location.origin || link.hash) return;
    event.preventDefault();
    const { theme, topic } = placeIn(link.search);
    this.#go({ theme, topic });
  }

  /** @returns {HTMLElement[]} */
  #numbered() {
    const inMap = isShown(this.#inner) ? "[data-layer=inside] .bubble" : ".theme-area";
    const links = document.querySelectorAll(this.#place.isList ? ".topic-list .topic-row" : inMap);
    return /** @type {HTMLElement[]} */ ([...links]).filter((link) => !link.closest("[inert]"));
  }

  /** @returns {[string, () => void][]} */
  #commands() {
    const { isList } = this.#place;
    /** @type {[string, () => void][]} */
    const commands = [[isList ? "Show the map" : "Show the list", () => this.#go({ isList: !isList })]];
    if (this.#isNarrowed) commands.push(["Clear search and time", () => this.#clear()]);
    const { atlas, isPaused } = this.#source;
    if (atlas?.pending) commands.push([isPaused ? "Go on reading chats" : "Pause reading chats", () => this.#pause()]);
    return commands;
  }

  #pause() {
    this.#source.pause().catch((error) => toast(reasonOf(error)));
  }
}

if (document.querySelector(".map-room")) new TopicsPage().start();
wire.connect();
