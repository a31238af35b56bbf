// The hub's HTTP API as the page uses it: typed shapes, errors, and the event stream with resume and back-off.
// Not here: anything that believes the hub. What is sealed is checked in item.js and seal.js.

import { splitLines } from './chain.js';

/**
 * @typedef {{kind:string, id:string, choice:string, sha256:string}} Entry
 * @typedef {{keyid:string, webauthn:{authenticatorData:string, clientDataJSON:string, signature:string}}} Signature
 * @typedef {{payloadType:string, payload:string, signatures:Signature[]}} Proof
 * @typedef {{id:string, alg:number, spki:string, rp_id:string, origins:string[], label:string, person?:string, not_after:number|null, backup_eligible:boolean, since:number}} PinEntry
 * @typedef {'pending'|'collecting'|'settling'|'allowed'|'denied'|'expired'|'cancelled'|'superseded'} Status
 * @typedef {{
 *   kind:string, id:string, item:Record<string,string>, also?:string[], status:Status, agent:string, executor:string, host?:string|null, thread?:string|null,
 *   guard:'user'|'system', why?:string|null, created:number, expires:number, quorum:number, have:number, batch:string|null, human_only?:string|null,
 *   task?:string|null, runnable?:boolean, sha256?:string|null, job?:Job|null, opinion?:{risk:string, text:string}|null,
 *   options?:string[], recommended?:string|null, details?:string|null, title?:string|null, summary?:string|null, page?:string|null, diff_text?:string|null
 * }} Row
 * @typedef {{id:string, status:string, payload:string, entries:Entry[], have:number, need:number, signers:string[], created:number, settles:number|null, expires:number}} Batch
 * @typedef {{id?:string, task?:string, command?:string, directory?:string, executor?:string, status:string, code?:number|null, output:string, created?:number, started?:number|null, finished?:number|null}} Job
 * @typedef {{id:string, label:string, person:string|null, alg:number, fingerprint:string, since:number, revoked:boolean}} PinRow
 * @typedef {{name:string, role:string, executors:string[], created:number, seen:number|null, revoked:boolean}} AgentRow
 * @typedef {{seq:number, nonce:string, channel:string, reason:string, label:string, expires:number}} PinnedMessage
 * @typedef {{id:string, kind?:string, tool?:string, pattern?:string, scope?:string, executor?:string, expires?:number, used?:number, uses?:number}} RuleRow
 * @typedef {{allowed_by_you:number, allowed_by_rule:number, allowed_by_reviewer:number, denied:number, expired:number}} Today
 * @typedef {{
 *   inbox:Row[], next:string|null, total:number, jobs:Job[], rules:RuleRow[], delegations:unknown[], batches:Batch[], agents:AgentRow[],
 *   messages:PinnedMessage[], head:{seq:number, hash:string, verified:boolean}, hub:string, paused:boolean, undo_ms:number, now:number,
 *   pins:PinRow[], today:Today
 * }} Snapshot
 * @typedef {{audience:string, label:string, person:string|null, keyid:string, hub:string, origin:string, rp_id:string, quorum:Record<string,number>, undo_ms:number, now:number}} Me
 * @typedef {{nonce:string, credentials:{id:string, label:string}[], rp_id:string, origin:string, now:number}} LoginStart
 * @typedef {{payload:unknown, credentials:string[], rp_id:string, covers:{kind:string,id:string,hash:string}[], warnings:string[]}} Prepared
 * @typedef {{seq:number, at:number, prev:string, event:Record<string, unknown> & {kind:string}, hash:string}} Line
 * @typedef {{kind:string, id:string, status:Status, item:Record<string,string>, agent:string, who:string|null, channel:string|null, reason:string|null, created:number, closed:number|null, seq:number}} HistoryEntry
 * @typedef {{id:string, label:string, created:number, seen:number, current:boolean}} Session
 */

const TOKEN = 'sealward.token';

/** An answer takes at most this long; a phone in a lift should be told soon. */
const ANSWER_MS = 20_000;
/** The hub sends at least a comment this often; silence is a dead line. */
const SILENCE_MS = 45_000;
const BACK_OFF_MS = Object.freeze([500, 1000, 2000, 4000, 8000, 15_000]);

/** The hub said no, or nothing. `code` is the stable word of the problem, `offline` when there was no answer. */
export class ApiError extends Error {
  /** @param {{status:number, code:string, detail?:string, stale?:string[], retryAfter?:number}} of */
  constructor({ status, code, detail = '', stale = [], retryAfter = 0 }) {
    super(detail || code);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.stale = stale;
    this.retryAfter = retryAfter;
  }
}

