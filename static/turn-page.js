// @ts-check
/** The page of one turn is whole without a script; this adds the theme and one's own time. */

import { startFrame } from "./page-frame.js";

startFrame();
for (const time of document.querySelectorAll("time")) {
  const when = new Date(time.dateTime);
  if (!Number.isNaN(when.valueOf())) time.textContent = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}
