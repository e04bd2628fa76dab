// @ts-check
/** The page of one turn is whole without a script; this adds the theme, one's own time, and trust. */

import { pageWire } from "./frame/connection.js";
import { startFrame } from "./frame/page-frame.js";
import { isRestricted, startTrust } from "./frame/trust.js";

startFrame();
if (isRestricted()) {
  const wire = pageWire();
  startTrust(wire);
  wire.connect();
}
for (const time of document.querySelectorAll("time")) {
  const when = new Date(time.dateTime);
  if (!Number.isNaN(when.valueOf())) time.textContent = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
