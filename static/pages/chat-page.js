// @ts-check
/** Puts the chat page together: everything that it shows live comes through one socket. */

import { Attachments } from "../composer/attachments.js";
import { asParams } from "../composer/attached.js";
import { startWays } from "../composer/attach-ways.js";
import { ChatContexts } from "../contexts/chat-contexts.js";
import { ChatRecalls } from "../contexts/chat-recalls.js";
import { startAskTwice } from "../compare/ask-twice.js";
import { startChatMenu } from "../messages/chat-menu.js";
import { ChatList } from "../messages/chat-list.js";
import { Compaction, markCompacted } from "../messages/list/compaction.js";
import { watchAnswers } from "../messages/answers/answer-state.js";
import { markAnswering, startNoticesOfEnd, tellOfEnd } from "../messages/answers/done-notice.js";
import { takeUnanswered, watchUnanswered } from "../messages/answers/unanswered.js";
import { startContinueHere } from "../messages/answers/continue-here.js";
import { Composer } from "../composer/composer.js";
import { pageWire } from "../frame/connection.js";
import { Highlight } from "../messages/list/highlight.js";
import { equip, listen } from "../messages/list/message-actions.js";
import { startToolKeys } from "../messages/list/tool-keys.js";
import { find } from "../lib/find.js";
import { startMenus } from "../lib/menu.js";
import { MessageList } from "../messages/list/message-list.js";
import { clearPending, showPending, showWelcome } from "../messages/list/pending.js";
import { startModels } from "../panel/sends/models-in-use.js";
import { OutputGuard } from "../composer/output-guard.js";
import { Reasons } from "../panel/sends/reasons.js";
import { startForesight } from "../panel/topics/foresight.js";
import { startGuide } from "../panel/guide.js";
import { startFrame } from "../frame/page-frame.js";
import { startSideWidth } from "../frame/side-width.js";
import { startPageKeys } from "../frame/page-keys.js";
import { startNotices } from "../panel/plugin-notices.js";
import { FindInChat } from "../messages/reading/find-in-chat.js";
import { announce } from "../lib/announce.js";
import { stayAboveKeyboard } from "../lib/keyboard.js";
import { messagesIn } from "../lib/reconcile.js";
import { startReceipts } from "../panel/receipts-list.js";
import { ReceiptLinks } from "../receipts/receipt-links.js";
import { Scroll } from "../messages/reading/scroll.js";
import { SidePanels } from "../panel/side-panels.js";
import { counted, reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";
import { startInstructions } from "../frame/instructions.js";
import { startChatImport } from "../messages/chat-import.js";
import { startImageSwitch } from "../composer/image-switch.js";
import { startModelChoice } from "../frame/model-choice.js";
import { Trash } from "../messages/trash.js";
import { startNoteSheet } from "../messages/note-sheet.js";
import { startMap } from "../messages/reading/topic-map.js";
import { startSplit } from "../panel/topics/split.js";
import { startSummingUp } from "../panel/topics/summing-up.js";
import { startBubbleInHand, startMessageInHand } from "../panel/topics/bubble-in-hand.js";
import { TopicDeeds } from "../panel/topics/topic-deeds.js";
import { startTopicMenu } from "../panel/topics/topic-menu.js";
import { TopicsPanel } from "../panel/topics/topics-panel.js";
import { startLessToSend } from "../messages/answers/less-to-send.js";
import { countDown } from "../messages/answers/try-again.js";
import { startTrust } from "../frame/trust.js";
import { NotesDialog } from "../composer/notes-dialog.js";

const SETTLE_MS = 120;

const chatId = document.body.dataset.chatId ?? "";
const measure = find(".measure");
const isDetached = "detached" in document.body.dataset;
const wire = pageWire();
const topics = /** @type {HTMLElement | null} */ (document.querySelector(".topics"));
const panel = topics && new TopicsPanel(topics, wire);
const guard = new OutputGuard(wire, chatId);
const contexts = panel && new ChatContexts(wire, chatId);
const recalls = panel && new ChatRecalls(wire, chatId, announce);
const chats = new ChatList(find("#chats"), wire, chatId);
const trash = new Trash(/** @type {HTMLDialogElement} */ (find("#trash")), wire);
const scroll = new Scroll(find("#scroll"), find(".to-end"));
const messages = new MessageList(find("#scroll"), chatId, (added) => {
  equip(added);
  if (!isDetached) markCompacted(measure, panel?.state);
  reasons?.watch(added);
  receiptLinks?.show(added);
  showWelcome(measure);
  highlight.show();
  setAnswering(messages.isAnswering);
}, async () => (await wire.call("chat.open", { chat_id: chatId })).answering?.text ?? "");
const highlight = new Highlight(measure, scroll, load);
const receiptLinks = panel && new ReceiptLinks(measure, wire, chatId);
const reasons = panel && new Reasons(measure, wire, chatId);
const compaction = new Compaction(wire, chatId, (done) => {
  announce(done);
  scroll.toEnd();
});
const form = /** @type {HTMLFormElement} */ (find(".composer"));
const attachments = new Attachments(form, chatId, announce);
const composer = new Composer(form, chatId, attachments, {
  send,
  stop: () => guard.stop(),
  run,
});

startContinueHere(wire, chatId);

/** @param {import("../composer/commands.js").Command} command @param {string} [words] */
async function run(command, words = "") {
  if (command !== "recall") await compaction.run(command, words.trim());
  else if (recalls) await recalls.recall(words);
  else throw new Error("Smart Context is turned off.");
}

/**
 * Sends a message; done when the server has it.
 * @param {string} text
 * @param {readonly import("../composer/attached.js").Attached[]} attached
 * @param {boolean} [isOffPick]  It belongs to none of the picked topics.
 */
async function send(text, attached, isOffPick = false) {
  if (!(await guard.allows(text, asParams(attached)))) throw new Error("Not sent.");
  showPending(measure, text, attached);
  scroll.toEnd();
  let isTaken = false;
  const forget = wire.on("chat.started", (news) => (isTaken ||= news.chat_id === chatId));
  try {
    await wire.call("chat.send", { chat_id: chatId, message: text, stream: true, off_pick: isOffPick, ...asParams(attached) });
  } catch (error) {
    // A question that was taken is in the chat, and so is what became of its answer.
    if (!isTaken) throw error;
  } finally {
    forget();
    clearPending(measure);
  }
}

/** The answer whose “reading …” has been announced. */
let saidOfReading = "";

/** @param {boolean} isAnswering */
function setAnswering(isAnswering) {
  composer.setAnswering(isAnswering);
  markAnswering(isAnswering);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let settling;
function syncSoon() {
  clearTimeout(settling);
  settling = setTimeout(sync, SETTLE_MS);
}

async function sync() {
  if (isDetached) return;
  try {
    await messages.sync();
  } catch (error) {
    toast(`Couldn’t load the messages: ${reasonOf(error)}`);
  }
}

/** Puts a message on the page. @param {string} id */
async function load(id) {
  if (!isDetached) await messages.loadAround(id);
}

/**
 * Gets the messages from the server, and shows one of them.
 * @param {string} id
 * @param {number} [top]  Where in the window; usually near its top.
 */
async function showMessage(id, top) {
  await sync();
  await load(id);
  const message = document.getElementById(`m-${id}`);
  if (!message) return null;
  if (top === undefined || message.hasAttribute("data-folded")) highlight.goTo(message);
  else {
    highlight.keepOpen(message);
    scroll.hold(message, top);
  }
  return message;
}

/** @param {string} event @param {(news: any) => void} listener */
function onOurs(event, listener) {
  wire.on(event, (news) => news.chat_id === chatId && !isDetached && listener(news));
}

onOurs("memory.chat_changed", syncSoon);
onOurs("chat.started", async ({ message_id: id }) => {
  setAnswering(true);
  await sync();
  clearPending(measure);
  messages.begin(id);
});
onOurs("chat.token", (piece) => {
  if (piece.offset === 0 && piece.text) announce("The answer begins.");
  messages.add(piece).catch((error) => toast(reasonOf(error)));
});
onOurs("chat.reading", (news) => {
  if (saidOfReading !== news.message_id) announce(`The model reads ${counted(news.tokens, "token")}.`);
  saidOfReading = news.message_id; // once for each answer: the percents would drown all else
  messages.read(news).catch(() => {});
});
onOurs("chat.thought", (thought) => messages.think(thought).catch(() => {})); // the stored answer has it, too
onOurs("chat.was_thought", (piece) => messages.takeBack(piece).catch(() => {}));
onOurs("chat.waiting", ({ message_id: id, seconds }) => messages.hold(id, seconds).catch(() => {}));
onOurs("chat.unsaved", ({ problem }) => showUnsaved(problem));
onOurs("chat.finished", () => endAnswer("The answer is complete."));
onOurs("chat.failed", async ({ error }) => {
  composer.hold();
  await endAnswer(`The answer failed: ${error}`);
  const failed = messagesIn(measure).at(-1);
  if (failed) countDown(failed);
  panel?.refresh();
});

/** Says that the disk does not hold what is shown. @param {string} problem  Empty if it does. */
function showUnsaved(problem) {
  const notice = find(".unsaved");
  notice.textContent = problem;
  notice.hidden = !problem;
}

/** @param {string} words */
async function endAnswer(words) {
  announce(words);
  tellOfEnd(words);
  await messages.end().catch((error) => toast(reasonOf(error)));
  setAnswering(messages.isAnswering);
}

wire.onStatus(async (status) => {
  if (status !== "open") return;
  const opened = await wire.call("chat.open", { chat_id: chatId }).catch(() => ({}));
  chats.refresh().catch(() => {});
  contexts?.refresh();
  recalls?.refresh();
  if (panel) wire.call("smart_context.slash_commands").then(({ commands }) => composer.setOwnCommands(commands), () => {});
  await sync();
  if (!isDetached) showUnsaved(opened.unsaved ?? "");
  if (!isDetached && opened.answering) {
    const { message_id, text, reading } = opened.answering;
    messages.add({ message_id, offset: 0, text });
    if (reading) messages.read({ message_id, ...reading });
  }
  const unanswered = takeUnanswered(chatId);
  if (unanswered) wire.call("chat.regenerate", { chat_id: chatId, message_id: unanswered }).catch((error) => toast(reasonOf(error)));
});
topics?.addEventListener("panel-changed", (event) => {
  const { shortStatus } = /** @type {CustomEvent} */ (event).detail;
  if (shortStatus) find("[data-status-copy]").textContent = shortStatus;
  if (!isDetached) markCompacted(measure, panel?.state);
});

stayAboveKeyboard();
startFrame();
startSideWidth();
equip(messagesIn(measure));
const actsOn = {
  wire,
  chatId,
  panel,
  show: showMessage,
  announce,
  ask: (/** @type {string} */ text) => {
    composer.focus();
    return send(text, []);
  },
};
listen(measure, actsOn);
startLessToSend(measure, actsOn);
startToolKeys(find("#scroll"));
watchUnanswered(measure, chatId);
highlight.start();
if (topics && panel) {
  const box = /** @type {HTMLTextAreaElement} */ (find("#message-box"));
  startForesight({ root: topics, wire, chatId, panel, box, attached: () => asParams(attachments.all) });
}
reasons?.start();
receiptLinks?.start();
if (panel) startReceipts(find("#panel-receipts"), wire, chatId);
panel?.start();
contexts?.start();
recalls?.start();
chats.start();
trash.start();
startInstructions(wire, chatId);
if (topics && panel) {
  startTopicMenu(topics, panel);
  const deeds = new TopicDeeds(wire, chatId, panel);
  deeds.start();
  startBubbleInHand(topics, deeds);
  startMessageInHand(measure, deeds);
  startSummingUp(wire, chatId, announce);
  startSplit(wire, chatId);
}
startChatImport(wire);
startModelChoice(wire, chatId);
startImageSwitch(form, wire);
const twice = /** @type {HTMLElement | null} */ (document.querySelector("[data-ask-twice]"));
if (twice) {
  startAskTwice(twice, {
    wire,
    chatId,
    box: /** @type {HTMLTextAreaElement} */ (find("#message-box")),
    attached: () => asParams(attachments.all),
    empty: () => attachments.take(),
  });
}
startNoticesOfEnd();
startMenus();
const finding = new FindInChat(find(".find"), measure, wire, chatId, showMessage);
finding.start();
startChatMenu(wire, chatId, () => finding.open());
startPageKeys({ wire, chatId, panel });
composer.start();
watchAnswers(measure);
compaction.start();
if (!isDetached) startWays(find("main"), attachments);
if (contexts) new NotesDialog(wire, chatId, attachments, contexts).start();
setAnswering(messages.isAnswering);
startNotices(wire);
startGuide(wire, chatId);
startTrust(wire);
startModels(wire, chatId);
new SidePanels(find("#side"), chatId).start(wire);
scroll.start(() => isDetached || highlight.hasAllSent || messages.loadOlder().catch((error) => toast(reasonOf(error))));
addEventListener("hashchange", () => highlight.goToTarget(load));
startNoteSheet();
startMap({ scroll, wire, chatId, highlight, load });
queueMicrotask(() => {
  highlight.goToTarget(load);
  scroll.showSoon();
});
wire.connect();
if (matchMedia("(hover: hover)").matches && !location.hash) composer.focus();
