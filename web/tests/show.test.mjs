// Hostile text: nothing left out, nothing invisible, nothing reordered.

import assert from 'node:assert/strict';
import test from 'node:test';

import { cut, findings, passesFor, plain, scan } from '../show.js';

/** What must never reach a screen as itself, but newline and tab. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u00A0\u2000-\u200A\u202F\u205F\u3000\u115F\u1160\u3164\uFFA0\u2800\u034F\uFE00-\uFE0F]/u;

const HOSTILE = {
  'right-to-left override': 'echo \u202Egnp.exe\u2066x\u2069',
  'every bidi control': '\u061C\u200E\u200F\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069',
  'zero width': 'rm\u200B -rf\u200C \u200D/\uFEFF\u2060',
  'tags and selectors': 'ok\u{E0041}\u{E0042}\uFE0F\u{E0100}\u180E',
  'fillers': '\u3164\u115F\u1160\uFFA0\u2800\u034F',
  'odd spaces': 'a\u00A0b\u2003c\u3000d\u202Fe',
  'line separators': 'a\u2028b\u2029c\u0085d',
  'ANSI escapes': '\u001b[2J\u001b[31mred\u001b]0;title\u0007\u009b1A',
  'NUL and friends': 'a\u0000b\u0001c\u007Fd\re\bf\vg',
  'markup': '</script><img src=x onerror=alert(1)><!--',
  'lone surrogates': '\uD800x\uDC00',
  'private and unassigned': '\uE000\u{F0000}\u0378\uFFFF',
  'combining marks': 'e\u0301 o\u0337 x\u0301\u0302\u0303\u0304\u0305',
  'look-alikes': '\u0440\u0430ypal \u0441d /\u0435tc \uFF52\uFF4D \u{1D5CB}\u{1D5C6} git push \u2013f a\u2215b \u037E',
  'a gap': `ls${' '.repeat(500)}; rm -rf /`,
  'trailing spaces': 'a   \nb ',
  'blank lines': `a${'\n'.repeat(400)}b`,
  'all at once': '\u202E\u200B\u0430\u001b\u0000</script>\uD800   ',
};

for (const [name, text] of Object.entries(HOSTILE)) {
  test(`${name}: the segments add up to the text and hide nothing`, () => {
    for (const manner of ['act', 'prose']) {
      const segments = scan(text, manner);
      assert.equal(segments.map((s) => s.s).join(''), text, manner);
      for (const s of segments) assert.doesNotMatch(s.show, UNSEEN, JSON.stringify(s));
      for (const s of segments) assert.ok(s.show.length > 0, 'something is shown for everything');
    }
  });
}

test('invisible characters have the marks of the design', () => {
  assert.equal(plain('a\u200Bb'), 'a␣U+200Bb');
  assert.equal(plain('\u202E'), '␣U+202E');
  assert.equal(plain('\u0000'), '␣U+0000');
  assert.equal(plain('\uD800'), '␣U+D800');
  assert.equal(plain('\u{E0041}'), '␣U+E0041');
  assert.equal(plain('\u200B'.repeat(87_000)), '␣U+200B×87000');
});

test('a look-alike in a Latin word is named, an ordinary foreign word is left alone', () => {
  assert.equal(plain('p\u0430ypal', 'act'), 'pаU+0430ypal');
  assert.equal(plain('\u0441\u043E\u0440\u0443', 'act'), 'сU+0441оU+043EрU+0440уU+0443');
  assert.equal(plain('Привет мир', 'prose'), 'Привет мир');
  assert.equal(plain('Zürich straße naïve', 'act'), 'Zürich straße naïve');
  assert.equal(plain('\uFF52\uFF4D', 'act'), 'ｒU+FF52ｍU+FF4D');
  assert.equal(passesFor('\u2013'), '-');
  assert.equal(passesFor('a'), '');
});

test('quotes and dashes are ordinary in prose and marked in a command', () => {
  assert.equal(plain('it’s “fine” – really', 'prose'), 'it’s “fine” – really');
  assert.match(plain('rm –rf', 'act'), /U\+2013/);
});

test('gaps are counted, indentation is drawn, trailing spaces are seen', () => {
  assert.equal(plain(`ls${' '.repeat(500)}; rm`, 'act'), 'ls␣×500; rm');
  assert.equal(plain('if x:\n        y', 'act'), 'if x:\n        y');
  assert.equal(plain('a  \nb ', 'act'), 'a␣␣\nb␣');
  assert.equal(plain(`a${'\n'.repeat(400)}b`, 'act'), 'a↵×400\nb');
});

test('what is odd is counted by kind', () => {
  const f = findings(['\u202Ea\u200B\u200B\u0000', 'p\u0430y', '\uD800', `a${' '.repeat(20)}b`, 'שלום']);
  assert.deepEqual({ ...f, names: null }, { hidden: 2, bidi: 1, control: 1, alike: 1, surrogate: 1, rtl: true, spaces: 1, names: null });
  assert.deepEqual(f.names, { hidden: ['U+200B'], bidi: ['U+202E'], control: ['U+0000'], alike: ['U+0430'], surrogate: ['U+D800'] });
  assert.deepEqual({ ...findings(['make deploy && ls -la /srv'], 'act'), names: null }, { hidden: 0, bidi: 0, control: 0, alike: 0, surrogate: 0, rtl: false, spaces: 0, names: null });
});

test('cutting leaves the text and its marks as they are', () => {
  const text = 'rm -rf ./a\u200B\u200B\u200B\u200Bb && ls   ';
  const whole = scan(text);
  for (let i = 0; i <= text.length; i += 1) {
    const pieces = cut(whole, [i, Math.min(text.length, i + 3)]);
    assert.equal(pieces.map((p) => p.s).join(''), text);
    assert.equal(pieces.map((p) => p.show).join(''), plain(text, 'act'));
    let at = 0;
    for (const p of pieces) {
      assert.equal(p.at, at);
      at += p.s.length;
    }
  }
});

test('256 KiB of any hostile character are scanned in a moment', () => {
  for (const unit of ['\u200B', '\u202Ea', 'a ', '\u0430b', ' ', '\n', '\u0301', 'x'.repeat(77), '\u0000\u001b']) {
    const text = unit.repeat(Math.ceil((256 * 1024) / unit.length));
    const from = performance.now();
    assert.equal(scan(text).map((s) => s.s).join(''), text);
    assert.ok(performance.now() - from < 3000, `${JSON.stringify(unit.slice(0, 4))} took ${performance.now() - from} ms`);
  }
});
