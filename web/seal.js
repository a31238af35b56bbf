// Sealing: payloads for every verb, the challenge, and the two ceremonies with the authenticator.
// The page builds every payload itself and never hands a challenge it received to the authenticator: what is
// signed is always SHA-256 over bytes that were made here, under a type that was chosen here.
// Not here: where items come from and how they look; sending a proof (api.js).

import { bytesOf, fromB64, sha256, toB64 } from './item.js';
import { parse } from './json.js';

export const PROOF_TYPE = 'application/vnd.sealward.proof.v1+json';
export const LOGIN_TYPE = 'application/vnd.sealward.login.v1+json';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long a payload of a verb may live, in milliseconds. */
export const LIFE_MAX = Object.freeze({
  approve: DAY, deny: DAY, security: 30 * DAY, rule: 366 * DAY, delegate: 90 * DAY, vouch: 10 * MINUTE, pin: HOUR, revoke: 366 * DAY,
});

/** One payload covers at most this many items. */
export const ITEMS_MAX = 256;
/** A reason is at most this many bytes. */
export const REASON_BYTES_MAX = 2000;

export const CHANNELS = Object.freeze(['post', 'call', 'newsletter', 'broadcast', 'pan-pan', 'security']);

const HASH = /^[0-9a-f]{64}$/;
const NONCE = /^[A-Za-z0-9_-]{22}$/;

/** @typedef {Record<string, unknown> & {v:number, verb:string, nonce:string, issued:number, expires:number}} Payload */
/** @typedef {import('./api.js').PinEntry} PinEntry */
/** @typedef {import('./api.js').Signature} Signature */
/** @typedef {import('./api.js').Proof} Proof */

/** @returns {string} 16 random bytes as 22 base64url characters */
export function nonce() {
  return toB64(crypto.getRandomValues(new Uint8Array(16)));
}

/** `rule-`, `del-` and 32 hex digits. @param {string} prefix */
export function freshId(prefix) {
  return prefix + Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, '0')).join('');
}

/** @param {unknown} ok @param {string} what @returns {asserts ok} */
function must(ok, what) {
  if (!ok) throw new SealError('refused', what);
}

/** The page refuses to sign. `code` is a key of the word list with `seal_` before it. */
export class SealError extends Error {
  /** @param {string} code @param {string} [detail] */
  constructor(code, detail = '') {
    super(detail || code);
    this.name = 'SealError';
    this.code = code;
    this.detail = detail;
  }
}

/** @param {readonly string[]} items */
function soundItems(items) {
  must(items.length >= 1 && items.length <= ITEMS_MAX, `one payload covers 1 to ${ITEMS_MAX} items`);
  must(items.every((h) => HASH.test(h)), 'an item hash is 64 lower-case hex digits');
  must(new Set(items).size === items.length, 'an item stands twice in the list');
}

/**
 * @param {string} verb @param {number} now @param {number} expires @param {number} lifeMax
 */
function head(verb, now, expires, lifeMax) {
  must(Number.isSafeInteger(now) && Number.isSafeInteger(expires), 'times are whole milliseconds');
  must(now <= expires && expires - now <= lifeMax, `a payload of verb ${verb} cannot live that long`);
  return { v: 1, verb, nonce: nonce(), issued: now, expires };
}

/**
 * @param {{items: readonly string[], now: number, expires: number, undoMs: number}} of  `undoMs` is 0 under a quorum
 * @returns {Payload}
 */
export function approve({ items, now, expires, undoMs }) {
  soundItems(items);
  const notBefore = now + undoMs;
  // An item about to expire still gets the undo window and a minute for its executor to fetch the proof.
  const end = Math.min(Math.max(expires, notBefore + MINUTE), now + LIFE_MAX.approve);
  return { ...head('approve', now, end, LIFE_MAX.approve), items: [...items], not_before: notBefore };
}

/**
 * @param {{items: readonly string[], channel: string, reason: string, now: number, expires?: number}} of
 * @returns {Payload}
 */
export function deny({ items, channel, reason, now, expires }) {
  soundItems(items);
  must(CHANNELS.includes(channel), 'there is no such channel');
  must(bytesOf(reason).length <= REASON_BYTES_MAX, `a reason is at most ${REASON_BYTES_MAX} bytes`);
  const life = channel === 'security' ? LIFE_MAX.security : LIFE_MAX.deny;
  return { ...head('deny', now, expires ?? now + life, life), items: [...items], channel, reason };
}

/**
 * @param {{key: PinEntry, executor: string, now: number}} of
 * @returns {Payload}
 */
export function pin({ key, executor, now }) {
  return { ...head('pin', now, now + LIFE_MAX.pin, LIFE_MAX.pin), key, executor };
}

