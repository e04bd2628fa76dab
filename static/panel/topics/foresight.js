// @ts-check
/** What the panel foresees: what is sent, and what a choice would change. */

import { startMarking } from "./marking.js";
import { startTopicHint } from "./topic-hint.js";
import { Peek, peekAtBubbles } from "./peek.js";
import { RolePicker } from "../sends/role-picker.js";
import { SendBar } from "../sends/send-bar.js";
import { startStanding } from "./standing.js";
import { startThreshold } from "./threshold.js";
import { TopicCard } from "./topic-card.js";
import { startTopicEditor } from "./topic-editor.js";
import { find } from "../../lib/find.js";

/**
 * @typedef {object} Page
 * @property {HTMLElement} root  The `.topics` element.
 * @property {import("../../wire.js").Wire} wire
 * @property {string} chatId
 * @property {import("./topics-panel.js").TopicsPanel} panel
 * @property {HTMLTextAreaElement | null} box  Where the message is written; null beside no chat.
 * @property {() => Record<string, unknown>} [attached]  What is to go with it.
 */

/** To be called before the panel starts, so that it is heard from its first word. @param {Page} page */
export function startForesight({ root, wire, chatId, panel, box, attached = () => ({}) }) {
  const peek = new Peek(find(".peek", root), wire, chatId);
  const card = new TopicCard(find(".topic-card", root), wire, chatId);
  peekAtBubbles(find("bubble-cloud", root), peek, card, () => panel.state.active);
  startStanding(/** @type {HTMLDetailsElement} */ (find(".always", root)), wire, chatId);
  startThreshold(find(".threshold", root), wire, chatId, peek);
  startTopicEditor(find(".edit-topics", root), wire, chatId, panel);
  startMarking({ list: document.querySelector(".measure"), root, wire, chatId, panel });
  new RolePicker(find(".role", root), wire, chatId).start();
  if (box) startTopicHint({ root, wire, chatId, panel, box });
  new SendBar(find(".sends", root), wire, chatId, box, attached).start();
}