export const session = {
  get token() {
    return sessionStorage.getItem(TOKEN) ?? '';
  },
  /** @param {string} token empty to forget it */
  set token(token) {
    if (token) sessionStorage.setItem(TOKEN, token);
    else sessionStorage.removeItem(TOKEN);
  },
};

/** @param {Record<string,string>} [more] @returns {Record<string,string>} */
function headers(more = {}) {
  const { token } = session;
  return { Accept: 'application/json', ...(token ? { 'X-Sealward': token } : {}), ...more };
}

/**
 * @param {'GET'|'POST'} method @param {string} path @param {unknown} [body] @param {(text: string) => unknown} [read] @returns {Promise<any>}
 */
async function call(method, path, body, read = JSON.parse) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: headers(method === 'POST' ? { 'Content-Type': 'application/json' } : {}),
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(ANSWER_MS),
      ...(method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}),
    });
  } catch {
    throw new ApiError({ status: 0, code: 'offline' });
  }
  if (answer.status === 204) return null;
  let data;
  try {
    data = (answer.ok ? read : JSON.parse)(await answer.text());
  } catch {
    throw new ApiError({ status: answer.status, code: answer.ok ? 'internal' : codeOf(answer.status) });
  }
  if (answer.ok) return data;
  throw new ApiError({
    status: answer.status,
    code: typeof data?.code === 'string' ? data.code : codeOf(answer.status),
    detail: typeof data?.detail === 'string' ? data.detail : '',
    stale: Array.isArray(data?.stale) ? data.stale.filter((/** @type {unknown} */ s) => typeof s === 'string') : [],
    retryAfter: Number(answer.headers.get('Retry-After')) || 0,
  });
}

/** @param {number} status */
function codeOf(status) {
  return status === 401 ? 'unauthorized' : status === 403 ? 'forbidden' : status >= 500 ? 'unavailable' : 'malformed';
}

/** @param {string} part */
const q = (part) => encodeURIComponent(part);

export const api = {
  /** @returns {Promise<LoginStart>} */
  loginStart: () => call('POST', '/api/login/start', {}),
  /** @param {string} payload @param {Signature} signature @returns {Promise<{token:string, label:string, person:string|null, expires:number}>} */
  loginFinish: (payload, signature) => call('POST', '/api/login/finish', { payload, signature }),
  /** @param {string} code @param {PinEntry} key @returns {Promise<{fingerprint:string, label:string}>} */
  enrol: (code, key) => call('POST', '/api/enrol', { code, key }),
  logout: () => call('POST', '/api/logout', {}),
  /** @returns {Promise<{sessions:Session[]}>} */
  sessions: () => call('GET', '/api/sessions'),
  /** @param {string} id */
  endSession: (id) => call('POST', `/api/sessions/${q(id)}/end`, {}),
  /** @returns {Promise<Me>} */
  me: () => call('GET', '/api/me'),
  /** @param {string} [after] @returns {Promise<Snapshot>} */
  snapshot: (after) => call('GET', `/api/snapshot?limit=100${after ? `&after=${q(after)}` : ''}`),
  /** @param {Record<string, unknown>} help @returns {Promise<Prepared>} */
  prepare: (help) => call('POST', '/api/prepare', help),
  /** @param {Proof} proof @param {readonly Entry[]} entries @returns {Promise<{batch?:string|Batch, id?:string}>} */
  proofs: (proof, entries) => call('POST', '/api/proofs', { proof, entries }),
  /** @param {string} id @returns {Promise<Batch>} */
  batch: (id) => call('GET', `/api/batches/${q(id)}`),
  /** @param {string} id @param {Signature[]} signatures @returns {Promise<{batch?:string|Batch}|Batch>} */
  addSignatures: (id, signatures) => call('POST', `/api/batches/${q(id)}/signatures`, { signatures }),
  /** @param {string} id @returns {Promise<Batch>} */
  undo: (id) => call('POST', `/api/batches/${q(id)}/undo`, {}),
  /** @returns {Promise<{paused:boolean}>} */
  pause: () => call('POST', '/api/pause', {}),
  /** @param {string} payload @param {Signature} signature @returns {Promise<{paused:boolean}>} */
  resume: (payload, signature) => call('POST', '/api/resume', { payload, signature }),
  /** @param {{before?:number|null, query?:string}} of @returns {Promise<{entries:HistoryEntry[], next:number|null}>} */
  history: ({ before, query }) => call('GET', `/api/history?limit=50${before ? `&before=${before}` : ''}${query ? `&q=${q(query)}` : ''}`),
  /** @param {string} id @returns {Promise<{row:Row, events:Line[], proof?:Proof}>} */
  story: (id) => call('GET', `/api/items/${q(id)}`),
  /** The exact texts of log lines. @param {number} since @param {number} limit @returns {Promise<string[]>} */
  eventTexts: (since, limit) => call('GET', `/api/events?since=${since}&wait=0&limit=${limit}`, undefined, splitLines),
};

