// Showing hostile text. Every character that a person could not see, or could take for another, becomes a mark like `␣U+200B`.
// `scan` is pure: it cuts a text into segments whose sources add up to the text, so nothing is left out; `paint` makes DOM of them.
// Not here: what a text means (acts.js, warn.js).
// Invariant: joined `s` of all segments is the text; no `show` holds an invisible, reordering or control character but newline and tab.

import { el } from './dom.js';

/**
 * @typedef {{s: string, show: string, mark: ''|'hidden'|'alike'|'space'}} Segment
 * @typedef {'hidden'|'bidi'|'control'|'alike'|'surrogate'} Oddity
 * @typedef {Record<Oddity, number> & {rtl: boolean, spaces: number, names: Record<Oddity, string[]>}} Found
 * @typedef {'act'|'prose'} Manner  `act` marks all that matters to a machine; `prose` spares ordinary foreign words
 */

// Controls, formats (bidi, zero-width, tags), lone surrogates, private and unassigned, line and paragraph separators, odd spaces,
// and letters, fillers and selectors that draw nothing.
const HIDDEN = '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Cn}\\p{Zl}\\p{Zp}\\u00A0\\u1680\\u2000-\\u200A\\u202F\\u205F\\u3000\\u115F\\u1160\\u3164\\uFFA0\\u2800'
  + '\\u034F\\u17B4\\u17B5\\u180B-\\u180F\\uFE00-\\uFE0F\\u{E0100}-\\u{E01EF}\\u{1D159}\\uFFFC\\uFFFD]';
const COMBINING = '(?=\\p{Script=Inherited})\\p{M}';

// A run of one hidden character; combining marks; blank lines in a row; spaces that push text out of sight or end a line.
const ACT = new RegExp(`(?<h>(?![\\n\\t])${HIDDEN})\\k<h>*|${COMBINING}|(?<m>\\p{M}{4,})|\\n{5,}|(?<! ) {9,}| +(?=\\n|$)`, 'gu');
const PROSE = new RegExp(`(?<h>(?![\\n\\t])${HIDDEN})\\k<h>*|(?<m>\\p{M}{3,})|\\n{4,}|(?<! ) {9,}`, 'gu');

const BIDI = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/u;
const RTL = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;

/** Letters of other scripts (code points) by the Latin letter they pass for. */
const LETTERS = reverse({
  a: '0430 03B1 0251', b: '044C', c: '0441 03F2 1D04', d: '0501', e: '0435 03B5 212E', g: '0581 0261', h: '04BB 0570', i: '0456 03B9 0131 0269',
  j: '0458 03F3 0237', k: '043A 03BA', l: '04CF 2113', m: '043C', n: '043F 03B7 0578', o: '043E 03BF 0585 1D0F 03C3', p: '0440 03C1', q: '051B', r: '0433',
  s: '0455 A731', t: '0442 03C4', u: '03C5 057D 1D1C', v: '03BD 0475 1D20', w: '051D 03C9 1D21', x: '0445 03C7', y: '0443 03B3', z: '1D22',
  A: '0410 0391 1D00 A4EE', B: '0412 0392 0432 A4D0', C: '0421 03F9 A4DA', D: 'A4D3', E: '0415 0395 A4F0', F: 'A4DD A730', G: '050C A4D6', H: '041D 0397 043D A4E7',
  I: '0406 0399 04C0 026A A4F2', J: '0408 A4D9', K: '041A 039A A4D7', L: '029F A4E1', M: '041C 039C A4DF', N: '039D A4E0', O: '041E 039F A4F3', P: '0420 03A1 A4D1',
  R: '0280 A4E3', S: '0405 A4E2', T: '0422 03A4 A4D4', U: 'A4F4', V: '0474 A4E6', W: '051C A4EA', X: '0425 03A7 A4EB', Y: '04AE 03A5 028F A4EC', Z: '0396 A4DC',
});

/** Signs (code points) by the ASCII sign, which machines read, that they pass for. */
const SIGNS = reverse({
  '-': '2010 2011 2012 2013 2014 2015 2212 2043 02D7 FE63', '/': '2215 2044 29F8 2571', '\\': '2216 29F5 FE68', '.': '2024 0660 06D4', ';': '037E FE54', ':': 'A789 2236 02D0 FE55',
  "'": '2018 2019 201B 2032 02B9 02BC 02C8 00B4', '"': '201C 201D 201F 2033 02BA', ',': '201A FE50', '`': '02CB 1FEF', '|': '2223 23AA 2758 01C0 23D0 00A6 2502', '*': '2217 204E FE61',
  '~': '223C 02DC 2053', '<': '02C2 2039 276C 27E8 FE64', '>': '02C3 203A 276D 27E9 FE65', '=': '2A75 A4FF 2550 FE66', '(': '2768', ')': '2769', '{': '2774', '}': '2775',
  _: '2017', '!': '01C3', '%': '066A', $: 'FE69', '&': 'FE60', '#': 'FE5F', '?': '0294',
});

