// What may be sealed: only what is whole, only what the row says it is.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';

import { checkBatch, lifeOf } from '../deeds.js';
import { entriesOf, fingerprint, fromB64, hashesOf, toB64, unsealable } from '../item.js';
import { approve, encode } from '../seal.js';
import { itemHash as mockHash } from './mock.mjs';
import * as ex from './examples.mjs';

test('ordinary rows of every kind may be sealed', async () => {
  for (const row of [ex.deploy(), ex.shell(), ex.edit(), ex.write(), ex.mcp(), ex.fetch(), ex.quorum(), ex.decision(), ex.review(), ex.twice(), ex.hostile()]) {
    assert.deepEqual(await unsealable(row), [], row.kind);
  }
});

test('a row that says one thing and would seal another is refused', async () => {
  const of = async (row, change) => unsealable({ ...row, ...change });
  const d = ex.deploy();
  assert.deepEqual(await of(d, { id: `ask-${'0'.repeat(32)}` }), ['unseal_mismatch']);
  assert.deepEqual(await of(d, { executor: 'hook@other' }), ['unseal_mismatch']);
  assert.deepEqual(await of(d, { agent: 'codex' }), ['unseal_mismatch']);
  assert.deepEqual(await of(d, { kind: 'wish' }), ['unseal_kind']);
  assert.deepEqual(await of(d, { kind: 'call' }), ['unseal_fields']);
  assert.deepEqual(await of(d, { item: { ...d.item, extra: 'x' } }), ['unseal_fields']);
  assert.deepEqual(await of(d, { item: { ...d.item, cwd: 7 } }), ['unseal_fields']);
  assert.deepEqual(await of(d, { item: null }), ['unseal_fields']);
  assert.deepEqual(await of(d, { also: ['ask-1'] }), ['unseal_ids']);
  assert.deepEqual(await of(d, { also: [d.id] }), ['unseal_ids']);
  assert.deepEqual(await of(d, { item: { ...d.item, cwd: '/\uD800' } }), ['unseal_surrogate']);
});

test('an input that can be read in two ways is refused', async () => {
  const input = (text) => ({ ...ex.deploy(), item: { ...ex.deploy().item, input: text } });
  const of = async (text) => {
    const row = input(text);
    return unsealable({ ...row, id: row.item.id });
  };
  assert.deepEqual(await of('{"command":"ls","command":"rm"}'), ['unseal_doubled']);
  assert.deepEqual(await of('{"command":"ls"} '), []);
  assert.deepEqual(await of('{"command":"ls"}x'), ['unseal_json']);
  assert.deepEqual(await of(''), ['unseal_json']);
  assert.deepEqual(await of(`{"a":${'['.repeat(80)}${']'.repeat(80)}}`), ['unseal_json']);
});

test('a command, a decision and a diff must be what they are said to be', async () => {
  const c = ex.quorum();
  assert.deepEqual(await unsealable({ ...c, sha256: 'f'.repeat(64) }), ['unseal_sha']);
  assert.deepEqual(await unsealable({ ...c, runnable: false }), ['unseal_not_runnable']);
  assert.deepEqual(await unsealable({ ...ex.decision(), options: [] }), ['unseal_options']);
  const r = ex.review();
  assert.deepEqual(await unsealable({ ...r, diff_text: toB64(new TextEncoder().encode('another')) }), ['unseal_diff']);
  assert.deepEqual(await unsealable({ ...r, diff_text: null }), ['unseal_diff']);
  assert.deepEqual(await unsealable({ ...r, item: { ...r.item, diff: '' } }), ['unseal_diff']);
  const latin = Buffer.from([0x66, 0xe9]);
  const odd = { ...r, diff_text: latin.toString('base64url'), item: { ...r.item, diff: createHash('sha256').update(latin).digest('hex') } };
  assert.deepEqual(await unsealable(odd), ['unseal_diff_text']);
});

test('equal asks are each hashed under their own id', async () => {
  const row = ex.twice();
  const hashes = await hashesOf(row);
  assert.equal(hashes.length, 3);
  assert.equal(new Set(hashes).size, 3);
  assert.deepEqual(hashes, [row.id, ...row.also].map((id) => mockHash('ask', { ...row.item, id })));
  assert.deepEqual(entriesOf(row).map((e) => e.id), [row.id, ...row.also]);
});

test('a decision is hashed with the chosen answer, a command is named with its checksum', async () => {
  const d = ex.decision();
  assert.deepEqual(await hashesOf(d, 'Redis, as now'), [mockHash('decision', { ...d.item, choice: 'Redis, as now' })]);
  assert.deepEqual(entriesOf(d, 'Redis, as now'), [{ kind: 'decision', id: d.id, choice: 'Redis, as now', sha256: '' }]);
  const c = ex.quorum();
  assert.deepEqual(entriesOf(c), [{ kind: 'command', id: c.id, choice: '', sha256: c.sha256 }]);
});

