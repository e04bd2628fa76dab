// @ts-check
/** Says which plugins are not running and why, and what is wrong with the settings. */

import { visible } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/** @param {import("../wire.js").Wire} wire */
export function startNotices(wire) {
  const tell = tellerOfSwitch();
  wire.on("system.plugins_changed", ({ plugins }) => {
    showFailed(plugins ?? []);
    tell(plugins ?? []);
  });
  wire.on("system.config_read", ({ faults }) => {
    document.querySelector(".settings-fault")?.toggleAttribute("hidden", !faults?.length);
  });
}

/** Tells when Smart Context is turned on or off; other settings only restart it. */
function tellerOfSwitch() {
  let wasOn = document.querySelector(".topics") !== null;
  /** @param {readonly { id: string, state: string }[]} plugins */
  return (plugins) => {
    if (isOn(plugins) === wasOn || !document.querySelector(".topics, .turned-off")) return;
    wasOn = !wasOn;
    const act = () => location.reload();
    toast(`Smart Context was turned ${wasOn ? "on" : "off"}.`, { label: "Reload", act });
  };
}

/** Whether Smart Context is among the plugins that run. @param {readonly { id: string, state: string }[]} plugins */
export function isOn(plugins) {
  return plugins.some(({ id, state }) => id === "smart_context" && state === "running");
}

/** @param {readonly { id: string, name?: string, state: string, reason?: string }[]} plugins */
function showFailed(plugins) {
  const template = /** @type {HTMLTemplateElement | null} */ (document.querySelector(".plugin-template"));
  const box = document.querySelector(".plugins-failed");
  if (!template || !box) return;
  const failed = plugins.filter((plugin) => plugin.reason && !["running", "disabled", "untrusted"].includes(plugin.state));
  box.replaceChildren(
    ...failed.map((plugin) => {
      const line = /** @type {Element} */ (document.importNode(/** @type {Element} */ (template.content.firstElementChild), true));
      const [name, reason] = line.querySelectorAll("[data-slot]");
      name.textContent = visible(plugin.name || plugin.id);
      reason.textContent = visible(plugin.reason ?? "");
      return line;
    }),
  );
}
