// What a person does, from the tap to the hub's answer: approve, deny, sign too, undo, log in, enrol, pin, revoke, pause.
// Each builds its payload here from what is shown, asks the hub only for help, compares, signs, sends.
// Not here: buttons and sheets.

import { api, session } from './api.js';
import { entriesOf, fromB64, hashesOf, toB64, unsealable } from './item.js';
import { approve, compare, createKey, credentialIds, deny, LOGIN_TYPE, loginBytes, pin, PROOF_TYPE, readApprove, revoke, seal, SealError, sign } from './seal.js';

/** @typedef {import('./api.js').Row} Row */
/** @typedef {import('./api.js').Entry} Entry */
/** @typedef {import('./api.js').Batch} Batch */
/** @typedef {import('./api.js').PinEntry} PinEntry */
/** @typedef {import('./seal.js').Payload} Payload */
/** @typedef {{row: Row, choice: string}} Picked  a row as it is shown, with the chosen option of a decision */
/** @typedef {(payload: Payload) => void} Shown  called with what is about to be signed, so that it stands on the screen */

const MINUTE = 60_000;

/**
 * Entries and hashes of what is picked. A row that cannot be shown whole is refused here too, whatever its button said.
 * @param {readonly Picked[]} picked
 */
async function coverOf(picked) {
  /** @type {Entry[]} */
  const entries = [];
  /** @type {string[]} */
  const hashes = [];
  for (const { row, choice } of picked) {
    const [why] = await unsealable(row);
    if (why) throw new SealError('not_whole', why);
    entries.push(...entriesOf(row, choice));
    hashes.push(...(await hashesOf(row, choice)));
  }
  return { entries, hashes };
}

/**
 * How long an approval of these rows lives: what waits at an agent as long as it waits, a command 15 minutes, a review 4 hours.
 * @param {readonly Picked[]} picked @param {number} now
 */
export function lifeOf(picked, now) {
  const waits = picked.filter(({ row }) => row.kind !== 'command' && row.kind !== 'review').map(({ row }) => row.expires);
  const ends = waits.length ? [Math.max(...waits)] : [];
  if (picked.some(({ row }) => row.kind === 'command')) ends.push(now + 15 * MINUTE);
  if (picked.some(({ row }) => row.kind === 'review')) ends.push(now + 240 * MINUTE);
  return Math.min(...ends);
}

/**
 * The persons that items of these rows need, as the rows and our own record of the hub's rules say.
 * @param {readonly Picked[]} picked
 */
export function quorumOf(picked) {
  return Math.max(1, ...picked.map(({ row }) => row.quorum || 1));
}

/**
 * @param {{picked: readonly Picked[], undoMs: number, now: number, onPayload: Shown}} of
 * @returns {Promise<{batch: string, warnings: string[]}>}
 */
export async function approveRows({ picked, undoMs, now, onPayload }) {
  if (picked.length > 1 && picked.some(({ row }) => row.human_only)) throw new SealError('human_only_alone');
  const { entries, hashes } = await coverOf(picked);
  const help = await api.prepare({ verb: 'approve', entries });
  const credentials = compare(help, entries, hashes, location.hostname);
  const payload = approve({ items: hashes, now, expires: lifeOf(picked, now), undoMs: quorumOf(picked) > 1 ? 0 : undoMs });
  onPayload(payload);
  const proof = await seal(payload, credentials);
  return { batch: batchId(await api.proofs(proof, entries)), warnings: textsOf(help.warnings) };
}

/**
 * @param {{picked: readonly Picked[], channel: string, reason: string, now: number, expires?: number, onPayload: Shown}} of
 */
export async function denyRows({ picked, channel, reason, now, expires, onPayload }) {
  // A denial may cover what cannot be shown whole: that is a good reason for one.
  const entries = picked.flatMap(({ row, choice }) => entriesOf(row, choice));
  const hashes = (await Promise.all(picked.map(({ row, choice }) => hashesOf(row, choice)))).flat();
  const help = await api.prepare({ verb: 'deny', entries, channel, reason });
  const credentials = compare(help, entries, hashes, location.hostname);
  const payload = deny(expires === undefined ? { items: hashes, channel, reason, now } : { items: hashes, channel, reason, now, expires });
  onPayload(payload);
  await api.proofs(await seal(payload, credentials), entries);
}

/**
 * Checks a collecting batch against what is shown: its payload lists exactly the hashes of rows that stand on the screen.
 * @param {Batch} batch @param {readonly Row[]} rows
 * @returns {Promise<{payload: Payload & {items: string[], not_before: number}, body: Uint8Array, picked: Picked[]}>}
 */
