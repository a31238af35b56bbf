// Items: what is asked for, as it is hashed. Kinds, their fields in order, the hash by WebCrypto, and the
// checks a row must pass before the page lets anybody seal it.
// Not here: payloads and passkeys (seal.js), how an item looks (acts.js).
// Invariant: a hash is made only from the very object that was shown, and only if every byte of it can be.

import { parse } from './json.js';

/** @typedef {'ask'|'call'|'review'|'decision'|'command'} Kind */
/** @typedef {import('./api.js').Row} Row */
/** @typedef {import('./api.js').Entry} Entry */

/** The hashed fields of each kind, in order. @type {Readonly<Record<Kind, readonly string[]>>} */
export const FIELDS = Object.freeze({
  ask: ['id', 'executor', 'agent', 'session', 'tool', 'input', 'cwd'],
  call: ['id', 'executor', 'session', 'tool', 'arguments'],
  review: ['id', 'executor', 'repository', 'worktree', 'branch', 'tree', 'base', 'diff', 'gate'],
  decision: ['id', 'executor', 'question', 'choice'],
  command: ['id', 'executor', 'task', 'command', 'directory'],
});

/** @type {Readonly<Record<Kind, string>>} */
const PREFIX = Object.freeze({ ask: 'ask-', call: 'call-', review: 'rev-', decision: 'dec-', command: 'cmd-' });

const utf8 = new TextEncoder();

/** @param {string} kind @returns {kind is Kind} */
export function isKind(kind) {
  return Object.hasOwn(FIELDS, kind);
}

/** @param {ArrayBuffer|Uint8Array} bytes @returns {string} lower-case hex */
export function hex(bytes) {
  return Array.from(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes), (b) => b.toString(16).padStart(2, '0')).join('');
}

/** @param {Uint8Array} bytes @returns {Promise<Uint8Array<ArrayBuffer>>} */
export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', /** @type {Uint8Array<ArrayBuffer>} */ (bytes)));
}

/**
 * Text as the bytes that are hashed. A lone surrogate has none: an encoder would silently put another
 * character in its place, and the hash would be of something that nobody asked for.
 * @param {string} text @returns {Uint8Array}
 */
export function bytesOf(text) {
  if (!text.isWellFormed()) throw new Error('a lone surrogate cannot be hashed');
  return utf8.encode(text);
}

/**
 * `SHA-256("sealward/item/" kind "/v1" 0x00, then each field: u64 big-endian length, bytes)` in lower-case hex.
 * @param {Kind} kind @param {Readonly<Record<string, string>>} item @returns {Promise<string>}
 */
export async function itemHash(kind, item) {
  const parts = [bytesOf(`sealward/item/${kind}/v1\0`)];
  for (const field of FIELDS[kind]) {
    const value = item[field];
    if (typeof value !== 'string') throw new Error(`an item of kind ${kind} lacks ${field}`);
    const bytes = bytesOf(value);
    const length = new Uint8Array(8);
    new DataView(length.buffer).setBigUint64(0, BigInt(bytes.length));
    parts.push(length, bytes);
  }
  const whole = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return hex(await sha256(whole));
}

/**
 * Why this row cannot be sealed here, as keys of the word list; empty when it can.
 * A hub that lies about one field to have another sealed is caught here or by the hash.
 * @param {Row} row @returns {Promise<string[]>}
 */
export async function unsealable(row) {
  if (!isKind(row.kind)) return ['unseal_kind'];
  const { kind, item } = row;
  const fields = FIELDS[kind];
  const names = item && typeof item === 'object' ? Object.keys(item) : [];
  if (names.length !== fields.length || fields.some((f) => typeof item[f] !== 'string')) return ['unseal_fields'];
  /** @type {string[]} */
  const why = [];
  if (fields.some((f) => !(/** @type {string} */ (item[f])).isWellFormed())) why.push('unseal_surrogate');
  if (row.id !== item['id'] || row.executor !== item['executor']) why.push('unseal_mismatch');
  if (kind === 'ask' && row.agent !== item['agent']) why.push('unseal_mismatch');
  if (!soundIds(row, kind)) why.push('unseal_ids');
  if (kind === 'ask' || kind === 'call') why.push(...jsonTroubles(item[kind === 'ask' ? 'input' : 'arguments'] ?? ''));
  if (kind === 'command' && !why.length) {
    if (!row.runnable) why.push('unseal_not_runnable');
    if (row.sha256 !== hex(await sha256(bytesOf(item['command'] ?? '')))) why.push('unseal_sha');
  }
  if (kind === 'decision' && (!Array.isArray(row.options) || row.options.length === 0)) why.push('unseal_options');
  if (kind === 'review' && !why.length) why.push(...(await diffTroubles(row)));
  return [...new Set(why)];
}

