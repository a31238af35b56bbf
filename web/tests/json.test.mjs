// The strict reader against JSON.parse, and what it keeps that JSON.parse loses.

import assert from 'node:assert/strict';
import test from 'node:test';

import { compact, DEPTH_MAX, JsonError, parse } from '../json.js';

test('it accepts and refuses what JSON.parse does', () => {
  const texts = ['{}', '[]', '""', '0', '-0', '1e5', '1E+5', '-1.5e-3', 'true', 'null', ' {"a" : [1, {"b":"\\u00fc"}] } ', '"\\ud800"', '', ' ', '01', '1.', '.5', '+1', '1e', 'tru', 'nullx', '{', '[1,]', '{"a":1,}', '{a:1}', "'a'",
    '"a\nb"', '"\\x41"', '"\\u12"', '[1 2]', '{"a" 1}', '{"a":1}{', '\ufeff1', '"unterminated', '"\\"', '1 // no', 'NaN', 'Infinity', '[1],', '\u00a01'];
  for (const text of texts) {
    let theirs = true;
    try {
      JSON.parse(text);
    } catch {
      theirs = false;
    }
    let ours = true;
    try {
      parse(text);
    } catch (e) {
      assert.ok(e instanceof JsonError, String(e));
      ours = false;
    }
    assert.equal(ours, theirs, JSON.stringify(text));
  }
});

test('doubled names are found, also where an escape hides them', () => {
  assert.deepEqual(parse('{"a":1,"a":2}').doubled, ['a']);
  assert.deepEqual(parse('{"command":"ls","c\\u006fmmand":"rm"}').doubled, ['command']);
  assert.deepEqual(parse('{"x":[{"b":1,"b":1}]}').doubled, ['b']);
  assert.deepEqual(parse('[{"a":1},{"a":2}]').doubled, []);
});

test('numbers keep their digits', () => {
  const { node, differences } = parse('[9007199254740993,1.0,1e400,-0,5]');
  assert.equal(compact(node), '[9007199254740993,1.0,1e400,-0,5]');
  assert.deepEqual(differences.map((d) => d.why), ['number', 'number', 'number', 'number']);
});

test('differences from the plain encoding are placed', () => {
  const text = '{"command": "m\\u0061ke"}';
  const odd = parse(text).differences.filter((d) => d.why !== 'spacing');
  assert.deepEqual(odd.map((d) => [text.slice(d.at, d.end), d.why]), [['"m\\u0061ke"', 'escape']]);
  assert.deepEqual(parse('{"a":"ü☃\\n\\ud800"}').differences, []);
});

test('nesting ends where nobody can read it', () => {
  assert.doesNotThrow(() => parse('['.repeat(DEPTH_MAX) + ']'.repeat(DEPTH_MAX)));
  assert.throws(() => parse('['.repeat(DEPTH_MAX + 2) + ']'.repeat(DEPTH_MAX + 2)), JsonError);
  assert.throws(() => parse('['.repeat(200_000)), JsonError);
});