/** @param {Record<string, string>} table @returns {ReadonlyMap<string, string>} */
function reverse(table) {
  return new Map(Object.entries(table).flatMap(([plain, codes]) => codes.split(' ').map((code) => [String.fromCodePoint(Number.parseInt(code, 16)), plain])));
}

const WORD = /[\p{L}\p{N}\p{M}_]+/gu;
const PLAIN = /^[\x21-\x7E\n]*(?: {1,8}[\x21-\x7E][\x21-\x7E\n]*)*$/;

/** @param {string} char @returns {string} */
export function codePoint(char) {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

/** What an unusual character passes for, or ''. @param {string} c */
export function passesFor(c) {
  if (c < '\u0080') return '';
  const known = LETTERS.get(c) ?? SIGNS.get(c);
  if (known) return known;
  // Full-width, mathematical, circled and superscript forms decompose to what they look like.
  const plain = c.normalize('NFKC');
  return plain !== c && /^[\x21-\x7E]+$/.test(plain) ? plain : '';
}

/**
 * Cuts a text into segments.
 * @param {string} text @param {Manner} [manner] @returns {Segment[]}
 */
export function scan(text, manner = 'act') {
  if (PLAIN.test(text) && !/\n{4,}/.test(text)) return text === '' ? [] : [{ s: text, show: text, mark: '' }];
  /** @type {Segment[]} */
  const out = [];
  let at = 0;
  for (const match of text.matchAll(manner === 'act' ? ACT : PROSE)) {
    if (match.index > at) alikes(text.slice(at, match.index), manner, out);
    out.push(marked(match[0], match.groups?.['h'], match.groups?.['m'], match.index === 0 || text[match.index - 1] === '\n'));
    at = match.index + match[0].length;
  }
  if (at < text.length) alikes(text.slice(at), manner, out);
  return out;
}

/** @param {string} s @param {string|undefined} hidden @param {string|undefined} stacked @param {boolean} lineStart @returns {Segment} */
function marked(s, hidden, stacked, lineStart) {
  if (hidden !== undefined) {
    const n = s.length / hidden.length;
    const mark = `␣${codePoint(hidden)}`;
    return { s, show: n === 1 ? mark : n <= 3 ? mark.repeat(n) : `${mark}×${n}`, mark: 'hidden' };
  }
  if (s[0] === '\n') return { s, show: `↵×${s.length}\n`, mark: 'space' };
  if (s[0] === ' ') {
    // Indentation may be as wide as code is; only what is wider than that is counted instead of drawn.
    if (lineStart && s.length <= 60) return { s, show: s, mark: '' };
    return { s, show: s.length <= 3 ? '␣'.repeat(s.length) : `␣×${s.length}`, mark: 'space' };
  }
  const show = stacked !== undefined ? Array.from(stacked, (c) => `␣${codePoint(c)}`).join('') : `␣${codePoint(s)}`;
  return { s, show, mark: 'hidden' };
}

/** @param {string} text @param {Manner} manner @param {Segment[]} out */
function alikes(text, manner, out) {
  const suspects = suspectsOf(text, manner);
  let at = 0;
  for (const [index, char] of suspects) {
    if (index > at) out.push({ s: text.slice(at, index), show: text.slice(at, index), mark: '' });
    out.push({ s: char, show: char + codePoint(char), mark: 'alike' });
    at = index + char.length;
  }
  if (at < text.length) out.push({ s: text.slice(at), show: text.slice(at), mark: '' });
}

/** @param {string} text @param {Manner} manner @returns {[number, string][]} */
function suspectsOf(text, manner) {
  /** @type {Map<number, string>} */
  const found = new Map();
  if (/^[\x00-\x7F]*$/.test(text)) return [];
  for (const word of text.matchAll(WORD)) {
    const letters = Array.from(word[0]);
    const foreign = letters.filter((c) => LETTERS.has(c)).length;
    // A word of one foreign script is that language; mixed with Latin, or made of nothing but doubles, it is a trap.
    const trap = foreign > 0 && (/[A-Za-z]/.test(word[0]) || (manner === 'act' && foreign === letters.filter((c) => /\p{L}/u.test(c)).length));
    let index = word.index;
    for (const c of letters) {
      if ((trap && LETTERS.has(c)) || (!LETTERS.has(c) && passesFor(c))) found.set(index, c);
      index += c.length;
    }
  }
  if (manner === 'act') {
    let index = 0;
    for (const c of text) {
      if (!LETTERS.has(c) && passesFor(c)) found.set(index, c);
      index += c.length;
    }
  }
  return [...found].sort((a, b) => a[0] - b[0]);
}

/** What is odd about texts, for the warning band. @param {readonly string[]} texts @param {Manner} [manner] @returns {Found} */
export function findings(texts, manner = 'act') {
  /** @type {Found} */
  const found = { hidden: 0, bidi: 0, control: 0, alike: 0, surrogate: 0, rtl: false, spaces: 0, names: { hidden: [], bidi: [], control: [], alike: [], surrogate: [] } };
  for (const text of texts) {
    if (RTL.test(text)) found.rtl = true;
    for (const { s, mark } of scan(text, manner)) {
      if (mark === '') continue;
      if (mark === 'space') {
        // A space at the end of a line is marked but is no alarm; a gap that hides text is.
        if (s.length > 8 || s[0] === '\n') found.spaces += 1;
        continue;
      }
      const [char = ''] = s;
      const what = mark === 'alike' ? 'alike' : oddity(char);
      found[what] += Array.from(s).length;
      const name = codePoint(char);
      if (!found.names[what].includes(name)) found.names[what].push(name);
    }
  }
  return found;
}

/** @param {string} char @returns {Oddity} */
function oddity(char) {
  if (BIDI.test(char)) return 'bidi';
  if (/\p{Cs}/u.test(char)) return 'surrogate';
  return /\p{Cc}/u.test(char) ? 'control' : 'hidden';
}

/**
 * Cuts plain segments at places in the text, so that a part of a line can be drawn in a way of its own. What a segment shows does
 * not change by it: a text is judged whole. A mark is never cut.
 * @param {readonly Segment[]} segments @param {readonly number[]} places ascending
 * @returns {(Segment & {at: number})[]}
 */
export function cut(segments, places) {
  /** @type {(Segment & {at: number})[]} */
  const out = [];
  let at = 0;
  let next = 0;
  for (const segment of segments) {
    const end = at + segment.s.length;
    let from = at;
    for (; next < places.length && (places[next] ?? 0) < end; next += 1) {
      const place = places[next] ?? 0;
      if (place <= from || segment.mark !== '') continue;
      const s = segment.s.slice(from - at, place - at);
      out.push({ s, show: s, mark: '', at: from });
      from = place;
    }
    const s = segment.s.slice(from - at);
    out.push({ s, show: from === at ? segment.show : s, mark: segment.mark, at: from });
    at = end;
  }
  return out;
}

/** One segment as DOM. @param {Segment} segment @returns {Node} */
export function drawSegment({ s, show, mark }) {
  if (mark === '') return document.createTextNode(show);
  if (mark === 'alike') return el('span', { class: 'mark alike' }, s, el('span', { class: 'code', text: codePoint(s) }));
  return el('span', { class: `mark ${mark}`, text: show });
}

/**
 * The segments as DOM. Order on screen is the order in the text: the style sheet forbids reordering under `.exact`.
 * @param {string} text @param {Manner} [manner] @returns {DocumentFragment}
 */
export function paint(text, manner = 'act') {
  const out = document.createDocumentFragment();
  for (const segment of scan(text, manner)) out.append(drawSegment(segment));
  return out;
}

/** The same as plain text, for labels, titles and sentences of ours. @param {string} text @param {Manner} [manner] */
export function plain(text, manner = 'prose') {
  return scan(text, manner).map((segment) => segment.show).join('');
}

/** Foreign words in a line of ours: an agent's name, a path, a label. @param {string} text @param {string} [cls] @param {Manner} [manner] */
export function exact(text, cls = '', manner = 'act') {
  const node = el('bdo', { class: `exact ${cls}`.trim(), dir: 'ltr' });
  node.append(paint(text, manner));
  return node;
}

/** How many lines and characters a text has. @param {string} text */
export function sizeOf(text) {
  return { lines: text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0), chars: Array.from(text).length };
}
