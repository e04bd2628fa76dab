// @ts-check
/** The map of all themes: areas with the bubbles of their topics, each at its place for life. */

import { fitShort, widthInEms } from "../cloud/fit.js";
import { nest, nestIn, SMALLEST } from "../cloud/nest.js";
import { Ruler } from "../cloud/ruler.js";
import { recall, remember } from "../lib/memory.js";
import { counted, messagesCounted, visible } from "../lib/text.js";
import { addressOf, drawn, isSingle } from "./atlas.js";
import { isNews, keep, newBubble, showBubble } from "./bubbles.js";

/** @typedef {import("./atlas.js").Theme} Theme */

const PLACES = "atlas:places";
const MOST_DRAWN = 300;
const FEWEST_DRAWN = 40;
/** So many bubbles of the smallest size would fill a room to the brim. */
const CROWDED = 5.8;
const NAME_PX = 13;
const NAME_LINE = 18;
/** From the upper rim of a disc to its name. */
const NAME_TOP = 8;
/** Of the width of a name: the radius of a disc that has room for it at its top. */
const NAME_SHARE = 0.55;
/** A longer name stands on two lines. */
const WIDEST_LINE = 130;
const MOST_ROOMS = 8;
/** In a smaller bubble no label fits: measuring it would only take time. */
const SMALLEST_LABELLED = 15;
/** A long word is rather small than unsaid: one step nearer it is as large as others. */
const SMALLEST_TYPE = 8.5;

export class ThemeMap {
  #list;
  #ruler;
  #places = nestIn(recall("localStorage", PLACES));
  /** The places in rooms that it had before. @type {Map<string, import("../cloud/nest.js").Places>} */
  #rooms = new Map();
  #shown = "";
  /** @type {Map<string, import("../cloud/pack.js").Circle>} */
  #discs = new Map();

  /** @param {HTMLElement} list */
  constructor(list) {
    this.#list = list;
    this.#ruler = new Ruler(list);
  }

  /** Where a theme stands. @param {string} id */
  areaOf(id) {
    return this.#discs.get(id);
  }

  /** Another font is there: names and labels have another width. */
  measureAgain() {
    this.#ruler.forget();
    this.#shown = "";
  }

