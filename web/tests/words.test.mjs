// Both languages have the same words, each fills in the same names, and every word that the page asks for exists.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';

import { CHANNELS } from '../seal.js';
import { language, t } from '../words.js';
import { de } from '../words.de.js';
import { en } from '../words.en.js';

const WEB = new URL('..', import.meta.url);
const sources = readdirSync(WEB).filter((f) => f.endsWith('.js')).map((f) => readFileSync(new URL(f, WEB), 'utf8')).join('\n');

/** The names a text fills in. */
function names(word) {
  return typeof word === 'function' ? [...new Set([...word.toString().matchAll(/\bp\.(\w+)/g)].map((m) => m[1]))].sort() : [...new Set([...word.matchAll(/\{(\w+)\}/g)].map((m) => m[1]))].sort();
}

test('English and German have the same keys', () => {
  assert.deepEqual(Object.keys(de).sort(), Object.keys(en).sort());
});

test('both fill in the same names', () => {
  for (const key of Object.keys(en)) {
    // "characters" has one form in German: the number alone decides nothing there.
    assert.deepEqual(names(de[key]), names(en[key]), key);
  }
});

test('German is German: no text is the same in both, but for names and signs', () => {
  const same = Object.keys(en).filter((k) => typeof en[k] === 'string' && en[k] === de[k]);
  assert.deepEqual(same.filter((k) => !/^(?:title|span_s|span_min|in|device_|channel_pan-pan|channel_post|host|retry|exit_ok|guard|expires_about)/.test(k)), []);
});

test('every word that the page asks for exists, and none is left over', () => {
  const asked = new Set([...sources.matchAll(/\bt\('([\w-]+)'/g)].map((m) => m[1]));
  const quoted = new Set([...sources.matchAll(/'((?:warn|unseal|help|reason|asleep)_[\w-]+)'/g)].map((m) => m[1]));
  const families = [...sources.matchAll(/`(\w+_)\$\{/g)].map((m) => m[1]);
  for (const key of [...asked, ...quoted]) assert.ok(Object.hasOwn(en, key), key);
  for (const key of Object.keys(en)) assert.ok(asked.has(key) || quoted.has(key) || families.some((f) => key.startsWith(f)), `nobody asks for ${key}`);
  for (const channel of CHANNELS) assert.ok(Object.hasOwn(en, `channel_${channel}`) && Object.hasOwn(en, `channel_${channel}_about`));
  for (const m of sources.matchAll(/SealError\('(\w+)'/g)) assert.ok(Object.hasOwn(en, `seal_${m[1]}`), m[1]);
  for (const status of ['pending', 'collecting', 'settling', 'allowed', 'denied', 'expired', 'cancelled', 'superseded']) assert.ok(Object.hasOwn(en, `status_${status}`));
});

test('the words of the design are the words of the page', () => {
  const now = language.now;
  language.set('de');
  assert.deepEqual(['approve', 'deny', 'undo'].map((k) => t(k)), ['Freigeben', 'Ablehnen', 'Rückgängig']);
  assert.equal(t('tab_rules'), 'Regeln');
  language.set('en');
  assert.equal(t('approve_n', { n: 12 }), 'Approve 12');
  assert.equal(t('read_all_lines', { n: 318 }), '318 lines · read all');
  assert.equal(t('have_of', { have: 1, need: 2 }), '1 of 2 signed');
  language.set(now);
});

test('every error says that nothing was allowed, in both languages', () => {
  const less = new Set(['err_duplicate', 'err_already_used', 'err_closed', 'err_detail', 'err_other', 'err_page', 'seal_refused', 'seal_not_whole']);
  for (const key of Object.keys(en).filter((k) => /^(?:err|seal)_/.test(k) && !less.has(k) && !['seal_lying'].includes(k))) {
    const of = (w) => (typeof w === 'function' ? w({ n: 2 }) : w);
    assert.match(of(en[key]), /Nothing was allowed\./, key);
    assert.match(of(de[key]), /Nichts wurde freigegeben\./, key);
  }
});
