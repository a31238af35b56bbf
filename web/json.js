// A strict JSON reader that keeps what JSON.parse throws away: the exact text of every token, doubled
// member names, and how the text differs from its plain encoding. The page shows an input by it, so that
// two programs that read the same text differently cannot be played against each other.
// Not here: writing JSON (JSON.stringify does) and drawing it (show.js, acts.js).

/** Deeper nesting is refused: nobody can read it, so nobody can seal it. */
export const DEPTH_MAX = 64;

/**
 * @typedef {{t:'string', raw:string, value:string}} JString
 * @typedef {{t:'number', raw:string}} JNumber
 * @typedef {{t:'word', raw:string, value:boolean|null}} JWord
 * @typedef {{t:'array', items:JNode[]}} JArray
 * @typedef {{key:string, raw:string, value:JNode}} JMember
 * @typedef {{t:'object', members:JMember[]}} JObject
 * @typedef {JString|JNumber|JWord|JArray|JObject} JNode
 * @typedef {{at:number, end:number, why:'spacing'|'escape'|'number'}} Difference  a place where the text is not its plain encoding
 * @typedef {{node:JNode, doubled:string[], differences:Difference[]}} Parsed
 */

/** The text is not one JSON value. `at` counts UTF-16 units. */
export class JsonError extends Error {
  /** @param {string} what @param {number} at */
  constructor(what, at) {
    super(`${what} at ${at}`);
    this.name = 'JsonError';
    this.at = at;
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const SPACE = /[ \t\n\r]*/y;

/**
 * Reads exactly one JSON value.
 * @param {string} text
 * @returns {Parsed}
 */
export function parse(text) {
  /** @type {string[]} */
  const doubled = [];
  /** @type {Difference[]} */
  const differences = [];
  let at = 0;

  /** @param {string} what @returns {never} */
  const fail = (what) => {
    throw new JsonError(what, at);
  };
  const space = () => {
    SPACE.lastIndex = at;
    SPACE.exec(text);
    if (SPACE.lastIndex > at) differences.push({ at, end: SPACE.lastIndex, why: 'spacing' });
    at = SPACE.lastIndex;
  };
  /** @returns {{raw:string, value:string}} */
  const string = () => {
    const start = at;
    if (text[at] !== '"') fail('a string was expected');
    at += 1;
    for (;;) {
      const c = text[at];
      if (c === undefined) fail('a string does not end');
      if (/** @type {string} */ (c) < ' ') fail('a bare control character in a string');
      if (c === '"') break;
      at += c === '\\' ? 2 : 1;
    }
    at += 1;
    const raw = text.slice(start, at);
    let value;
    try {
      value = /** @type {string} */ (JSON.parse(raw));
    } catch {
      at = start;
      fail('a bad escape in a string');
    }
    const plain = JSON.stringify(value);
    // Lone surrogates have only an escaped form; a letter case of `\ud800` is nobody's business.
    if (plain !== raw && plain.toLowerCase() !== raw.toLowerCase()) {
      differences.push({ at: start, end: at, why: 'escape' });
    }
    return { raw, value: /** @type {string} */ (value) };
  };
  /** @param {number} depth @returns {JNode} */
  const value = (depth) => {
    if (depth > DEPTH_MAX) fail('nested too deeply to be read');
    const c = text[at];
    if (c === '{') return object(depth);
    if (c === '[') return array(depth);
    if (c === '"') return { t: 'string', ...string() };
    for (const [raw, meaning] of /** @type {[string, boolean|null][]} */ ([['true', true], ['false', false], ['null', null]])) {
      if (text.startsWith(raw, at)) {
        at += raw.length;
        return { t: 'word', raw, value: meaning };
      }
    }
    NUMBER.lastIndex = at;
    const found = NUMBER.exec(text);
    if (!found) return fail('a value was expected');
    const start = at;
    at = NUMBER.lastIndex;
    if (String(Number(found[0])) !== found[0]) differences.push({ at: start, end: at, why: 'number' });
    return { t: 'number', raw: found[0] };
  };
  /** @param {number} depth @returns {JObject} */
  const object = (depth) => {
    /** @type {JMember[]} */
    const members = [];
    const names = new Set();
    at += 1;
    space();
    if (text[at] === '}') {
      at += 1;
      return { t: 'object', members };
    }
    for (;;) {
      const key = string();
      if (names.has(key.value)) doubled.push(key.value);
      names.add(key.value);
      space();
      if (text[at] !== ':') fail('a colon was expected');
      at += 1;
      space();
      members.push({ key: key.value, raw: key.raw, value: value(depth + 1) });
      space();
      if (text[at] === '}') break;
      if (text[at] !== ',') fail('a comma or a closing brace was expected');
      at += 1;
      space();
    }
    at += 1;
    return { t: 'object', members };
  };
  /** @param {number} depth @returns {JArray} */
  const array = (depth) => {
    /** @type {JNode[]} */
    const items = [];
    at += 1;
    space();
    if (text[at] === ']') {
      at += 1;
      return { t: 'array', items };
    }
    for (;;) {
      items.push(value(depth + 1));
      space();
      if (text[at] === ']') break;
      if (text[at] !== ',') fail('a comma or a closing bracket was expected');
      at += 1;
      space();
    }
    at += 1;
    return { t: 'array', items };
  };

  space();
  const node = value(0);
  space();
  if (at !== text.length) fail('something follows the value');
  return { node, doubled, differences };
}

/**
 * The value of a node as plain data. Numbers keep their text, so that nothing is rounded.
 * @param {JNode} node
 * @returns {string}
 */
export function compact(node) {
  switch (node.t) {
    case 'string':
    case 'number':
    case 'word':
      return node.raw;
    case 'array':
      return `[${node.items.map(compact).join(',')}]`;
    case 'object':
      return `{${node.members.map((m) => `${m.raw}:${compact(m.value)}`).join(',')}}`;
  }
}

/**
 * The string member of that name, or undefined.
 * @param {JNode} node @param {string} name @returns {string|undefined}
 */
export function text(node, name) {
  if (node.t !== 'object') return undefined;
  const member = node.members.find((m) => m.key === name);
  return member?.value.t === 'string' ? member.value.value : undefined;
}
