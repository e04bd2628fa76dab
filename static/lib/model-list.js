// @ts-check
/** A list of models, of which one is chosen; a box above it narrows it. */

/** @typedef {{ model: string, name: string }} Choice */

/** What the names of models say that write no answers. */
const WRITES_NO_ANSWERS = /embed|\b(bge|e5|gte|minilm)\b|rerank|whisper|transcri|\btts\b|dall-e|moderation|guard/i;

/** True unless the name says otherwise. @param {string} model */
export function writesAnswers(model) {
  return !WRITES_NO_ANSWERS.test(model);
}

/** Fills `list` with a radio button for each model. @param {HTMLElement} list @param {readonly Choice[]} choices @param {string} chosen */
export function listModels(list, choices, chosen) {
  list.replaceChildren(
    ...choices.map(({ model, name }) => {
      const label = document.createElement("label");
      const radio = Object.assign(document.createElement("input"), { type: "radio", name: "listed-model", value: model });
      const words = Object.assign(document.createElement("span"), { textContent: name, dir: "auto" });
      radio.checked = model === chosen;
      label.append(radio, words);
      return label;
    }),
  );
  list.querySelector("input:checked")?.closest("label")?.scrollIntoView({ block: "nearest" });
}

/** Shows those whose names have all words of `query`. @param {HTMLElement} list @param {string} query */
export function narrowModels(list, query) {
  const words = query.toLowerCase().split(/\s+/);
  for (const label of list.querySelectorAll("label")) {
    const name = label.textContent?.toLowerCase() ?? "";
    label.hidden = !words.every((word) => name.includes(word));
  }
}
