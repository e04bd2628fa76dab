// @ts-check
/** The page of settings: a model is connected, and each setting saved as soon as it is changed. */

import { pageWire } from "../frame/connection.js";
import { startConnections } from "../frame/connected-models.js";
import { startFrame } from "../frame/page-frame.js";
import { startTrust } from "../frame/trust.js";
import { recall, remember } from "../lib/memory.js";
import { goBackToAnswer } from "../messages/answers/unanswered.js";
import { listModels, narrowModels, writesAnswers } from "../lib/model-list.js";
import { counted, numbered, plainly, reasonOf, visible } from "../lib/text.js";

/** @typedef {{ name: string, base_url: string, models: string[] }} Found */
/** @typedef {{ scope: string, key: string, line: number | null, message: string, is_unknown: boolean, meant: string }} Fault */
/** @typedef {{ revision: string, values: Record<string, any>, sources: Record<string, string>, keys: Record<string, string>, faults: Fault[] }} Settings */

const SAID_MS = 3000;
const FEW_WORDS = 8;
const SOURCES = { default: "", user: "Set for all your vaults.", vault: "Set for this vault." };
const wire = pageWire();
const main = /** @type {HTMLElement} */ (document.querySelector("#settings"));
const saved = document.querySelector(".saved");
/** @type {ReturnType<typeof setTimeout> | undefined} */
let telling;
const form = /** @type {HTMLFormElement | null} */ (document.querySelector(".connect-form"));

/** @template {HTMLElement} T @param {string} selector @param {ParentNode} [within] @returns {T} */
function one(selector, within = document) {
  return /** @type {T} */ (within.querySelector(selector));
}

/** @param {Element} row */
function valueOf(row) {
  const field = /** @type {HTMLInputElement} */ (row.querySelector("input, select, textarea"));
  if (field.type === "checkbox") return field.checked;
  const isNumber = ["number", "integer"].includes(row.getAttribute("data-type") ?? "");
  const text = field.value.trim() || null;
  return isNumber && text ? Number(text) : text;
}

/** Shows what is set now. @param {Settings} settings */
function show(settings) {
  main.dataset.revision = settings.revision;
  showFaults(settings.faults);
  for (const row of document.querySelectorAll("[data-setting]")) {
    const name = row.getAttribute("data-setting") ?? "";
    if (!(name in settings.values)) continue;
    const field = /** @type {HTMLInputElement} */ (row.querySelector("input, select, textarea"));
    const value = settings.values[name];
    if (field.type === "checkbox") field.checked = value === true;
    else {
      if (field instanceof HTMLSelectElement) offerToo(field, shown(value));
      showIn(field, /** @type {HTMLElement} */ (row), shown(value));
    }
    row.setAttribute("data-source", settings.sources[name]);
    showSource(row);
  }
}

/** What was written into a file may be none of the choices here. @param {HTMLSelectElement} field @param {string} value */
function offerToo(field, value) {
  if (![...field.options].some((one) => one.value === value)) field.add(new Option("As in the file", value));
}

/** Shows what is wrong in the files; what nothing reads can be taken out. @param {readonly Fault[]} faults */
function showFaults(faults) {
  const section = one(".settings-faults");
  const rows = faults.map((fault) => {
    const row = document.createElement("li");
    row.append(faultInWords(fault));
    if (!fault.is_unknown) return row;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "quiet", textContent: "Take it out" });
    button.setAttribute("aria-label", `Take ${visible(fault.key)} out`);
    button.addEventListener("click", () => attempt(section, () => change({ [fault.key]: null }, fault.scope)));
    row.append(" ", button);
    return row;
  });
  one(".faults-list", section).replaceChildren(...rows);
  section.hidden = !faults.length;
}

/** @param {Fault} fault */
function faultInWords({ scope: where, key, line, message, is_unknown: isUnknown, meant }) {
  const said = isUnknown ? `There is no setting “${key}”.${meant ? ` Did you mean “${meant}”?` : ""}` : `${key ? `${key}: ` : ""}${message}.`;
  const file = where === "vault" ? "this vault’s file" : "the file for all vaults";
  return visible(line ? `${said} Line ${line} of ${file}.` : said);
}

/**
 * Shows a value, but not over what is being typed: then it is remembered as one of elsewhere.
 * @param {HTMLInputElement} field
 * @param {HTMLElement} row
 * @param {string} value
 */
