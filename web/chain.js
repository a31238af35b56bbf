// Checks the chain of log lines in this browser: each line's hash is over its own bytes, each names the one before it.
// Not here: anything about what the lines say.

import { bytesOf, hex, sha256 } from './item.js';

/** `,"hash":"` + 64 digits + `"}`: what every line ends with. */
const TAIL = /,"hash":"([0-9a-f]{64})"\}$/;
const FRONT = /^\{"seq":([0-9]+),"at":(-?[0-9]+),"prev":"([0-9a-f]{64})","event":\{/;

/**
 * @param {readonly string[]} lines exact texts, oldest first
 * @param {{seq: number, hash: string}} [head] what the last line must be
 * @returns {Promise<{seq: number, why: 'shape'|'hash'|'prev'|'seq'|'head'}|null>} null when all fits
 */
export async function checkChain(lines, head) {
  let prev = '';
  let seq = 0;
  for (const line of lines) {
    const front = FRONT.exec(line);
    const tail = TAIL.exec(line);
    if (!front || !tail) return { seq: seq + 1, why: 'shape' };
    const n = Number(front[1]);
    if (seq && n !== seq + 1) return { seq: n, why: 'seq' };
    if (prev ? front[3] !== prev : n === 1 && front[3] !== '0'.repeat(64)) return { seq: n, why: 'prev' };
    if (hex(await sha256(bytesOf(line.slice(0, tail.index)))) !== tail[1]) return { seq: n, why: 'hash' };
    prev = tail[1] ?? '';
    seq = n;
  }
  // The head may have moved on while the lines were fetched.
  if (head && seq === head.seq && prev !== head.hash) return { seq, why: 'head' };
  return null;
}

/**
 * The exact texts of the lines in `{"events":[…]}`. Parsing and writing them again might not give the same bytes.
 * @param {string} body @returns {string[]}
 */
export function splitLines(body) {
  /** @type {string[]} */
  const out = [];
  let depth = 0;
  let start = -1;
  let quoted = false;
  for (let i = body.indexOf('[') + 1; i > 0 && i < body.length; i += 1) {
    const c = body[i];
    if (quoted) {
      if (c === '\\') i += 1;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === '{') {
      if (depth === 0) start = i;
      depth += 1;
    } else if (c === '}') {
      depth -= 1;
      if (depth === 0) out.push(body.slice(start, i + 1));
    } else if (c === ']' && depth === 0) break;
  }
  return out;
}
