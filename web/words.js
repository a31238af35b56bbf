// Which language the page speaks, and how it says times. The words themselves are in words.en.js and words.de.js.

import { en } from './words.en.js';
import { de } from './words.de.js';

/** @typedef {string | ((p: any) => string)} Word */

const KEEP = 'sealward.lang';
/** @type {Readonly<Record<string, Readonly<Record<string, Word>>>>} */
const LANGUAGES = Object.freeze({ en, de });

let lang = pick();

function pick() {
  const kept = typeof localStorage === 'undefined' ? null : localStorage.getItem(KEEP);
  if (kept && Object.hasOwn(LANGUAGES, kept)) return kept;
  const wanted = typeof navigator === 'undefined' ? [] : navigator.languages ?? [navigator.language];
  for (const w of wanted) {
    const short = w.slice(0, 2).toLowerCase();
    if (Object.hasOwn(LANGUAGES, short)) return short;
  }
  return 'en';
}

export const language = {
  get now() {
    return lang;
  },
  all: Object.freeze(Object.keys(LANGUAGES)),
  /** @param {string} to */
  set(to) {
    if (!Object.hasOwn(LANGUAGES, to)) return;
    lang = to;
    if (typeof localStorage !== 'undefined') localStorage.setItem(KEEP, to);
    if (typeof document !== 'undefined') document.documentElement.lang = to;
  },
};

/** Whether there is such a word. @param {string} key */
export function has(key) {
  return Object.hasOwn(en, key);
}

/**
 * The words for a key. `{name}` in a text is filled from `params`.
 * @param {string} key @param {Record<string, unknown>} [params] @returns {string}
 */
export function t(key, params = {}) {
  const word = LANGUAGES[lang]?.[key] ?? en[/** @type {keyof typeof en} */ (key)];
  if (word === undefined) throw new Error(`no word for ${key}`);
  if (typeof word === 'function') return word(params);
  return word.replace(/\{(\w+)\}/g, (_, name) => String(params[name] ?? ''));
}

/** How long ago or how long still: `just now`, `2 min`, `3 h`, `4 d`. @param {number} ms */
export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return t('span_s', { n: s });
  if (s < 3600) return t('span_min', { n: Math.floor(s / 60) });
  if (s < 86_400) return t('span_h', { n: Math.floor(s / 3600) });
  return t('span_d', { n: Math.floor(s / 86_400) });
}

/** @param {number} at @param {number} now */
export function ago(at, now) {
  return now - at < 10_000 ? t('just_now') : span(now - at);
}

/** How this device writes dates in the page's language: British and American English differ. */
function region() {
  const wanted = typeof navigator === 'undefined' ? [] : navigator.languages;
  return wanted.find((w) => w.slice(0, 2).toLowerCase() === lang) ?? lang;
}

/** A moment, in full. @param {number} at */
export function moment(at) {
  return new Intl.DateTimeFormat(region(), { dateStyle: 'medium', timeStyle: 'medium' }).format(at);
}

/** @param {number} at */
export function clock(at) {
  return new Intl.DateTimeFormat(region(), { timeStyle: 'short' }).format(at);
}

/** @param {number} at */
export function day(at) {
  return new Intl.DateTimeFormat(region(), { weekday: 'long', day: 'numeric', month: 'long' }).format(at);
}
