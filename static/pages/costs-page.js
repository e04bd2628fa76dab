// @ts-check
/** The page of costs: tables that are made on the server. */

import { pageWire } from "../frame/connection.js";
import { startFrame } from "../frame/page-frame.js";

startFrame();
pageWire().connect();
