// @ts-check
/** Where the page gets the atlas from: all of it, and what a place keeps of it. Asks again when it changes. */

import { newest } from "../lib/newest.js";
import { reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";
import { atlasOf, narrowing, TIME_ZONE } from "./atlas.js";

/** @typedef {import("./atlas.js").Place} Place */
/** @typedef {import("./atlas.js").Values} Values */
/** @typedef {{ whole: Values, kept: Values | undefined, keptFor: string, isPaused: boolean }} Answer */

const NARROW_MS = 140;
const LIVE_MS = 400;

export class AtlasSource {
  #wire;
  #onChange;
  #narrowed;
  #changed;
  /** @type {Answer | null} */
  #answer = null;
  /** Why there is nothing, for the user; empty if nothing is wrong. */
  problem = "";
  isPaused = false;

  /** @param {import("../wire.js").Wire} wire @param {() => void} onChange */
  constructor(wire, onChange) {
    this.#wire = wire;
    this.#onChange = onChange;
    const take = (/** @type {Answer} */ answer) => this.#take(answer);
    const fail = (/** @type {unknown} */ error) => {
      this.problem = reasonOf(error);
      // That the server is away is said by the page's notice.
      if (this.#answer && wire.isOpen) toast(this.problem);
      onChange();
    };
    this.#narrowed = newest(NARROW_MS, take, fail);
    this.#changed = newest(LIVE_MS, take, fail);
  }

  /** Follows the server. @param {() => Place} placeNow */
  start(placeNow) {
    this.#wire.on("smart_context.atlas_changed", ({ pending }) => {
      if (this.#answer && typeof pending === "number") this.#answer.whole = { ...this.#answer.whole, pending };
      this.#onChange();
      this.#changed.ask(() => this.#look(placeNow(), null));
    });
    this.#wire.onStatus((status) => {
      if (status === "open") this.#look(placeNow(), null).then((answer) => this.#take(answer), (error) => this.#take(null, reasonOf(error)));
      else this.#onChange();
    });
  }

  /** The atlas as it is known; null until the server has answered. */
  get atlas() {
    return this.#answer && atlasOf(this.#answer.whole, this.#answer.kept);
  }

  /** Whether what is known is about this place. @param {Place} place */
  isAbout(place) {
    return this.#answer?.keptFor === keyOf(place);
  }

  /** Asks for what another place keeps. @param {Place} place */
  narrow(place) {
    if (!this.#answer || this.isAbout(place)) return;
    const { whole } = this.#answer;
    this.#narrowed.ask(() => this.#look(place, whole));
    // All of it is there already.
    if (keyOf(place) === keyOf(null)) this.#answer = { ...this.#answer, kept: undefined, keptFor: keyOf(null) };
  }

  /** Pauses the reading of chats in the background, or lets it go on. */
  async pause() {
    const { paused } = await this.#wire.call("smart_context.pause_atlas", { paused: !this.isPaused });
    this.isPaused = paused;
    this.#onChange();
  }

  /** @param {Place} place @param {Values | null} known @returns {Promise<Answer>} */
  async #look(place, known) {
    const ask = (/** @type {Record<string, unknown>} */ params) => this.#wire.call("smart_context.atlas", { ...params, time_zone: TIME_ZONE });
    const params = narrowing(place);
    const isNarrowed = Object.keys(params).length > 0;
    const reading = known ? { paused: this.isPaused } : this.#wire.call("smart_context.pause_atlas");
    const asked = [known ?? ask({}), isNarrowed ? ask(params) : undefined, reading];
    const [whole, kept, { paused }] = await Promise.all(asked);
    return { whole, kept, keptFor: keyOf(place), isPaused: paused };
  }

  /** @param {Answer | null} answer @param {string} [problem] */
  #take(answer, problem = "") {
    if (answer) this.#answer = answer;
    this.problem = problem;
    this.isPaused = answer?.isPaused ?? this.isPaused;
    this.#onChange();
  }
}

/** @param {Place | null} place */
function keyOf(place) {
  return JSON.stringify(place ? narrowing(place) : {});
}
