// @ts-check
/** The list of connections in the settings, and the models that do each kind of work. */

import { clone } from "../lib/from-template.js";
import { writesAnswers } from "../lib/model-list.js";
import { counted, reasonOf, visible } from "../lib/text.js";
import { chooseModel } from "./model-choice.js";

/** @typedef {import("../wire.js").Wire} Wire */
/** @typedef {import("./model-choice.js").Connection} Connection */
/** @typedef {{ scope: () => string, done: () => void }} Page */

const STATES = /** @type {Record<string, string>} */ ({
  answers: "Answers", refuses: "Refuses its key", unreachable: "Does not answer now", unchecked: "Not checked",
});
const when = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
/** Nobody waits for these; a name that says so, or none. @type {Record<string, { title: string, none?: string, fits?: (model: string) => boolean }>} */
const WORK = {
  chat: { title: "The model that answers" },
  fast: { title: "The fast model", none: "This computer" },
  embedding: { title: "The embedding model", none: "This computer", fits: (model) => !writesAnswers(model) },
};

/** Starts the list; the result shows it again if it changed. @param {Wire} wire @param {Page} page */
export function startConnections(wire, page) {
  const list = /** @type {HTMLElement} */ (document.querySelector(".connections"));
  let shown = "";
  /** @param {Record<string, any>} values @param {readonly string[]} ids */
  const show = async (values, ids) => {
    for (const category of Object.keys(WORK)) showWork(category, values);
    const now = JSON.stringify([ids, values["llm.categories.chat"]]);
    if (now === shown) return; // or each change of another setting would ask all servers
    shown = now;
    list.setAttribute("aria-busy", "true");
    try {
      const { connections } = await wire.call("system.models", {});
      list.replaceChildren(...connections.map((/** @type {Connection} */ one) => rowOf(one, wire)));
    } catch (error) {
      list.textContent = reasonOf(error);
    } finally {
      list.removeAttribute("aria-busy");
    }
  };
  for (const button of document.querySelectorAll("[data-change-model], [data-category] button")) {
    const category = button.closest("[data-category]")?.getAttribute("data-category") ?? "chat";
    button.addEventListener("click", () => choose(category, wire, page));
  }
  return show;
}

/** @param {string} category @param {Wire} wire @param {Page} page */
async function choose(category, wire, page) {
  const { title, none, fits } = WORK[category];
  const { values } = await wire.call("system.settings");
  await chooseModel({
    wire,
    title,
    fits,
    none: none ? () => none : undefined,
    current: category === "chat" ? (await wire.call("system.status")).chat_choice : choiceIn(values, category),
    use: async ({ model }) => {
      await wire.call("system.use_model", { category, model: model || null, scope: page.scope() });
      page.done();
    },
  });
}

/** The model of a category as a choice, or by its bare name; empty for none. @param {Record<string, any>} values @param {string} category */
function choiceIn(values, category) {
  const value = values[`llm.categories.${category}`];
  if (value && typeof value === "object") return value.connection ? `${value.connection}/${value.model}` : value.model;
  return value && value !== "embedded" ? String(value) : "";
}

/** @param {string} category @param {Record<string, any>} values */
function showWork(category, values) {
  const name = document.querySelector(`[data-category=${category}] button [dir]`);
  const choice = values[`llm.categories.${category}`];
  const model = choice && typeof choice === "object" ? choice.model : choice;
  if (name) name.textContent = model && model !== "embedded" ? visible(String(model)) : (WORK[category].none ?? "");
}

/** @param {Connection} connection @param {Wire} wire */
function rowOf(connection, wire) {
  const { id, name, base_url: address, models, state, last_answered: answered, is_default: isDefault } = connection;
  const row = clone("connection-template");
  /** @param {string} selector */
  const part = (selector) => /** @type {HTMLElement} */ (row.querySelector(selector));
  part("strong").textContent = visible(name);
  part(".connection-state").textContent = STATES[state] ?? state;
  part(".connection-state").dataset.state = state;
  part("code").textContent = visible(address);
  part(".connection-told").textContent = [
    isDefault ? "Used by default." : "",
    answered ? `Last answered ${when.format(new Date(answered))}.` : "Not asked since the start.",
  ].filter(Boolean).join(" ");
  part("summary").textContent = counted(models.length, "model");
  part(".connection-models").textContent = models.map(visible).join(", ");
  part("details").hidden = !models.length;
  const button = part("[data-disconnect]");
  part("[data-disconnect] .visually-hidden").textContent = ` ${visible(name)}`;
  button.addEventListener("click", async () => {
    if (!button.dataset.asked) {
      button.dataset.asked = "true";
      button.textContent = "Disconnect, and forget its key";
      return;
    }
    try {
      await wire.call("system.disconnect", { connection: id });
    } catch (error) {
      const problem = part(".problem");
      problem.textContent = reasonOf(error);
      problem.hidden = false;
    }
  });
  return row;
}
