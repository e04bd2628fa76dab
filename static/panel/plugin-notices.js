// @ts-check
/** Says which plugins are not running and why, and what is wrong with the settings. */

import { visible } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

/** @param {import("../wire.js").Wire} wire */
export function startNotices(wire) {
  wire.on("system.plugins_changed", ({ plugins }) => showFailed(plugins ?? []));
  wire.on("system.config_read", ({ faults }) => {
    if (faults?.length) toast(`The settings file has errors, so the old settings still apply: ${faults.join("; ")}`);
  });
  wire.on("ui.register_panel", ({ id }) => {
    if (id === "smart_context" && document.querySelector(".turned-off")) offerReload("Smart Context was turned on.");
  });
  wire.on("ui.remove_panel", ({ id }) => {
    if (id === "smart_context" && document.querySelector(".topics")) offerReload("Smart Context was turned off.");
  });
}

/** @param {readonly { id: string, name?: string, state: string, reason?: string }[]} plugins */
function showFailed(plugins) {
  const template = /** @type {HTMLTemplateElement | null} */ (document.querySelector(".plugin-template"));
  const box = document.querySelector(".plugins-failed");
  if (!template || !box) return;
  const failed = plugins.filter((plugin) => plugin.reason && !["running", "disabled"].includes(plugin.state));
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

/** @param {string} words */
function offerReload(words) {
  toast(words, { label: "Reload", act: () => location.reload() });
}
