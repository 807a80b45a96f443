// Elements are made by name with text as text: nothing that is shown is ever read as markup.

export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : String(child));
  }
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

// A canvas in CSS pixels, sharp on any screen. `draw(g, width, height)` is called with `redraw`.
export class Surface {
  constructor(element, draw) {
    this.element = element;
    this.g = element.getContext("2d");
    this.width = this.height = 0;
    this.draw = draw;
    new ResizeObserver(() => this.resize()).observe(element);
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.element.clientWidth, height = this.element.clientHeight;
    if (!width || !height) return;
    if (this.element.width !== Math.round(width * ratio) || this.element.height !== Math.round(height * ratio)) {
      this.element.width = Math.round(width * ratio);
      this.element.height = Math.round(height * ratio);
    }
    this.width = width;
    this.height = height;
    this.redraw();
  }

  redraw() {
    if (!this.width) return;
    const ratio = this.element.width / this.width;
    this.g.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.g.clearRect(0, 0, this.width, this.height);
    this.draw(this.g, this.width, this.height);
  }

  place(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

// The theme's colours, read anew after it changes.
const NAMES = ["ink", "muted", "faint", "line", "panel", "ground", "accent", "good", "bad", "warn",
  "red", "blue", "violet"];

export function readColours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

export function toneColour(colours, tone) {
  return {good: colours.good, bad: colours.bad, warn: colours.warn, accent: colours.accent,
    red: colours.red, blue: colours.blue, violet: colours.violet}[tone] || colours.muted;
}
