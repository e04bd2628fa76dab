// @ts-check
/** The page of costs: tables that are made on the server. */

import { pageWire } from "../frame/connection.js";
import { startFrame } from "../frame/page-frame.js";

/** Days are those of UTC, here, too. */
const days = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeZone: "UTC" });
for (const time of document.querySelectorAll("time")) time.textContent = days.format(new Date(time.dateTime));

startFrame();
pageWire().connect();