/**
 * @param {{what: 'rule'|'delegation'|'key'|'warning', id: string, now: number}} of
 * @returns {Payload}
 */
export function revoke({ what, id, now }) {
  must(id.length > 0, 'nothing is named');
  return { ...head('revoke', now, now + LIFE_MAX.revoke, LIFE_MAX.revoke), what, id };
}

/**
 * @param {{kind: string, tool: string, pattern: string, scope: string, executor: string, matcher: number, uses: number, now: number, expires: number}} of
 * @returns {Payload}
 */
export function rule({ kind, tool, pattern, scope, executor, matcher, uses, now, expires }) {
  must(pattern.trim() !== '' && !/[\r\n]/.test(scope), 'a rule needs a pattern, and its scope is one line');
  must(Number.isSafeInteger(uses) && uses >= 0, 'uses is a whole number, 0 for no limit');
  return { ...head('rule', now, expires, LIFE_MAX.rule), id: freshId('rule-'), kind, tool, pattern, scope, executor, matcher, uses };
}

/**
 * @param {{reviewer: string, kinds: readonly string[], scope: string, maxRisk: 'low'|'medium', executor: string, now: number, expires: number}} of
 * @returns {Payload}
 */
export function delegate({ reviewer, kinds, scope, maxRisk, executor, now, expires }) {
  must(HASH.test(reviewer), 'a reviewer is named by its Ed25519 key in hex');
  must(kinds.length > 0 && new Set(kinds).size === kinds.length, 'a delegation names at least one kind, each once');
  return { ...head('delegate', now, expires, LIFE_MAX.delegate), id: freshId('del-'), reviewer, kinds: [...kinds], scope, max_risk: maxRisk, executor };
}

/** @param {Payload|Record<string, unknown>} payload @returns {Uint8Array} the exact bytes that travel and are signed */
export function encode(payload) {
  return bytesOf(JSON.stringify(payload));
}

/**
 * `PAE(type, body) = "DSSEv1" SP len(type) SP type SP len(body) SP body`
 * @param {string} type @param {Uint8Array} body @returns {Uint8Array}
 */
export function pae(type, body) {
  const head = bytesOf(`DSSEv1 ${bytesOf(type).length} ${type} ${body.length} `);
  const whole = new Uint8Array(head.length + body.length);
  whole.set(head);
  whole.set(body, head.length);
  return whole;
}

/** @param {string} type @param {Uint8Array} body @returns {Promise<Uint8Array<ArrayBuffer>>} */
export function challenge(type, body) {
  return sha256(pae(type, body));
}

/**
 * The bytes of a login answer. A nonce has exactly the shape of 16 random bytes and stands inside our own text
 * under the login type: no server can make these bytes, or their challenge, be those of a proof.
 * @param {{nonce: unknown, origin: string, now: number}} of @returns {Uint8Array}
 */
export function loginBytes({ nonce: given, origin, now }) {
  if (typeof given !== 'string' || !NONCE.test(given) || !fromB64(given)) throw new SealError('bad_nonce');
  return encode({ v: 1, nonce: given, issued: now, origin });
}

/**
 * Reads a collecting batch's payload: the exact members of `approve`, none doubled, each well-formed.
 * @param {Uint8Array} bytes @returns {Payload & {items: string[], not_before: number}}
 */
export function readApprove(bytes) {
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SealError('bad_batch', 'not UTF-8');
  }
  let parsed;
  try {
    parsed = parse(text);
  } catch {
    throw new SealError('bad_batch', 'not JSON');
  }
  const { node, doubled } = parsed;
  const wanted = ['v', 'verb', 'nonce', 'issued', 'expires', 'items', 'not_before'];
  const names = node.t === 'object' ? node.members.map((m) => m.key) : [];
  if (doubled.length || names.length !== wanted.length || wanted.some((w) => !names.includes(w))) throw new SealError('bad_batch', 'members');
  const p = /** @type {Payload & {items: string[], not_before: number}} */ (JSON.parse(text));
  const times = [p.issued, p.not_before, p.expires];
  const sound = p.v === 1 && p.verb === 'approve' && typeof p.nonce === 'string' && NONCE.test(p.nonce) && Array.isArray(p.items)
    && times.every((t) => Number.isSafeInteger(t)) && p.issued <= p.not_before && p.not_before <= p.expires
    && p.expires - p.issued <= LIFE_MAX.approve;
  if (!sound) throw new SealError('bad_batch', 'values');
  soundItems(p.items);
  return p;
}

/**
 * What the hub said in its help, held against what is shown. A hub that would have other items signed is caught
 * here, loudly; the proof could not cover them anyway, because the payload is ours.
 * @param {{rp_id: unknown, credentials: unknown, covers: unknown}} help
 * @param {readonly {kind: string, id: string}[]} entries @param {readonly string[]} hashes
 * @param {string} hostname
 * @returns {string[]} credential ids
 */
