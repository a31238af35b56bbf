// What comes over the wire: the event stream in pieces, the chain of the log, key cards.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';

import { sseReader } from '../api.js';
import { checkChain, splitLines } from '../chain.js';
import { readCard } from '../settings.js';

test('a stream cut anywhere gives the same events', () => {
  const text = ': hello\n\nid: 1\nevent: asked\ndata: {"a":1}\n\nid:2\r\nevent:x\r\ndata:{"b":\r\ndata:2}\r\n\r\n:\n\nretry: 5\n\n';
  const want = [{ id: '1', event: 'asked', data: '{"a":1}' }, { id: '2', event: 'x', data: '{"b":\n2}' }];
  for (let i = 0; i <= text.length; i += 1) {
    // A carriage return at the very end of a piece may be half of a line end; only whole ones are cut here.
    if (text[i - 1] === '\r') continue;
    const reader = sseReader();
    assert.deepEqual([...reader.feed(text.slice(0, i)), ...reader.feed(text.slice(i))], want, String(i));
  }
});

const sha = (s) => createHash('sha256').update(s).digest('hex');
function chain(n) {
  const lines = [];
  let prev = '0'.repeat(64);
  for (let seq = 1; seq <= n; seq += 1) {
    const front = `{"seq":${seq},"at":${seq * 10},"prev":"${prev}","event":{"kind":"login","label":"ph}o\\"n]e","session":"s"}`;
    prev = sha(front);
    lines.push(`${front},"hash":"${prev}"}`);
  }
  return { lines, head: { seq: n, hash: prev } };
}

test('a whole chain checks, from its start and from its middle', async () => {
  const { lines, head } = chain(6);
  assert.equal(await checkChain(lines, head), null);
  assert.equal(await checkChain(lines.slice(3), head), null);
  assert.equal(await checkChain([]), null);
});

test('any changed byte of a chain is found', async () => {
  const { lines, head } = chain(3);
  for (let l = 0; l < 3; l += 1) {
    for (let i = 0; i < lines[l].length; i += 7) {
      const bad = [...lines];
      bad[l] = `${lines[l].slice(0, i)}${lines[l][i] === '7' ? '8' : '7'}${lines[l].slice(i + 1)}`;
      assert.notEqual(await checkChain(bad, head), null, `line ${l + 1} byte ${i}`);
    }
  }
});

test('a missing, doubled, swapped or foreign line is found', async () => {
  const { lines, head } = chain(4);
  const why = async (of) => (await checkChain(of, head))?.why;
  assert.equal(await why([lines[0], lines[2], lines[3]]), 'seq');
  assert.equal(await why([lines[0], lines[0]]), 'seq');
  assert.equal(await why([lines[1], lines[0]]), 'seq');
  assert.equal((await checkChain(lines, { seq: 4, hash: 'f'.repeat(64) }))?.why, 'head');
  const other = chain(4).lines.map((l) => l.replace('login', 'logout'));
  assert.equal(await why(other), 'hash');
});

test('the exact lines are cut out of an answer', () => {
  const { lines } = chain(3);
  assert.deepEqual(splitLines(`{"events":[${lines.join(',')}]}`), lines);
  assert.deepEqual(splitLines('{"events":[]}'), []);
});

test('a key card is whole and of a kind that can be pinned, or nothing', () => {
  const good = { id: 'AAAA', alg: -7, spki: 'AAAA', rp_id: 'localhost', origins: ['http://localhost:8787'], label: 'phone', not_after: null, backup_eligible: true, since: 5 };
  assert.deepEqual(readCard(JSON.stringify(good)), good);
  assert.deepEqual(readCard(JSON.stringify({ ...good, extra: 1 })), good, 'what is no member of a pin entry is not taken over');
  for (const change of [{ id: 7 }, { id: 'A' }, { alg: -9 }, { spki: '*' }, { origins: 'x' }, { label: '' }, { not_after: 'x' }, { backup_eligible: 1 }, { since: 1.5 }, { person: 7 }]) {
    assert.equal(readCard(JSON.stringify({ ...good, ...change })), null, JSON.stringify(change));
  }
  for (const bad of ['', 'x', '[]', 'null', '7']) assert.equal(readCard(bad), null, bad);
});
