// What must not appear in what is served: ways for text to become code, third parties, inline styles.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';

const WEB = new URL('..', import.meta.url);
const files = readdirSync(WEB).filter((f) => /\.(?:js|html|css)$/.test(f)).map((name) => ({ name, text: readFileSync(new URL(name, WEB), 'utf8') }));

const FORBIDDEN = [
  [/\b(?:inner|outer)HTML\b/, 'text would become markup'], [/\binsertAdjacentHTML\b/, 'text would become markup'], [/\bdocument\s*\.\s*write/, 'text would become markup'],
  [/\beval\s*\(/, 'text would become code'], [/\bnew\s+Function\b/, 'text would become code'], [/\bset(?:Timeout|Interval)\s*\(\s*['"`]/, 'text would become code'],
  [/\bDOMParser\b|\bcreateContextualFragment\b|\bsetHTMLUnsafe\b|\bsrcdoc\s*=/, 'text would become markup'], [/\btrustedTypes\b/, 'no policy is needed, so none may be made'],
  [/\.style\b(?!\.css)|\.cssText\b|setAttribute\(\s*'style'/, 'looks belong in a style sheet'], [/\bimport\s*\(/, 'modules are known beforehand'], [/\bimportScripts\b|serviceWorker/, 'no worker is ours'],
  [/\bdocument\.cookie\b/, 'the cookie is the browser’s business'], [/\bpostMessage\b|\bwindow\.open\b/, 'no other window has a say'], [/\bMath\.random\b(?!\(\)\)$)/m, 'chance that matters is crypto’s'],
];

test('no served script holds a way for text to become code or markup', () => {
  assert.ok(files.length > 20);
  for (const { name, text } of files.filter((f) => f.name.endsWith('.js'))) {
    for (const [pattern, why] of FORBIDDEN) {
      // Back-off may be jittered by any dice.
      if (name === 'api.js' && pattern.source.includes('Math')) continue;
      const code = text.split('\n').filter((l) => !/^\s*(?:\/\/|\*|\/\*)/.test(l)).join('\n').replaceAll("name === 'style' || name === 'srcdoc'", '');
      assert.doesNotMatch(code, pattern, `${name}: ${why}`);
    }
  }
});

test('the page loads nothing from anywhere else and holds no inline code', () => {
  const html = files.find((f) => f.name === 'index.html').text;
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc="\/)[^>]*>/);
  assert.doesNotMatch(html, /<style|\sstyle=|\son\w+=|https?:(?!\/\/www\.w3\.org\/2000\/svg)/);
  const css = files.filter((f) => f.name.endsWith('.css')).map((f) => f.text).join('\n');
  assert.doesNotMatch(css, /@import|url\(/);
  for (const { name, text } of files.filter((f) => f.name.endsWith('.js'))) {
    for (const m of text.matchAll(/from '([^']+)'/g)) {
      assert.match(m[1], /^\.\/[a-z.]+\.js$/, name);
      assert.ok(files.some((f) => `./${f.name}` === m[1]), `${name} imports ${m[1]}`);
    }
    assert.doesNotMatch(text.replaceAll('http://www.w3.org/2000/svg', ''), /https?:\/\//, name);
  }
});

test('every file says what it is for', () => {
  for (const { name, text } of files.filter((f) => f.name.endsWith('.js'))) assert.match(text, /^\/\/ [A-ZÄÖÜ]/, name);
});

test('no file is too long to be read', () => {
  for (const { name, text } of files.filter((f) => f.name.endsWith('.js'))) assert.ok(text.split('\n').length <= 800, name);
});

test('the lock file names no registry', () => {
  assert.doesNotMatch(readFileSync(new URL('package-lock.json', WEB), 'utf8'), /"resolved"|https?:\/\/(?!opencollective|github)/);
});

test('colours of text and ground differ enough, in light and in dark', () => {
  const css = files.filter((f) => f.name.endsWith('.css')).map((f) => f.text).join('\n');
  const tokens = (block) => Object.fromEntries([...block.matchAll(/--([a-z-]+):\s*(#[0-9a-fA-F]{6})/g)].map((m) => [m[1], m[2]]));
  const [light, dark] = [...css.matchAll(/:root \{([^}]*)\}/g)].map((m) => tokens(m[1]));
  const lum = (hexColour) => {
    const [r, g, b] = [1, 3, 5].map((i) => Number.parseInt(hexColour.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => (Math.max(lum(a), lum(b)) + 0.05) / (Math.min(lum(a), lum(b)) + 0.05);
  const pairs = [['ink', 'paper'], ['ink', 'ground'], ['ink', 'well'], ['grey', 'paper'], ['grey', 'ground'], ['grey', 'well'], ['accent', 'paper'], ['accent', 'ground'], ['accent', 'well'], ['accent-ink', 'accent'], ['safe', 'paper'], ['safe', 'ground'], ['careful', 'paper'], ['careful', 'careful-well'],
    ['stop', 'paper'], ['stop', 'ground'], ['stop', 'well'], ['stop', 'stop-well'], ['stop', 'gone-well'], ['paper', 'stop'], ['ink', 'new-well'], ['ink', 'gone-well'], ['safe', 'new-well'], ['mark', 'mark-well'], ['ground', 'ink']];
  for (const [scheme, of] of [['light', light], ['dark', { ...light, ...dark }]]) {
    for (const [text, ground] of pairs) {
      assert.ok(ratio(of[text], of[ground]) >= 4.5, `${scheme}: ${text} on ${ground} is ${ratio(of[text], of[ground]).toFixed(2)}`);
    }
  }
});