  /**
   * @param {import("./atlas.js").Atlas} atlas
   * @param {import("./atlas.js").Place} place
   * @param {{ width: number, height: number }} room  What it has to fill.
   * @returns {number}  How many topics are drawn.
   */
  show(atlas, place, room) {
    if (!room.width || !room.height) return 0;
    const themes = drawn(atlas.themes, mostIn(room), place.query ? atlas.found : []);
    // The font is asked for before hundreds of new elements wait for their styles.
    this.#ruler.widthOf("");
    keep(this.#list, themes, newTheme, showTheme);
    this.#layout(themes, room);
    return themes.reduce((sum, { topics }) => sum + topics.length, 0);
  }

  /** @param {Theme[]} themes @param {{ width: number, height: number }} room */
  #layout(themes, room) {
    const shown = JSON.stringify([room, themes.map(({ id, label, topics }) => [id, label, topics.map(drawnOf)])]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const sized = themes.map((theme) => ({ id: theme.id, ...roomOfName(theme), bubbles: theme.topics }));
    const { discs, bubbles, height, places } = nest(sized, room, this.#rooms.get(shown) ?? this.#places);
    this.#keep(shown, places);
    remember("localStorage", PLACES, JSON.stringify(places));
    // Pixels are whole and the room may not be: then a part of one could be scrolled.
    this.#list.style.height = height > room.height ? `${Math.ceil(height)}px` : "100%";
    this.#discs = new Map(discs.map((disc, i) => [themes[i].id, disc]));
    for (const [i, { x, y, r }] of discs.entries()) {
      const entry = /** @type {HTMLElement} */ (this.#list.children[i]);
      setLengths(entry, { "--x": x - r, "--y": y - r, "--d": 2 * r });
      showName(entry, sized[i], r);
      for (const [j, bubble] of bubbles[i].entries()) this.#place(entry, j, themes[i].topics[j].label, bubble, r);
    }
  }

  /** @param {HTMLElement} theme @param {number} j @param {string} label @param {import("../cloud/pack.js").Circle} bubble @param {number} disc */
  #place(theme, j, label, { x, y, r }, disc) {
    const element = bubbleIn(theme, j);
    setLengths(element, { "--x": disc + x - r, "--y": disc + y - r, "--d": 2 * r });
    element.toggleAttribute("data-bare", true);
    if (r < SMALLEST_LABELLED) return;
    const fitted = fitShort(visible(label), 2 * r, this.#ruler.widthOf, SMALLEST_TYPE);
    const { words, size, width, lines, isCounted } = fitted;
    const shown = /** @type {HTMLElement} */ (element.firstElementChild);
    if (shown.textContent !== words) shown.textContent = words;
    element.toggleAttribute("data-bare", !words);
    element.toggleAttribute("data-uncounted", !isCounted);
    setLengths(element, { "--type": size, "--label-width": width });
    element.style.setProperty("--lines", String(lines));
  }

  /** Whoever opens a sheet and closes it finds the places again. @param {string} shown @param {import("../cloud/nest.js").Places} places */
  #keep(shown, places) {
    this.#places = places;
    this.#rooms.set(shown, places);
    const [oldest] = this.#rooms.keys();
    if (this.#rooms.size > MOST_ROOMS) this.#rooms.delete(oldest);
  }
}

/** @param {{ width: number, height: number }} room */
function mostIn({ width, height }) {
  const fit = Math.floor((width * height) / (CROWDED * Math.PI * SMALLEST ** 2));
  return Math.max(FEWEST_DRAWN, Math.min(MOST_DRAWN, fit));
}

/**
 * What a name takes of its disc: nothing if the theme is one bubble, which says it.
 * @param {Theme} theme
 * @returns {{ lines: number, cap: number, least: number }}
 */
export function roomOfName(theme) {
  if (isSingle(theme)) return { lines: 0, cap: 0, least: 0 };
  const width = NAME_PX * widthInEms(visible(theme.label));
  const lines = width > WIDEST_LINE ? 2 : 1;
  return { lines, cap: NAME_TOP + lines * NAME_LINE, least: NAME_SHARE * Math.min(WIDEST_LINE, width) };
}

/** Shows a name as wide as the disc is at its first line. @param {HTMLElement} entry @param {{ lines: number }} name @param {number} disc  Its radius. */
function showName(entry, { lines }, disc) {
  const depth = NAME_TOP + NAME_LINE / 2;
  setLengths(entry, { "--name-width": 2 * Math.sqrt(Math.max(0, depth * (2 * disc - depth))) });
  entry.style.setProperty("--name-lines", String(lines));
}

/** What the place and the size of a bubble follow from. @param {import("./atlas.js").Topic} topic */
function drawnOf({ id, label, count }) {
  return [id, label, count];
}

/** @param {HTMLElement} theme @param {number} j */
function bubbleIn(theme, j) {
  return /** @type {HTMLElement} */ (theme.lastElementChild?.children[j]?.firstElementChild);
}

function newTheme() {
  const entry = document.createElement("li");
  entry.className = "theme";
  const area = document.createElement("a");
  area.className = "theme-area";
  area.draggable = false;
  const name = document.createElement("span");
  name.className = "theme-name";
  name.dir = "auto";
  area.append(name);
  const bubbles = document.createElement("ul");
  entry.append(area, bubbles);
  return entry;
}

/** @param {HTMLElement} entry @param {Theme} theme */
function showTheme(entry, theme) {
  const [area, bubbles] = /** @type {HTMLCollectionOf<HTMLElement>} */ (entry.children);
  keep(bubbles, theme.topics, newBubble, (bubble, topic) => showBubble(bubble, topic, false));
  const kept = theme.topics.filter(({ now }) => now > 0).length;
  if (!isNews(entry, [theme.label, theme.hue, theme.now, kept])) return;
  entry.dataset.hue = theme.hue;
  entry.inert = theme.now === 0;
  entry.dataset.theme = theme.id;
  entry.toggleAttribute("data-single", isSingle(theme));
  /** @type {HTMLAnchorElement} */ (area).href = addressOf(isSingle(theme) ? { topic: theme.topics[0].id } : { theme: theme.id });
  area.ariaLabel = `${visible(theme.label)}: ${counted(kept, "topic")}, ${messagesCounted(theme.now)}`;
  const name = /** @type {HTMLElement} */ (area.firstElementChild);
  name.textContent = visible(theme.label);
  name.title = visible(theme.label);
  bubbles.ariaLabel = `Topics of ${visible(theme.label)}`;
}

/** @param {HTMLElement} element @param {Record<string, number>} lengths */
function setLengths(element, lengths) {
  for (const [name, length] of Object.entries(lengths)) element.style.setProperty(name, `${length.toFixed(1)}px`);
}
