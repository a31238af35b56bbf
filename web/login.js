// Before the inbox: enrolment by a link, login by passkey, and a key card for a device that is pinned from another one.
// Not here: the ceremonies (seal.js, deeds.js).

import { enrol, isPinned, logIn } from './deeds.js';
import { el, icon, put } from './dom.js';
import { fingerprint, fromB64 } from './item.js';
import { createKey } from './seal.js';
import { errorWords } from './errors.js';
import { t } from './words.js';

/** While the terminal asks whether to pin, the page asks this often. */
const POLL_MS = 1000;

/** What this device is likely called. */
function deviceName() {
  const ua = navigator.userAgent;
  if (/iPhone/.test(ua)) return t('device_iphone');
  if (/iPad/.test(ua)) return t('device_ipad');
  if (/Android/.test(ua)) return /Mobile/.test(ua) ? t('device_phone') : t('device_tablet');
  if (/Mac OS X/.test(ua)) return t('device_mac');
  return t('device_laptop');
}

/** @param {string} title @param {...Node|null} body */
function card(title, ...body) {
  return el('main', { class: 'door' }, el('div', { class: 'doorcard' }, el('div', { class: 'crest' }, icon('seal')), el('h1', { text: title, tabindex: -1 }), ...body));
}

/** @param {HTMLElement} status @param {unknown} e */
function failed(status, e) {
  const { words, code } = errorWords(e);
  status.hidden = false;
  status.setAttribute('data-code', code);
  put(status, el('p', { text: words }));
}

function errorBox() {
  return el('section', { class: 'inline-error', testid: 'toast-error', role: 'alert', hidden: true });
}

/**
 * @param {HTMLElement} root @param {{onDone: () => void, notice?: string}} of
 */
export function loginView(root, { onDone, notice }) {
  const status = errorBox();
  const button = el('button', { class: 'approve solid', type: 'button', testid: 'login', text: t('log_in') });
  button.addEventListener('click', async () => {
    button.disabled = true;
    try {
      await logIn(Date.now());
      onDone();
    } catch (e) {
      failed(status, e);
      button.disabled = false;
    }
  });
  put(root, card(t('welcome'), el('p', { text: notice ?? t('login_about') }), button, status,
    el('p', { class: 'quiet' }, t('login_new'), ' ', el('a', { href: '#card', text: t('card_link') }))));
}

/**
 * @param {HTMLElement} root @param {{code: string, onDone: () => void}} of
 */
export function enrolView(root, { code, onDone }) {
  const status = errorBox();
  const label = el('input', { testid: 'enrol-label', type: 'text', maxlength: 64, autocomplete: 'off', value: deviceName() });
  const go = el('button', { class: 'approve solid', type: 'submit', testid: 'enrol-go', text: t('enrol_go') });
  const form = el('form', {}, el('label', { class: 'field' }, t('enrol_label'), label), go);
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    go.disabled = true;
    status.hidden = true;
    try {
      const name = label.value.trim() || deviceName();
      const key = await enrol({ label: name, code, now: Date.now() });
      history.replaceState(null, '', location.pathname);
      await waitForPin(root, key.id, key.spki, onDone);
    } catch (err) {
      failed(status, err);
      go.disabled = false;
    }
  });
  put(root, card(t('enrol_title'), el('p', { text: t('enrol_about') }), form, status));
}

/** @param {string} print */
function bigPrint(print) {
  const fives = print.split('-');
  // The last six characters are what the terminal asks for.
  const flat = fives.join('');
  const tailFrom = flat.length - 6;
  let at = 0;
  const box = el('p', { class: 'fingerprint', testid: 'fingerprint', 'aria-label': t('fingerprint') });
  fives.forEach((five, i) => {
    const group = el('span', { class: 'five' });
    for (const c of five) {
      group.append(at >= tailFrom ? el('b', { text: c }) : c);
      at += 1;
    }
    if (i < fives.length - 1) group.append('-');
    box.append(group);
  });
  return box;
}

/**
 * @param {HTMLElement} root @param {string} id @param {string} spki @param {() => void} onDone
 */
async function waitForPin(root, id, spki, onDone) {
  const print = await fingerprint(/** @type {Uint8Array} */ (fromB64(spki)));
  const status = errorBox();
  const waiting = el('p', { class: 'quiet', role: 'status', text: t('enrol_waiting') });
  put(root, card(t('enrol_compare'), el('p', { text: t('enrol_compare_about') }), bigPrint(print), waiting, status));
  for (;;) {
    await new Promise((resolve) => {
      setTimeout(resolve, POLL_MS);
    });
    try {
      if (await isPinned(id)) break;
      status.hidden = true;
    } catch (e) {
      failed(status, e);
    }
  }
  const button = el('button', { class: 'approve solid', type: 'button', testid: 'login', text: t('log_in') });
  const enter = async () => {
    button.disabled = true;
    try {
      await logIn(Date.now());
      onDone();
    } catch (e) {
      failed(status, e);
      button.disabled = false;
    }
  };
  button.addEventListener('click', () => void enter());
  put(root, card(t('enrol_pinned'), el('p', { text: t('enrol_pinned_about') }), button, status));
  // Some browsers ask for a tap before a passkey; then the button is there.
  void enter();
}

/**
 * A device that is to be pinned by another one: its pin entry as text to carry over, and its fingerprint to compare.
 * @param {HTMLElement} root
 */
export function cardView(root) {
  const status = errorBox();
  const label = el('input', { testid: 'enrol-label', type: 'text', maxlength: 64, autocomplete: 'off', value: deviceName() });
  const go = el('button', { class: 'approve solid', type: 'submit', testid: 'card-go', text: t('card_go') });
  const form = el('form', {}, el('label', { class: 'field' }, t('enrol_label'), label), go);
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    go.disabled = true;
    try {
      const key = await createKey({ label: label.value.trim() || deviceName(), now: Date.now() });
      const print = await fingerprint(/** @type {Uint8Array} */ (fromB64(key.spki)));
      const text = el('textarea', { class: 'card', testid: 'card', rows: 8, readonly: true, 'aria-label': t('card_text') });
      text.value = JSON.stringify(key);
      put(root, card(t('card_title'), el('p', { text: t('card_done') }), bigPrint(print), text, el('a', { href: '#', text: t('log_in') })));
    } catch (err) {
      failed(status, err);
      go.disabled = false;
    }
  });
  put(root, card(t('card_title'), el('p', { text: t('card_about') }), form, status));
}
