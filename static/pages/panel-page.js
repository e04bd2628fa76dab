// @ts-check
import { pageWire } from "../frame/connection.js";
import { startKeys } from "../frame/keys.js";
import { startForesight } from "../panel/topics/foresight.js";
import { startModels } from "../panel/sends/models-in-use.js";
import { startNotices } from "../panel/plugin-notices.js";
import { TopicsPanel } from "../panel/topics/topics-panel.js";

const wire = pageWire();
const chatId = document.body.dataset.chatId;
wire.onStatus((status) => {
  if (status === "open" && chatId) wire.call("chat.open", { chat_id: chatId }).catch(() => {});
});
const root = document.querySelector(".topics");
if (root instanceof HTMLElement && chatId) {
  const panel = new TopicsPanel(root, wire);
  startForesight({ root, wire, chatId, panel, box: null });
  panel.start();
  startKeys({ panel });
}
startNotices(wire);
startModels(wire, chatId ?? "");
wire.connect();