export function compare(help, entries, hashes, hostname) {
  if (help.rp_id !== hostname) throw new SealError('wrong_rp');
  const covers = help.covers;
  if (!Array.isArray(covers) || covers.length !== hashes.length) throw new SealError('lying_hub');
  const theirs = new Map(covers.map((c) => [`${c?.kind} ${c?.id}`, c?.hash]));
  entries.forEach((entry, i) => {
    if (theirs.get(`${entry.kind} ${entry.id}`) !== hashes[i]) throw new SealError('lying_hub');
  });
  return credentialIds(help.credentials);
}

/** @param {unknown} ids @returns {string[]} */
export function credentialIds(ids) {
  // 1,023 bytes are the longest credential id of WebAuthn.
  if (!Array.isArray(ids) || ids.some((id) => typeof id !== 'string' || id.length > 1364 || !fromB64(id))) throw new SealError('bad_credentials');
  if (ids.length === 0) throw new SealError('no_credentials');
  return ids;
}

/**
 * Asks the authenticator to sign `body` under `type`.
 * @param {{type: string, body: Uint8Array, credentials: readonly string[], signal?: AbortSignal}} of
 * @returns {Promise<Signature>}
 */
export async function sign({ type, body, credentials, signal }) {
  const own = await challenge(type, body);
  /** @type {PublicKeyCredential} */
  let got;
  try {
    const options = {
      challenge: own,
      rpId: location.hostname,
      userVerification: /** @type {const} */ ('required'),
      timeout: 5 * MINUTE,
      allowCredentials: credentials.map((id) => ({ type: /** @type {const} */ ('public-key'), id: /** @type {Uint8Array<ArrayBuffer>} */ (fromB64(id)) })),
    };
    got = /** @type {PublicKeyCredential} */ (await navigator.credentials.get(signal ? { publicKey: options, signal } : { publicKey: options }));
  } catch (e) {
    throw passkeyError(e);
  }
  const answer = /** @type {AuthenticatorAssertionResponse} */ (got.response);
  const client = JSON.parse(new TextDecoder().decode(answer.clientDataJSON));
  if (client.challenge !== toB64(own)) throw new SealError('passkey_other');
  return {
    keyid: toB64(got.rawId),
    webauthn: {
      authenticatorData: toB64(answer.authenticatorData),
      clientDataJSON: toB64(answer.clientDataJSON),
      signature: toB64(answer.signature),
    },
  };
}

/**
 * @param {Payload} payload @param {readonly string[]} credentials @returns {Promise<Proof>}
 */
export async function seal(payload, credentials) {
  const body = encode(payload);
  const signature = await sign({ type: PROOF_TYPE, body, credentials });
  return { payloadType: PROOF_TYPE, payload: toB64(body), signatures: [signature] };
}

/**
 * Makes a passkey and the pin entry that proposes it. Nothing in it comes from the hub.
 * @param {{label: string, now: number}} of @returns {Promise<PinEntry>}
 */
export async function createKey({ label, now }) {
  /** @type {PublicKeyCredential} */
  let made;
  try {
    made = /** @type {PublicKeyCredential} */ (await navigator.credentials.create({
      publicKey: {
        challenge: crypto.getRandomValues(new Uint8Array(32)),
        rp: { id: location.hostname, name: 'Sealward' },
        user: { id: crypto.getRandomValues(new Uint8Array(16)), name: label, displayName: label },
        pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: /** @type {const} */ ('public-key'), alg })),
        authenticatorSelection: { userVerification: 'required', residentKey: 'preferred' },
        attestation: 'none',
        timeout: 5 * MINUTE,
      },
    }));
  } catch (e) {
    throw passkeyError(e);
  }
  const answer = /** @type {AuthenticatorAttestationResponse} */ (made.response);
  const spki = answer.getPublicKey();
  if (!spki) throw new SealError('passkey_alg');
  const flags = new Uint8Array(answer.getAuthenticatorData())[32] ?? 0;
  return {
    id: toB64(made.rawId),
    alg: answer.getPublicKeyAlgorithm(),
    spki: toB64(spki),
    rp_id: location.hostname,
    origins: [location.origin],
    label,
    not_after: null,
    backup_eligible: (flags & 0x08) !== 0,
    since: now,
  };
}

/** @param {unknown} e @returns {SealError} */
function passkeyError(e) {
  const name = e instanceof Error ? e.name : '';
  if (name === 'NotAllowedError' || name === 'AbortError') return new SealError('passkey_cancelled');
  if (name === 'InvalidStateError') return new SealError('passkey_known');
  if (name === 'SecurityError') return new SealError('passkey_address');
  return new SealError('passkey_failed', e instanceof Error ? e.message : String(e));
}