function showIn(field, row, value) {
  const { dataset } = row;
  const isOurs = "elsewhere" in dataset || (document.activeElement === field && field.value !== dataset.known);
  if (isOurs && value !== dataset.known && value !== String(valueOf(row) ?? "")) dataset.elsewhere = value;
  else if (!isOurs && document.activeElement !== field) field.value = value;
  dataset.known = value;
}

/**
 * Asks which value stays: what was typed here, or what came from elsewhere meanwhile.
 * @param {HTMLElement} row
 * @param {() => void} save
 */
function askWhich(row, save) {
  const field = /** @type {HTMLInputElement} */ (row.querySelector("input, select, textarea"));
  const problem = /** @type {HTMLElement} */ (row.querySelector(":scope > .problem"));
  const { elsewhere = "" } = row.dataset;
  /** @param {string} words @param {() => void} act */
  const choice = (words, act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", () => {
      delete row.dataset.elsewhere;
      problem.hidden = true;
      field.focus();
      act();
    });
    return button;
  };
  const takeThat = () => (field.value = elsewhere);
  problem.replaceChildren(
    `Changed elsewhere meanwhile${elsewhere && `, to “${visible(elsewhere)}”`}. Yours is not saved. `,
    choice("Save mine", save), " ", choice("Take the other", takeThat),
  );
  problem.hidden = false;
}

/** @param {any} value */
function shown(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? (value.model ?? "") : String(value);
}

/** @param {Element} row */
function showSource(row) {
  const source = row.getAttribute("data-source") ?? "default";
  one("[data-source-words]", row).textContent = SOURCES[/** @type {keyof typeof SOURCES} */ (source)] ?? "";
  one("[data-reset]", row).hidden = source === "default";
}

function scope() {
  return one("[name=scope]:checked").getAttribute("value") ?? "user";
}

/** @param {Record<string, any>} values @param {string} [where] */
async function change(values, where = scope()) {
  const params = { values, scope: where, revision: main.dataset.revision ?? "" };
  show(await wire.call("system.change_settings", params));
  tell("Saved.");
}

/** Says something that goes after a while. @param {string} words */
function tell(words) {
  clearTimeout(telling);
  if (saved) saved.textContent = words;
  telling = setTimeout(() => saved?.replaceChildren(), SAID_MS);
}

/** Does what was asked for, or says beside it why it can't be done. @param {Element} at @param {() => Promise<void>} work */
async function attempt(at, work) {
  const problem = /** @type {HTMLElement} */ (at.querySelector(":scope > .problem"));
  problem.hidden = true;
  try {
    await work();
  } catch (error) {
    problem.textContent = reasonOf(error);
    problem.hidden = false;
    if (saved) saved.textContent = "";
  }
}

for (const row of document.querySelectorAll("[data-setting]")) {
  const name = row.getAttribute("data-setting") ?? "";
  const only = /^vault\.|\.enabled$/.test(name) ? "vault" : undefined;
  showSource(row);
  const { dataset } = /** @type {HTMLElement} */ (row);
  dataset.known = /** @type {HTMLInputElement} */ (row.querySelector("input, select, textarea")).value;
  const save = () => attempt(row, () => change({ [name]: valueOf(row) }, only ?? scope()));
  row.addEventListener("change", () => ("elsewhere" in dataset ? askWhich(/** @type {HTMLElement} */ (row), save) : save()));
  one("[data-reset]", row).addEventListener("click", () =>
    attempt(row, async () => {
      await change({ [name]: null }, row.getAttribute("data-source") ?? "user");
      /** @type {HTMLElement | null} */ (row.querySelector("input, select, textarea"))?.focus();
    }),
  );
}

if (form) startConnecting(form);

