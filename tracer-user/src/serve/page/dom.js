// Elements, made without markup in strings: no name of a device can become
// part of the page.

const SVG = "http://www.w3.org/2000/svg";

const filled = (made, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

export const element = (name, attributes = {}, ...children) =>
  filled(document.createElement(name), attributes, children);

export const drawing = (name, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, name), attributes, children);

/** Leaves a text alone that is the same: it may be selected. */
export const setText = (node, text) => {
  if (node.textContent !== text) {
    node.textContent = text;
  }
};