/** A collecting batch over rows, as an honest hub lists it. */
async function batchOf(rows, change = {}) {
  const items = (await Promise.all(rows.map((r) => hashesOf(r)))).flat();
  const now = Date.now();
  const payload = { ...approve({ items, now, expires: now + 900_000, undoMs: 0 }), ...change };
  return { id: 'b', status: 'collecting', payload: toB64(encode(payload)), entries: rows.flatMap((r) => entriesOf(r)), have: 1, need: 2, signers: ['ada'], created: now, settles: null, expires: payload.expires };
}

test('a collecting batch is signed only when it lists exactly the rows on the screen', async () => {
  const [a, b, c] = [ex.quorum(), ex.deploy({ quorum: 2 }), ex.fetch()];
  const batch = await batchOf([a, b]);
  const { picked, payload } = await checkBatch(batch, [c, b, a]);
  assert.deepEqual(picked.map((p) => p.row.id), [a.id, b.id]);
  assert.equal(payload.items.length, 2);

  const code = async (of, rows) => checkBatch(of, rows).then(() => 'signed', (e) => e.code);
  assert.equal(await code(batch, [a]), 'batch_unseen');
  assert.equal(await code(batch, [a, { ...b, item: { ...b.item, cwd: '/' } }]), 'lying_hub');
  assert.equal(await code({ ...batch, entries: batch.entries.slice(1) }, [a, b]), 'lying_hub');
  assert.equal(await code({ ...batch, entries: [...batch.entries, ...entriesOf(c)] }, [a, b, c]), 'lying_hub');
  assert.equal(await code({ ...batch, entries: [batch.entries[0], batch.entries[0]] }, [a, b]), 'lying_hub');
  assert.equal(await code(await batchOf([a, b], { verb: 'deny' }), [a, b]), 'bad_batch');
  assert.equal(await code(await batchOf([a, b], { extra: 1 }), [a, b]), 'bad_batch');
  assert.equal(await code(await batchOf([a, b], { expires: Date.now() + 30 * 86_400_000 }), [a, b]), 'bad_batch');
  assert.equal(await code({ ...batch, payload: `${batch.payload}=` }, [a, b]), 'bad_batch');
  assert.equal(await code(await batchOf([a, { ...b, human_only: 'x' }]), [a, { ...b, human_only: 'x' }]), 'human_only_alone');
});

test('an equal ask that came after the first signature is not in the way', async () => {
  const row = ex.deploy({ quorum: 2 });
  const batch = await batchOf([row]);
  const later = { ...row, also: [`ask-${'1'.repeat(32)}`] };
  const { picked } = await checkBatch(batch, [later]);
  assert.equal(picked.length, 1);
});

test('an approval lives as long as what waits, a command 15 minutes, a review 4 hours', () => {
  const now = 1_000_000;
  const pick = (kind, expires) => ({ row: { kind, expires }, choice: '' });
  assert.equal(lifeOf([pick('ask', now + 50), pick('call', now + 70)], now), now + 70);
  assert.equal(lifeOf([pick('command', now + 1)], now), now + 900_000);
  assert.equal(lifeOf([pick('review', now + 1)], now), now + 14_400_000);
  assert.equal(lifeOf([pick('ask', now + 3_600_000), pick('command', now + 1)], now), now + 900_000);
});

test('base64url is canonical or nothing', () => {
  for (const bad of ['A', 'AB', 'AAA=', 'A+A/', 'AA A', 'ü']) assert.equal(fromB64(bad), null, bad);
  assert.deepEqual([...fromB64('_-8')], [255, 239]);
});

test('a fingerprint is the first 20 base32 characters of the digest, in fives', async () => {
  const spki = Buffer.from('MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAENXI3ZduS8yTWmzBhlUdb65b1jCmsbsGNHH3yQZ1L5giGJ3EhuosnSLPHM_rDEHV6kPpri4Jo2s1WHVTtWXtXZg', 'base64url');
  let bits = '';
  for (const b of createHash('sha256').update(spki).digest()) bits += b.toString(2).padStart(8, '0');
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const want = Array.from({ length: 20 }, (_, i) => letters[Number.parseInt(bits.slice(i * 5, i * 5 + 5), 2)]).join('');
  const got = await fingerprint(spki);
  assert.equal(got.replaceAll('-', ''), want);
  assert.match(got, /^([A-Z2-7]{5}-){3}[A-Z2-7]{5}$/);
});