/** @param {HTMLFormElement} connect */
function startConnecting(connect) {
  const more = one(".connect-more", connect);
  const choice = one(".connect-model-choice", connect);
  const find = one("[data-find]", connect);
  const servers = one(".found-servers", connect);
  const trial = one(".trial", connect);
  const list = one(".model-list", connect);
  const address = /** @type {HTMLInputElement} */ (one("#base-url"));
  const key = /** @type {HTMLInputElement} */ (one("#api-key"));
  const model = /** @type {HTMLInputElement} */ (one("#model"));
  const provider = /** @type {HTMLSelectElement} */ (one("#provider"));
  let variable = "";

  const endpoint = () => {
    address.value = addressed(address.value.trim());
    /** @type {Record<string, string>} */
    const given = { base_url: address.value };
    if (key.value) given.api_key = key.value;
    else if (variable) given.api_key_env = variable;
    return given;
  };
  /** @param {string} words @param {() => Promise<void>} work */
  const doing = (words, work) => {
    trial.textContent = words;
    connect.setAttribute("aria-busy", "true");
    return attempt(connect, work).finally(() => {
      connect.removeAttribute("aria-busy");
      if (trial.textContent === words) trial.textContent = "";
    });
  };
  /** Puts the models and what is said of them below where they come from. @param {Element} source */
  const putBelow = (source) => source.after(choice, trial, one(":scope > .problem", connect));
  /** @param {readonly string[]} all @param {string} [chosen] */
  const offer = (all, chosen) => {
    const models = all.filter(writesAnswers);
    model.value = chosen ?? (models.length === 1 ? models[0] : "");
    choice.hidden = false;
    find.classList.remove("primary");
    listModels(list, models.map((id) => ({ model: id, name: id })), model.value);
    model.focus();
  };
  list.addEventListener("change", (event) => {
    if (event.target instanceof HTMLInputElement) model.value = event.target.value;
  });
  model.addEventListener("input", () => {
    narrowModels(list, model.value);
    for (const radio of list.querySelectorAll("input")) radio.checked = radio.value === model.value;
  });

  /** Connects the server that was chosen. @param {boolean} answers  Its model answers from now on. */
  const join = (answers) =>
    doing("Connecting…", async () => {
      if (!model.value.trim()) {
        model.focus();
        throw new Error("Choose a model from the list, or type its name.");
      }
      await wire.call("system.connect", { endpoint: { ...endpoint(), model: model.value.trim() }, scope: scope(), answers });
      tell("Saved.");
      key.value = "";
      const status = await wire.call("system.status");
      showModel(status.chat_model, status.chat_is_embedded);
      const asked = answers && goBackToAnswer();
      if (asked) location.assign(asked);
      else if (answers) trial.replaceChildren("Connected. It answers your next message. ", link("/new", "Write one", "_self"));
      else trial.textContent = "Added. Each chat can choose it.";
    });

  find.addEventListener("click", () => {
    putBelow(servers);
    return doing("Looking for models on this computer…", async () => {
      const found = (await wire.call("system.find_models")).servers;
      listServers(found);
      if (found.length === 1) servers.querySelector("button")?.click();
      trial.textContent = found.length ? "" : "Nothing answers at the usual ports of Ollama, LM Studio, llama.cpp and vLLM on this computer. Start one, give its address below, or choose a provider.";
    });
  });
  /** @param {Found[]} found */
  const listServers = (found) => {
    const rows = found.map((server) => {
      const models = server.models.filter(writesAnswers);
      const row = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = `${server.name}: ${counted(models.length, "model")}`;
      button.addEventListener("click", () => {
        [address.value, key.value, variable] = [server.base_url, "", ""];
        provider.value = "";
        more.hidden = true;
        press(button);
        offer(models, models[0]);
      });
      row.append(button);
      return row;
    });
    servers.replaceChildren(...rows);
  };
  /** @param {HTMLElement} [chosen]  The server whose models are listed. */
  const press = (chosen) => {
    for (const button of servers.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === chosen));
  };
  provider.addEventListener("change", () => {
    const chosen = provider.selectedOptions[0];
    const isOther = provider.value === "other";
    more.hidden = !provider.value;
    choice.hidden = true;
    press();
    putBelow(more);
    trial.textContent = "";
    one(":scope > .problem", connect).hidden = true;
    address.value = isOther ? "" : provider.value;
    variable = chosen.dataset.hasKey === "true" ? (chosen.dataset.env ?? "") : "";
    const hint = variable ? `Leave this empty to use the key in ${variable}.` : "It is kept outside your notes, and never shown again.";
    one("#api-key-hint").textContent = isOther ? "Leave this empty if it needs none." : hint;
    if (chosen.dataset.keys) one("#api-key-hint").append(" ", link(chosen.dataset.keys, "Get a key"));
    (isOther ? address : key).focus();
  });
  connect.addEventListener("submit", (event) => {
    event.preventDefault();
    doing("Asking for its models…", async () => {
      const listed = await wire.call("system.find_models", { endpoint: endpoint() });
      address.value = listed.base_url;
      offer(listed.models);
    });
  });
  one("[data-test]", connect).addEventListener("click", () =>
    doing("Asking the model to say hello…", async () => {
      const asked = { ...endpoint(), model: model.value.trim() };
      const done = await wire.call("system.test_model", { endpoint: asked });
      if (!done.ok) throw new Error(plainly(done.problem));
      trial.textContent = worded(done);
    }),
  );
  one("[data-use]", connect).addEventListener("click", () => join(true));
  one("[data-add]", connect).addEventListener("click", () => join(false));
}