/**
 * The snapshot with at least `want` of the rows that wait, if there are so many: the oldest first, as the hub pages them. `total` says
 * how many there are, so that what is not fetched yet is still told.
 * @param {number} want @returns {Promise<Snapshot>}
 */
export async function fetchSnapshot(want) {
  const first = await api.snapshot();
  const seen = new Set(first.inbox.map((r) => r.id));
  while (first.next && first.inbox.length < want) {
    const more = await api.snapshot(first.next);
    for (const row of more.inbox) {
      if (!seen.has(row.id)) first.inbox.push(row);
      seen.add(row.id);
    }
    if (more.next === first.next) break;
    first.next = more.next;
  }
  return first;
}

/**
 * Splits a byte stream into events of `text/event-stream`. Feed text, get events; a comment line is an empty feed.
 */
export function sseReader() {
  let rest = '';
  return {
    /** @param {string} chunk @returns {{id:string, event:string, data:string}[]} */
    feed(chunk) {
      rest += chunk;
      /** @type {{id:string, event:string, data:string}[]} */
      const out = [];
      for (;;) {
        const end = /\r\n\r\n|\n\n|\r\r/.exec(rest);
        if (!end) return out;
        const block = rest.slice(0, end.index);
        rest = rest.slice(end.index + end[0].length);
        const got = { id: '', event: 'message', data: '' };
        /** @type {string[]} */
        const data = [];
        for (const line of block.split(/\r\n|\n|\r/)) {
          if (line === '' || line.startsWith(':')) continue;
          const colon = line.indexOf(':');
          const field = colon < 0 ? line : line.slice(0, colon);
          const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
          if (field === 'data') data.push(value);
          else if (field === 'id') got.id = value;
          else if (field === 'event') got.event = value;
        }
        if (data.length) out.push({ ...got, data: data.join('\n') });
      }
    },
  };
}

/**
 * Follows the log. EventSource cannot send our header, so this is fetch. It goes on after the last number seen, waits longer
 * after each failure, and says how it stands.
 * @param {{since: number, onLine: (line: Line, raw: string) => void, onState: (state: 'online'|'offline', retryMs: number) => void, onRefused: (e: ApiError) => void}} of
 * @returns {{stop: () => void, poke: () => void}}
 */
export function follow({ since, onLine, onState, onRefused }) {
  let last = since;
  let stopped = false;
  let tries = 0;
  let running = new AbortController();
  /** @type {(() => void)|null} */
  let wake = null;

  const once = async () => {
    running = new AbortController();
    const { signal } = running;
    let timer = setTimeout(() => running.abort(), SILENCE_MS);
    const alive = () => {
      clearTimeout(timer);
      timer = setTimeout(() => running.abort(), SILENCE_MS);
    };
    try {
      const answer = await fetch(`/api/stream?since=${last}`, {
        headers: headers({ Accept: 'text/event-stream', 'Last-Event-ID': String(last) }), credentials: 'same-origin', cache: 'no-store', redirect: 'error', signal,
      });
      if (answer.status === 401 || answer.status === 403) {
        stopped = true;
        onRefused(new ApiError({ status: answer.status, code: codeOf(answer.status) }));
        return;
      }
      if (!answer.ok || !answer.body) throw new Error(`stream: ${answer.status}`);
      tries = 0;
      onState('online', 0);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const sse = sseReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        alive();
        for (const event of sse.feed(value)) {
          const line = /** @type {Line} */ (JSON.parse(event.data));
          if (line.seq > last) last = line.seq;
          onLine(line, event.data);
        }
      }
    } finally {
      clearTimeout(timer);
    }
  };
  const loop = async () => {
    while (!stopped) {
      try {
        await once();
      } catch {
        // Said by onState below: a broken line is a state of the page, not an exception.
      }
      if (stopped) return;
      const wait = (BACK_OFF_MS[Math.min(tries, BACK_OFF_MS.length - 1)] ?? 15_000) * (0.8 + 0.4 * Math.random());
      // The first retry is silent: a server that restarts a stream is not an outage.
      if (tries > 0) onState('offline', wait);
      tries += 1;
      await new Promise((/** @type {(v?: unknown) => void} */ resolve) => {
        const timer = setTimeout(resolve, wait);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      wake = null;
    }
  };
  void loop();
  return {
    stop() {
      stopped = true;
      running.abort();
      wake?.();
    },
    /** Tries again at once: the device came back, or a person asked. */
    poke() {
      wake?.();
    },
  };
}
