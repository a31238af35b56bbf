// Item hashes, challenges and payload bytes against the vectors of an independent implementation.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { fromB64, itemHash, toB64 } from '../item.js';
import { approve, challenge, compare, deny, encode, loginBytes, LOGIN_TYPE, pae, PROOF_TYPE, readApprove, SealError } from '../seal.js';

const { cases } = JSON.parse(readFileSync(new URL('../../crates/proof/tests/data/proof_vectors.json', import.meta.url)));

test('the hash of every item is the one in the vectors', async () => {
  assert.ok(cases.length > 90);
  for (const c of cases) assert.equal(await itemHash(c.kind, c.item), c.item_hash, c.name);
});

test('the challenge of every well-formed proof is the one its authenticator signed', async () => {
  let n = 0;
  for (const c of cases.filter((x) => x.expect === 'ok')) {
    const body = fromB64(c.proof.payload);
    for (const s of c.proof.signatures) {
      const client = JSON.parse(Buffer.from(s.webauthn.clientDataJSON, 'base64url').toString());
      assert.equal(toB64(await challenge(PROOF_TYPE, body)), client.challenge, c.name);
      n += 1;
    }
  }
  assert.ok(n > 15);
});

test('a payload built here has the members, in the order, of the vectors', async () => {
  const ok = cases.find((c) => c.name === 'ask approved with -7');
  const theirs = JSON.parse(Buffer.from(ok.proof.payload, 'base64url').toString());
  const ours = approve({ items: theirs.items, now: theirs.issued, expires: theirs.expires, undoMs: theirs.not_before - theirs.issued });
  const text = new TextDecoder().decode(encode({ ...ours, nonce: theirs.nonce }));
  assert.equal(text, Buffer.from(ok.proof.payload, 'base64url').toString());
});

test('the pre-authentication encoding counts bytes, not characters', () => {
  assert.equal(new TextDecoder().decode(pae('tä', new TextEncoder().encode('☃'))), 'DSSEv1 3 tä 3 ☃');
});

test('every payload that no checker would take as an approval is refused before it is signed over', () => {
  for (const c of cases.filter((x) => x.expect === 'bad_payload' || x.expect === 'wrong_verb')) {
    const body = fromB64(c.proof.payload);
    if (!body) continue;
    if (c.name === 'integer as float') continue;
    const parsed = () => readApprove(body);
    // A float that is a whole number reads like one in JavaScript; the executor's parser refuses its text.
    if (c.name === 'float time') {
      const text = Buffer.from(c.proof.payload, 'base64url').toString();
      assert.match(text, /\d\.\d/);
    }
    assert.throws(parsed, SealError, c.name);
  }
});

test('a payload that a checker takes is read', () => {
  for (const c of cases.filter((x) => x.expect === 'ok')) assert.equal(readApprove(fromB64(c.proof.payload)).verb, 'approve');
});

test('login bytes take nothing but a nonce of 22 characters', () => {
  const nonce = 'AAAAAAAAAAAAAAAAAAAAAA';
  const bytes = loginBytes({ nonce, origin: 'http://localhost:8787', now: 5 });
  assert.equal(new TextDecoder().decode(bytes), `{"v":1,"nonce":"${nonce}","issued":5,"origin":"http://localhost:8787"}`);
  for (const bad of ['', 'short', `${nonce}A`, nonce.slice(1), 'AAAAAAAAAAAAAAAAAAAAA"', 'AAAAAAAAAAAAAAAAAAAAAB', null, 7, { toString: () => nonce }, [nonce]]) {
    assert.throws(() => loginBytes({ nonce: bad, origin: 'o', now: 5 }), (e) => e.code === 'bad_nonce', String(bad));
  }
});

test('a login challenge is never that of a proof, even over the same bytes', async () => {
  const body = new TextEncoder().encode('{}');
  assert.notEqual(toB64(await challenge(LOGIN_TYPE, body)), toB64(await challenge(PROOF_TYPE, body)));
});

test('help that names other hashes, entries or sites is not followed', () => {
  const entries = [{ kind: 'ask', id: 'ask-1' }, { kind: 'ask', id: 'ask-2' }];
  const hashes = ['a'.repeat(64), 'b'.repeat(64)];
  const covers = entries.map((e, i) => ({ ...e, hash: hashes[i] }));
  const good = { rp_id: 'localhost', credentials: ['AAAA'], covers };
  assert.deepEqual(compare(good, entries, hashes, 'localhost'), ['AAAA']);
  const code = (help) => {
    try {
      compare(help, entries, hashes, 'localhost');
    } catch (e) {
      return e.code;
    }
    return 'signed';
  };
  assert.equal(code({ ...good, rp_id: 'evil.example' }), 'wrong_rp');
  assert.equal(code({ ...good, covers: covers.slice(1) }), 'lying_hub');
  assert.equal(code({ ...good, covers: [...covers, { kind: 'ask', id: 'ask-3', hash: 'c'.repeat(64) }] }), 'lying_hub');
  assert.equal(code({ ...good, covers: [covers[0], { ...covers[1], hash: 'c'.repeat(64) }] }), 'lying_hub');
  assert.equal(code({ ...good, covers: [covers[0], covers[0]] }), 'lying_hub');
  assert.equal(code({ ...good, covers: null }), 'lying_hub');
  assert.equal(code({ ...good, credentials: [] }), 'no_credentials');
  assert.equal(code({ ...good, credentials: ['A*'] }), 'bad_credentials');
  assert.equal(code({ ...good, credentials: ['AB'] }), 'bad_credentials');
});

test('a reason is measured in bytes, and a list of items is never empty, double or over 256', () => {
  const items = ['a'.repeat(64)];
  const now = 1_000_000;
  assert.equal(deny({ items, channel: 'post', reason: 'ä'.repeat(1000), now }).reason.length, 1000);
  assert.throws(() => deny({ items, channel: 'post', reason: 'ä'.repeat(1001), now }), SealError);
  assert.throws(() => deny({ items, channel: 'smoke', reason: '', now }), SealError);
  assert.equal(deny({ items, channel: 'security', reason: '', now }).expires, now + 30 * 86_400_000);
  const many = (n) => Array.from({ length: n }, (_, i) => i.toString(16).padStart(64, '0'));
  const of = (list) => approve({ items: list, now, expires: now + 3_600_000, undoMs: 5000 });
  assert.equal(of(many(256)).items.length, 256);
  assert.throws(() => of(many(257)), SealError);
  assert.throws(() => of([]), SealError);
  assert.throws(() => of([items[0], items[0]]), SealError);
  assert.throws(() => of(['A'.repeat(64)]), SealError);
});

test('an approval ends within a day, and never before its undo window has', () => {
  const items = ['a'.repeat(64)];
  const now = 1_000_000;
  assert.equal(approve({ items, now, expires: now + 10 * 86_400_000, undoMs: 5000 }).expires, now + 86_400_000);
  const late = approve({ items, now, expires: now + 1000, undoMs: 5000 });
  assert.equal(late.not_before, now + 5000);
  assert.equal(late.expires, now + 65_000);
});