/** With a scheme where none was typed: unencrypted only in this network. @param {string} typed */
function addressed(typed) {
  if (!typed || typed.includes("://")) return typed;
  return `${/^(localhost|127\.|10\.|192\.168\.|\[)/.test(typed) ? "http" : "https"}://${typed}`;
}

/** @param {string} name @param {boolean} isEmbedded */
function showModel(name, isEmbedded) {
  const now = one(".model-now");
  if (isEmbedded) now.textContent = "No model is connected yet. Answers are the closest passages of your notes.";
  else now.replaceChildren(Object.assign(document.createElement("strong"), { textContent: name }), " answers your messages.");
  now.dataset.embedded = String(isEmbedded);
  one("[data-find]").classList.toggle("primary", isEmbedded);
  for (const button of document.querySelectorAll("[data-change-model], [data-add]")) button.toggleAttribute("hidden", isEmbedded);
}

/** @param {{ text: string, first_s: number, streaming: boolean, tools: boolean | null, images: boolean | null, window: number | null }} done */
function worded(done) {
  const can = [done.streaming && "streams", done.tools && "uses tools", done.images && "sees images"].filter(Boolean);
  const room = done.window ? ` Its window is ${numbered(done.window)} tokens.` : "";
  return `“${first(done.text)}” First words after ${Math.max(0.1, done.first_s).toFixed(1)} s. It ${can.join(", ") || "answers"}.${room}`;
}

/** The first few words. @param {string} text */
function first(text) {
  const words = text.trim().split(/\s+/);
  return words.length > FEW_WORDS ? `${words.slice(0, FEW_WORDS).join(" ")}…` : words.join(" ");
}

/** @param {string} address @param {string} words @param {string} [target] */
function link(address, words, target = "_blank") {
  return Object.assign(document.createElement("a"), { href: address, target, rel: "noopener noreferrer", textContent: words });
}

/** Light or dark, as the button in the head. */
function startLooks() {
  const looks = /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("[name=look]"));
  const root = document.documentElement;
  const show = () => {
    for (const look of looks) look.checked = look.value === recall("localStorage", "theme");
  };
  for (const look of looks) {
    look.addEventListener("change", () => {
      remember("localStorage", "theme", look.value);
      if (look.value) root.dataset.theme = look.value;
      else delete root.dataset.theme;
    });
  }
  document.querySelector("[data-theme-toggle]")?.addEventListener("click", show);
  show();
}

/** Lets trust be withdrawn; a second press is needed. */
function startWithdrawing() {
  const button = /** @type {HTMLButtonElement | null} */ (document.querySelector("[data-revoke-trust]"));
  const section = button?.closest("details");
  if (!button || !section) return;
  button.addEventListener("click", ({ detail: clicks }) => {
    if (clicks > 1) return; // a double click does not count as an answer
    if (!button.dataset.asked) {
      button.dataset.asked = "true";
      button.textContent = "Turn all of this off";
      return;
    }
    attempt(section, async () => {
      await wire.call("system.revoke_trust");
      one(".trust-now", section).textContent = "You don’t trust this vault; what it asked for is off.";
      one(".trust-now", section).tabIndex = -1;
      one(".trust-now", section).focus();
      button.remove();
    });
  });
}

/** Opens the part of the page that its address names, and goes to the setting. */
function openNamed() {
  const named = document.getElementById(location.hash.slice(1));
  const part = named?.closest("details");
  if (part) part.open = true;
  named?.scrollIntoView({ block: "center" });
  if (named?.matches("input, select, textarea")) named.focus();
}

const showConnections = form ? startConnections(wire, { scope, done: () => tell("Saved.") }) : undefined;
const showAll = async () => {
  const [settings, status] = await Promise.all([wire.call("system.settings"), wire.call("system.status")]);
  show(settings);
  showModel(status.chat_model, status.chat_is_embedded);
  await showConnections?.(settings.values, status.connections);
};
wire.on("system.config_read", showAll);
if (form) showFaults(JSON.parse(one(".faults-list").dataset.faults ?? "[]"));
startFrame();
startLooks();
startTrust(wire);
startWithdrawing();
openNamed();
addEventListener("hashchange", openNamed);
wire.connect();
if (form) void showAll();
