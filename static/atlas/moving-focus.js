// @ts-check
/** The focus follows: inwards to what has opened, outwards to where one came from. */

import { SHOWN } from "./zoom.js";

/** @typedef {import("./atlas.js").Place} Place */

/** @param {Place} before @param {Place} now */
export function moveFocus(before, now) {
  const { topic, theme, isList } = now;
  if (topic === before.topic && theme === before.theme && isList === before.isList) return;
  const seen = (/** @type {string} */ link) => `:is(${SHOWN}, .topic-list:not([hidden])) ${link}`;
  const wanted = [
    topic && "[data-sheet=topic] h2",
    before.topic && seen(`a[data-topic="${CSS.escape(before.topic)}"]`),
    before.theme && seen(`[data-theme="${CSS.escape(before.theme)}"] > a`),
    theme && seen("li:not([inert]) > .bubble"),
    ".crumbs h1",
  ];
  const found = wanted.map((target) => (target ? /** @type {HTMLElement | null} */ (document.querySelector(target)) : null));
  found.find((element) => element && !element.closest("[inert], [hidden]"))?.focus({ preventScroll: true });
}