export async function checkBatch(batch, rows) {
  const body = fromB64(batch.payload);
  if (!body) throw new SealError('bad_batch', 'base64');
  const payload = readApprove(body);
  /** @type {Picked[]} */
  const picked = [];
  const covered = new Set();
  for (const entry of batch.entries) {
    const row = rows.find((r) => r.kind === entry.kind && (r.id === entry.id || (r.also ?? []).includes(entry.id)));
    if (!row) throw new SealError('batch_unseen');
    covered.add(entry.id);
    if (!picked.some((p) => p.row === row)) picked.push({ row, choice: entry.choice });
  }
  const { entries, hashes } = await coverOf(picked);
  if (picked.length > 1 && picked.some(({ row }) => row.human_only)) throw new SealError('human_only_alone');
  // An equal ask that came after the first signature is in its row but not in the payload.
  const shown = hashes.filter((_, i) => covered.has(entries[i]?.id));
  if (shown.length !== payload.items.length || shown.some((hash) => !payload.items.includes(hash))) throw new SealError('lying_hub');
  return { payload, body, picked };
}

/**
 * @param {{batch: Batch, rows: readonly Row[], now: number, onPayload: Shown}} of
 */
export async function signToo({ batch, rows, now, onPayload }) {
  const { payload, body } = await checkBatch(batch, rows);
  if (payload.expires <= now) throw new SealError('batch_over');
  const { credentials } = await api.loginStart();
  const ids = credentialIds(credentials.map((c) => c.id));
  onPayload(payload);
  const signature = await sign({ type: PROOF_TYPE, body, credentials: ids });
  await api.addSignatures(batch.id, [signature]);
}

/** @param {string} id */
export async function undo(id) {
  return api.undo(id);
}

/** A login answer: our own bytes over the hub's nonce. @param {number} now */
async function loginAnswer(now) {
  const start = await api.loginStart();
  if (start.rp_id !== location.hostname) throw new SealError('wrong_rp');
  if (start.origin !== location.origin) throw new SealError('wrong_origin');
  const ids = credentialIds(start.credentials?.map((c) => c.id));
  const body = loginBytes({ nonce: start.nonce, origin: location.origin, now });
  const signature = await sign({ type: LOGIN_TYPE, body, credentials: ids });
  return { payload: toB64(body), signature };
}

/** @param {number} now */
export async function logIn(now) {
  const { payload, signature } = await loginAnswer(now);
  const done = await api.loginFinish(payload, signature);
  session.token = done.token;
  return done;
}

/** @param {number} now */
export async function resume(now) {
  const { payload, signature } = await loginAnswer(now);
  return api.resume(payload, signature);
}

/** @param {{label: string, code: string, now: number}} of @returns {Promise<PinEntry>} the proposed key */
export async function enrol({ label, code, now }) {
  const key = await createKey({ label, now });
  await api.enrol(code, key);
  return key;
}

/** Whether the hub lists this key by now. @param {string} id */
export async function isPinned(id) {
  const { credentials } = await api.loginStart();
  return credentials.some((c) => c.id === id);
}

/** @param {{key: PinEntry, executor: string, now: number, onPayload: Shown}} of */
export async function pinKey({ key, executor, now, onPayload }) {
  const help = await api.prepare({ verb: 'pin', key, executor });
  const credentials = compare({ ...help, covers: [] }, [], [], location.hostname);
  const payload = pin({ key, executor, now });
  onPayload(payload);
  return api.proofs(await seal(payload, credentials), []);
}

/** @param {{what: 'rule'|'delegation'|'key'|'warning', id: string, now: number, onPayload: Shown}} of */
export async function revokeThing({ what, id, now, onPayload }) {
  const help = await api.prepare({ verb: 'revoke', what, id });
  const credentials = compare({ ...help, covers: [] }, [], [], location.hostname);
  const payload = revoke({ what, id, now });
  onPayload(payload);
  return api.proofs(await seal(payload, credentials), []);
}

/** @param {{batch?: string|Batch, id?: string}} answer */
function batchId(answer) {
  const { batch } = answer;
  return typeof batch === 'string' ? batch : (batch?.id ?? '');
}

/** @param {unknown} texts @returns {string[]} */
function textsOf(texts) {
  return Array.isArray(texts) ? texts.filter((w) => typeof w === 'string') : [];
}

