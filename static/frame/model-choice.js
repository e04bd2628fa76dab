// @ts-check
/** One list of the models of all connections: for a chat, one answer, or a kind of work. */

import { recall, remember } from "../lib/memory.js";
import { writesAnswers } from "../lib/model-list.js";
import { reasonOf } from "../lib/text.js";
import { tellOfNext, toast } from "../lib/toasts.js";
import { Palette } from "./palette.js";

/** @typedef {{ id: string, name: string, base_url: string, models: string[], state: string, last_answered: string | null, is_default: boolean }} Connection */
/** @typedef {{ model: string, name: string, connection: string }} Model */
/** @typedef {{ default: string, models: Model[], connections: Connection[] }} Models */
/** @typedef {{ model: string, name: string }} Choice */
/** @typedef {import("./palette.js").Entry} Entry */

const RECENT = "models-used";
const FAVOURITES = "models-favoured";
const MOST_RECENT = 5;
const IN_USE = "In use";
/** What the heading of a connection says besides its name. */
const AWAY = /** @type {Record<string, string>} */ ({ unreachable: " · does not answer now", refuses: " · refuses its key" });

/** Lets the button below the message box open the list. @param {import("../wire.js").Wire} wire @param {string} chatId */
export function startModelChoice(wire, chatId) {
  const button = /** @type {HTMLElement | null} */ (document.querySelector("[data-open-model]"));
  const name = button?.querySelector("[data-model-name]");
  if (!button || !name) return;
  button.addEventListener("click", () => chooseModel({
    wire,
    title: "Model of this chat",
    current: button.dataset.model ?? "",
    none: (models) => `Default (${models.default})`,
    use: async ({ model }) => {
      await wire.call("chat.set_model", { chat_id: chatId, model: model || null });
      const status = await wire.call("system.status", { chat_id: chatId });
      button.dataset.model = model;
      button.title = status.chat_connection;
      name.textContent = status.chat_model;
      tellOfNext("The next message goes to this model.", wire);
    },
  }));
}

/**
 * @typedef {object} Offer
 * @property {import("../wire.js").Wire} wire
 * @property {string} title
 * @property {string} current  The model that is chosen now, as a choice or by its bare name; empty: none.
 * @property {(models: Models) => string} [none]  The name of what does without a choice; it can be chosen, too.
 * @property {(model: string) => boolean} [fits]  By name; by default those that write answers.
 * @property {boolean} [isOther]  Another one than that in use is wanted.
 * @property {(choice: Choice) => Promise<unknown>} use  Takes a model; empty: none.
 */

/** @type {Palette | undefined} */
let list;
/** @type {readonly Entry[]} */
let entries = [];
/** Makes the list anew once a favourite was added or taken off. */
let showAgain = () => {};

/** Opens the list. @param {Offer} offer */
export async function chooseModel(offer) {
  const dialog = /** @type {HTMLDialogElement} */ (document.querySelector("#chat-model"));
  const status = /** @type {HTMLElement} */ (dialog.querySelector("[role=status]"));
  /** @type {HTMLElement} */ (dialog.querySelector("[data-model-title]")).textContent = offer.title;
  if (!list) {
    list = new Palette(dialog, () => entries, async () => [], Infinity);
    list.start();
  }
  entries = [];
  list.open();
  /** @type {HTMLElement} */ (dialog.querySelector(".palette-none")).hidden = true;
  status.textContent = "Asking your connections for their models…";
  try {
    const models = await offer.wire.call("system.models", {});
    showAgain = () => {
      entries = entriesOf(models, offer);
      list?.refresh(Math.max(0, entries.findIndex(({ hint }) => hint === IN_USE)));
    };
    showAgain();
    status.textContent = "";
  } catch (error) {
    status.textContent = reasonOf(error);
  }
}

/**
 * What can be chosen: nothing special, favourites, what was used last, then the models of each connection.
 * @param {Models} models
 * @param {Offer} offer
 * @returns {Entry[]}
 */
function entriesOf(models, { current, none, fits = writesAnswers, isOther, use }) {
  const connections = new Map(models.connections.map((one) => [one.id, one]));
  const isInUse = (/** @type {Model} */ { model, name }) => [model, name].includes(current);
  const offered = models.models.filter((row) => (isInUse(row) ? !isOther : fits(row.name)));
  /** @param {Model} row @param {string} group @param {string} hint @returns {Entry} */
  const entry = (row, group, hint) => {
    const connection = connections.get(row.connection)?.name ?? "";
    const isStarred = favoured.includes(row.model);
    const deeds = { star: () => favour(row.model, !isStarred), run: () => take(use, row) };
    return { group, name: row.name, hint: isInUse(row) ? IN_USE : hint, also: connection, isStarred, ...deeds };
  };
  const favoured = kept(FAVOURITES);
  const favourites = offered.filter(({ model }) => favoured.includes(model));
  const lately = kept(RECENT).filter((model) => !favoured.includes(model));
  const recent = lately.flatMap((choice) => offered.filter(({ model }) => model === choice)).slice(0, MOST_RECENT);
  const isWorthIt = offered.length > MOST_RECENT;
  /** @type {Entry[]} */
  const first = none && !isOther
    ? [{ group: "", name: none(models), hint: current ? "" : IN_USE, run: () => take(use, { model: "", name: "" }) }]
    : [];
  return [
    ...first,
    ...favourites.map((row) => entry(row, "Favourites", connections.get(row.connection)?.name ?? "")),
    ...(isWorthIt ? recent.map((row) => entry(row, "Used lately", connections.get(row.connection)?.name ?? "")) : []),
    ...offered.map((row) => {
      const { name = "", state = "" } = connections.get(row.connection) ?? {};
      return entry(row, `${name}${AWAY[state] ?? ""}`, "");
    }),
  ];
}

/** @param {Offer["use"]} use @param {Choice} choice */
async function take(use, choice) {
  try {
    await use(choice);
    if (choice.model) remember("localStorage", RECENT, JSON.stringify([choice.model, ...kept(RECENT).filter((one) => one !== choice.model)].slice(0, MOST_RECENT)));
  } catch (error) {
    toast(reasonOf(error));
  }
}

/** @param {string} model @param {boolean} isFavourite */
function favour(model, isFavourite) {
  const others = kept(FAVOURITES).filter((one) => one !== model);
  remember("localStorage", FAVOURITES, JSON.stringify(isFavourite ? [...others, model] : others));
  showAgain();
}

/** Choices that this browser keeps. @param {string} key @returns {string[]} */
function kept(key) {
  try {
    const stored = JSON.parse(recall("localStorage", key) || "[]");
    return Array.isArray(stored) ? stored.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}
