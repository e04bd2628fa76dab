import js from "@eslint/js";
import globals from "globals";

/** HTML is made of templates and text, never of strings (see docs/security.md). */
const HTML_BY_STRING = ["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({
  property,
  message: "Clone a <template> and set textContent.",
}));

/** Words and types are not broken for it. */
const LENGTH = {
  code: 120,
  ignoreComments: true,
  ignoreStrings: true,
  ignoreTemplateLiterals: true,
  ignoreRegExpLiterals: true,
  ignorePattern: "^import |@type",
};

export default [
  js.configs.recommended,
  {
    // `find` is from static/lib/find.js; `window.find`, which looks for text, would hide that an import is missing.
    languageOptions: { globals: { ...globals.browser, find: "off" } },
    rules: {
      eqeqeq: "error",
      "max-len": ["error", LENGTH],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-restricted-properties": ["error", ...HTML_BY_STRING],
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", caughtErrors: "none" }],
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
