// @ts-check
/** Follows the newest message while the reader is at the end, and never moves them otherwise. */

import { messagesInView } from "../list/messages-in-view.js";

const NEAR_PX = 80;
const SETTLING_FRAMES = 5;
/** How far below the top of the window a target message is placed. */
export const LEAD_IN = 0.2;
const NOWHERE = -1000;
const SCROLLED_BY_HAND = ["wheel", "touchstart", "pointerdown", "keydown"];
/** A native menu swallows the release of what opened it. */
const RELEASED = ["pointerup", "pointercancel", "contextmenu", "blur"];

/**
 * Where the reader is.
 * @typedef {object} Place
 * @property {boolean} isAtEnd
 * @property {readonly { message: HTMLElement, top: number }[]} seen  What is in view, that in the middle first.
 */

export class Scroll {
  #scroll;
  #content;
  #button;
  #onTop = () => {};
  #isAtEnd = true;
  #top = 0;
  /** Changes when the user scrolls or a newer scroll begins, which ends an older one. */
  #wish = 0;
  #ownTop = NOWHERE;
  /** While something is pressed nothing moves away under the pointer: the release would be elsewhere, and no click. */
  #isPressed = false;
  /** Padding above and below, where there are too few messages to hold the position. */
  #room = { before: 0, after: 0 };

  /** @param {HTMLElement} scroll @param {HTMLElement} button  Leads back to the end. */
  constructor(scroll, button) {
    this.#scroll = scroll;
    this.#content = /** @type {HTMLElement} */ (scroll.firstElementChild);
    this.#button = button;
  }

  get element() {
    return this.#scroll;
  }

  /** @param {() => void} onTop  Called when the reader comes near the oldest message shown. */
  start(onTop) {
    const scroll = this.#scroll;
    this.#onTop = onTop;
    scroll.addEventListener("scroll", () => {
      this.#scrolled();
      this.askForOlder();
    }, { passive: true });
    // At the very top the wheel causes no scroll event.
    scroll.addEventListener("wheel", () => this.askForOlder(), { passive: true });
    for (const event of SCROLLED_BY_HAND) scroll.addEventListener(event, () => (this.#wish += 1), { passive: true });
    const sizes = new ResizeObserver(() => {
      this.#top = scroll.scrollTop;
      this.#follow();
    });
    sizes.observe(scroll);
    sizes.observe(this.#content);
    scroll.addEventListener("pointerdown", () => (this.#isPressed = true), { passive: true });
    // A click follows its release, and finds what was pressed still in its place.
    for (const event of RELEASED) addEventListener(event, () => this.#isPressed && setTimeout(() => this.#release()));
    this.#button.addEventListener("click", () => this.toEnd());
    if ("scrolled" in document.documentElement.dataset) this.#isAtEnd = false;
    else if (!location.hash) this.#jump();
  }

  #release() {
    this.#isPressed = false;
    this.#follow();
  }

  #follow() {
    if (this.#isAtEnd && !this.#isPressed) this.#jump();
  }

  /** Asks for older messages if the reader is near the oldest on the page. */
  askForOlder() {
    if (this.#scroll.scrollTop < 2 * this.#scroll.clientHeight) this.#onTop();
  }

  /** Shows the messages. By the third frame those in view have their true height. */
  showSoon() {
    const frame = () => new Promise(requestAnimationFrame);
    frame().then(frame).then(frame).then(() => this.#content.toggleAttribute("data-ready", true));
  }

  /** Shows the newest message and stays there. */
  toEnd() {
    this.#wish += 1;
    this.#isAtEnd = true;
    this.#follow();
  }

  /** Where the reader is now. @returns {Place} */
  place() {
    this.#scrolled(); // who has just scrolled is told of only with the next frame
    return { isAtEnd: this.#isAtEnd, seen: messagesInView(this.#scroll) };
  }

  /** True if the reader has scrolled since the page last put something in its place; see `place`. */
  get isByHand() {
    return !this.#isAtEnd && this.#ownTop === NOWHERE;
  }

  /** Shows the beginning of a message. @param {HTMLElement} message */
  show(message) {
    const { top, height } = this.#scroll.getBoundingClientRect();
    this.hold(message, top + LEAD_IN * height, { makesRoom: false });
  }

  /**
   * Puts an element where it was in the window. Those that come into sight take their true height
   * with the next frames; who scrolls meanwhile is left alone.
   * @param {HTMLElement} element
   * @param {number} top
   * @param {{ makesRoom?: boolean, then?: () => void }} [how]  Whether it gets there even if there is too little to scroll; what to do once it is there.
   */
  hold(element, top, { makesRoom = true, then } = {}) {
    this.#setRoom(0, 0);
    this.#isAtEnd = false;
    const wish = ++this.#wish;
    const settle = (/** @type {number} */ frames) => {
      if (wish !== this.#wish || !element.isConnected) return;
      this.#moveBy(element.getBoundingClientRect().top - top, makesRoom);
      if (frames) requestAnimationFrame(() => settle(frames - 1));
      else then?.();
    };
    settle(SETTLING_FRAMES);
  }

  /** @param {number} distance @param {boolean} makesRoom */
  #moveBy(distance, makesRoom) {
    const scroll = this.#scroll;
    const goal = scroll.scrollTop + distance;
    const missing = goal - (scroll.scrollHeight - scroll.clientHeight);
    const { before, after } = this.#room;
    if (makesRoom && goal < -1) this.#setRoom(before - goal, after);
    if (makesRoom && missing > 1) this.#setRoom(before, after + missing);
    scroll.scrollTop = Math.max(goal, 0);
    this.#ownTop = scroll.scrollTop;
    this.#showButton();
  }

  #scrolled() {
    const { scrollTop: top } = this.#scroll;
    if (Math.abs(top - this.#ownTop) > 1) {
      // Only scrolling up leaves the end; new content below does not.
      this.#isAtEnd = this.#isNearEnd() || (this.#isAtEnd && top >= this.#top - 1);
      this.#ownTop = NOWHERE;
      this.#giveBackRoom();
    }
    this.#top = this.#scroll.scrollTop;
    this.#showButton();
  }

  /** Removes the part of the padding that is out of sight. */
  #giveBackRoom() {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroll;
    const { before, after } = this.#room;
    if (!before && !after) return;
    const hidden = Math.min(before, scrollTop);
    this.#setRoom(before - hidden, Math.max(0, Math.min(after, after - (scrollHeight - scrollTop - clientHeight))));
    this.#scroll.scrollTop = scrollTop - hidden;
  }

  /** @param {number} before @param {number} after */
  #setRoom(before, after) {
    if (before === this.#room.before && after === this.#room.after) return;
    this.#room = { before, after };
    this.#content.style.setProperty("--room-before", `${before}px`);
    this.#content.style.setProperty("--room-after", `${after}px`);
  }

  #isNearEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroll;
    return scrollHeight - this.#room.after - scrollTop - clientHeight < NEAR_PX;
  }

  #showButton() {
    this.#button.hidden = this.#isAtEnd || this.#isNearEnd();
  }

  #jump() {
    this.#setRoom(0, 0);
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
    this.#ownTop = NOWHERE;
    this.#button.hidden = true;
  }
}
