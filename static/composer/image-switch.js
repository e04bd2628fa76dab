// @ts-check
/** Turns images on where a picture is attached that the model would not be shown. */

import { reasonOf } from "../lib/text.js";
import { toast } from "../lib/toasts.js";

const SETTING = "llm.images";

/** @param {HTMLFormElement} form  The `.composer`. @param {import("../wire.js").Wire} wire */
export function startImageSwitch(form, wire) {
  form.addEventListener("click", async (event) => {
    const pressed = event.target instanceof Element ? event.target.closest(".attaching-see") : null;
    if (!pressed) return;
    try {
      await turnOn(wire);
      form.dispatchEvent(new CustomEvent("images-on"));
      toast("Images are sent from now on.");
    } catch (error) {
      toast(reasonOf(error));
    }
  });
}

/** Sets it where the model's address is set. @param {import("../wire.js").Wire} wire */
async function turnOn(wire) {
  const { revision, sources } = await wire.call("system.settings");
  const scope = [sources["llm.base_url"], sources["llm.categories.chat"]].includes("vault") ? "vault" : "user";
  await wire.call("system.change_settings", { values: { [SETTING]: true }, scope, revision });
  const { chat_takes_images: isOn } = await wire.call("system.status");
  if (!isOn) throw new Error("This model has settings of its own: turn “images” on there, in the settings.");
}
