// Builds elements. Every string becomes a text node: nothing here can turn data into markup.

export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) set(element, name, value);
  append(element, children);
  return element;
}

function set(element, name, value) {
  if (value === undefined || value === null || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "data") Object.assign(element.dataset, value);
  else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") element[name] = value;
  else element.setAttribute(name, value === true ? "" : String(value));
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

// Writes a text only if it changed, so that nothing is painted or read aloud for nothing.
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function button(words, onclick, more = {}) {
  const { kind = "", ...rest } = more;
  return h("button", { type: "button", class: `button ${kind}`, onclick, ...rest }, words);
}

export function field(label, control) {
  return h("label", { class: "field" }, h("span", {}, label), control);
}
