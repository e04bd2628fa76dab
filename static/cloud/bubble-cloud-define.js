// @ts-check
import { BubbleCloud } from "./bubble-cloud.js";

customElements.define("bubble-cloud", BubbleCloud);
