// Building DOM: createElement and textContent only, so that no text can ever become markup.
// Not here: making hostile text visible (show.js). Plain strings given to `el` are our own words.

/** @typedef {Node|string|null|undefined|false} Child */
/** @typedef {Record<string, unknown>} Props */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element. `class`, `text`, `testid`, `on: {event: listener}`, `data: {name: value}` have a meaning; booleans toggle an
 * attribute, everything else is an attribute. Inline handlers and styles are refused: the CSP would drop them anyway.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Props} [props] @param {...Child} children @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  fill(node, props, children);
  return node;
}

/**
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag @param {Props} [props] @param {...Child} children @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  fill(node, props, children);
  return node;
}

/** @param {Element} node @param {Props} props @param {Child[]} children */
function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [event, listener] of Object.entries(/** @type {Record<string, EventListener>} */ (value))) node.addEventListener(event, listener);
    } else if (name === 'data') {
      for (const [key, v] of Object.entries(/** @type {Record<string, unknown>} */ (value))) node.setAttribute(`data-${key}`, String(v));
    } else if (name === 'text') {
      node.textContent = String(value);
    } else if (name === 'testid') {
      node.setAttribute('data-testid', String(value));
    } else if (name.startsWith('on') || name === 'style' || name === 'srcdoc') {
      throw new Error(`not as an attribute: ${name}`);
    } else {
      node.setAttribute(name, value === true ? '' : String(value));
    }
  }
  add(node, ...children);
}

/** @param {Node} node @param {...Child} children */
export function add(node, ...children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    node.appendChild(typeof child === 'string' ? document.createTextNode(child) : child);
  }
}

/** Replaces what a node holds. @param {Element} node @param {...Child} children */
export function put(node, ...children) {
  node.replaceChildren();
  add(node, ...children);
}

/** @param {boolean} on @param {Element} node @param {string} name */
export function flag(on, node, name) {
  node.toggleAttribute(name, on);
}

/**
 * The shape that says how risky a row is: never by colour alone.
 * @param {'safe'|'careful'|'stop'} level @param {string} label
 */
export function riskShape(level, label) {
  const shape = level === 'safe'
    ? svg('circle', { cx: 8, cy: 8, r: 5 })
    : level === 'careful'
      ? svg('path', { d: 'M8 1.6 15 14.2H1z' })
      : svg('path', { d: 'M5 1h6l4 4v6l-4 4H5l-4-4V5z' });
  return svg('svg', { class: `risk ${level}`, viewBox: '0 0 16 16', role: 'img', 'aria-label': label }, shape,
    level === 'safe' ? null : svg('path', { class: 'ink', d: level === 'careful' ? 'M7.3 6h1.4l-.3 4.3h-.8zM7.2 11.3h1.6v1.5H7.2z' : 'M7.2 3.6h1.6l-.3 5.8h-1zM7.1 10.7h1.8v1.8H7.1z' }));
}

const ICONS = Object.freeze({
  inbox: 'M3 13.5 5.6 5h12.8L21 13.5V19H3zM3 13.5h5l1.4 2.6h5.2l1.4-2.6h5',
  running: 'M4 5h16v14H4zM7.5 9l3 3-3 3M12.5 15h4',
  rules: 'M5 6.5h14M5 12h9M5 17.5h6M16 16l2 2 3.5-4',
  history: 'M12 4a8 8 0 1 1-7.4 5M4 4.5V9h4.5M12 8v4.5l3 2',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5',
  right: 'M9 5l7 7-7 7',
  left: 'M15 5l-7 7 7 7',
  seal: 'M12 3l7 3v5.5c0 4.4-2.9 7.4-7 9.5-4.1-2.1-7-5.1-7-9.5V6zM8.8 12l2.2 2.3 4.3-4.6',
  close: 'M6 6l12 12M18 6L6 18',
});

/** @param {keyof typeof ICONS} name */
export function icon(name) {
  return svg('svg', { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true' }, svg('path', { d: ICONS[name] }));
}