/** @param {Row} row @param {Kind} kind */
function soundIds(row, kind) {
  const also = row.also ?? [];
  const shape = new RegExp(`^${PREFIX[kind]}[0-9a-f]{32}$`);
  const all = [row.id, ...also];
  return Array.isArray(also) && all.every((id) => typeof id === 'string' && shape.test(id)) && new Set(all).size === all.length;
}

/** @param {string} text @returns {string[]} */
function jsonTroubles(text) {
  try {
    return parse(text).doubled.length ? ['unseal_doubled'] : [];
  } catch {
    return ['unseal_json'];
  }
}

/** @param {Row} row @returns {Promise<string[]>} */
async function diffTroubles(row) {
  const named = row.item['diff'] ?? '';
  if (named === '') return row.diff_text ? ['unseal_diff'] : [];
  const bytes = row.diff_text ? fromB64(row.diff_text) : null;
  if (!bytes || hex(await sha256(bytes)) !== named) return ['unseal_diff'];
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return ['unseal_diff_text'];
  }
  return [];
}

/**
 * The items a row stands for: itself and the equal ones that wait with it, each under its own id.
 * @param {Row} row @param {string} [choice] of a decision
 * @returns {Readonly<Record<string, string>>[]}
 */
export function itemsOf(row, choice = '') {
  return [row.id, ...(row.also ?? [])].map((id) => {
    /** @type {Record<string, string>} */
    const item = { ...row.item, id };
    if (row.kind === 'decision') item['choice'] = choice;
    return item;
  });
}

/**
 * @param {Row} row @param {string} [choice] @returns {Entry[]}
 */
export function entriesOf(row, choice = '') {
  return [row.id, ...(row.also ?? [])].map((id) => ({
    kind: row.kind,
    id,
    choice: row.kind === 'decision' ? choice : '',
    sha256: row.kind === 'command' ? (row.sha256 ?? '') : '',
  }));
}

/**
 * @param {Row} row @param {string} [choice] @returns {Promise<string[]>} one hash for each entry, in the same order
 */
export async function hashesOf(row, choice = '') {
  const { kind } = row;
  if (!isKind(kind)) throw new Error(`no such kind: ${kind}`);
  return Promise.all(itemsOf(row, choice).map((item) => itemHash(kind, item)));
}

const B64URL = /^[A-Za-z0-9_-]*$/;

/** @param {ArrayBuffer|Uint8Array} bytes @returns {string} base64url without padding */
export function toB64(bytes) {
  let s = '';
  for (const b of bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes)) s += String.fromCharCode(b);
  return btoa(s).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** Canonical base64url without padding, or null. @param {string} text @returns {Uint8Array<ArrayBuffer>|null} */
export function fromB64(text) {
  if (!B64URL.test(text) || text.length % 4 === 1) return null;
  const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  return toB64(bytes) === text ? bytes : null;
}

/**
 * The fingerprint of a key: first 20 base32 characters of SHA-256(spki), in fives.
 * @param {Uint8Array} spki @returns {Promise<string>}
 */
export async function fingerprint(spki) {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  let bits = 0n;
  // 20 characters are 100 bits: the first 13 bytes hold them.
  for (const b of (await sha256(spki)).slice(0, 13)) bits = (bits << 8n) | BigInt(b);
  let out = '';
  for (let i = 0; i < 20; i += 1) out += letters[Number((bits >> BigInt(104 - 5 * (i + 1))) & 31n)];
  return out.replace(/(.{5})(?=.)/g, '$1-');
}

/** So that what was drawn is what is sealed. @template T @param {T} value @returns {T} */
export function freeze(value) {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const v of Object.values(value)) freeze(v);
  }
  return value;
}
