// @ts-check
/** The page of one turn is whole without a script; this replays live and adds the theme, one's own time, and trust. */

import { pageWire } from "../frame/connection.js";
import { startFrame } from "../frame/page-frame.js";
import { isRestricted, startTrust } from "../frame/trust.js";
import { startAskOtherwise } from "../compare/ask-otherwise.js";
import { startLiveForms } from "../receipts/live-forms.js";
import { startPrice } from "../receipts/price.js";
import { startPrinting } from "../receipts/printing.js";

startFrame();
if (isRestricted()) {
  const wire = pageWire();
  startTrust(wire);
  wire.connect();
}
/** @param {ParentNode} parent */
const showTimes = (parent) => {
  for (const time of parent.querySelectorAll("time")) {
    const when = new Date(time.dateTime);
    if (!Number.isNaN(when.valueOf())) time.textContent = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }
};
showTimes(document);
startLiveForms(showTimes);
startPrice(document.querySelector(".price"));
const asking = /** @type {HTMLButtonElement | null} */ (document.querySelector("[data-ask-twice]"));
if (asking) startAskOtherwise(asking);
startPrinting(document.querySelector("[data-print]"));
const bars = document.querySelector(".over-time-scroll");
const current = bars?.querySelector("[aria-current]");
if (bars && current) {
  // Sideways alone: the page itself begins with what the receipt is of.
  const [room, bar] = [bars.getBoundingClientRect(), current.getBoundingClientRect()];
  bars.scrollLeft += bar.left + bar.width / 2 - (room.left + room.width / 2);
}
