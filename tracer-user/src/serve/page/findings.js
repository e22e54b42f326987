// The agent's sentences, each with a mark that needs no color.

import { element } from "./dom.js";

const WEIGHTS = {
  cost: ["!!", "costs time"],
  hint: ["i", "worth a look"],
  not_known: ["??", "cannot be told"],
  fine: ["ok", "nothing to do"],
};

export const mark = (weight) => {
  const [sign, words] = WEIGHTS[weight];
  return element("span", { class: `mark ${weight}`, role: "img", "aria-label": words, title: words }, sign);
};

/** A line of a list; `about`: what the sentence is of. */
export const finding = ({ weight, text }, ...about) =>
  element("li", { class: "finding" }, mark(weight), element("span", {}, ...about, text));
