// Keys, sessions, pinned warnings, tokens, language, and the head of the log, which this page checks by itself.
// Everything that loosens needs a passkey; everything that tightens is one tap.

import { api } from './api.js';
import { checkChain } from './chain.js';
import { pinKey, revokeThing } from './deeds.js';
import { el, put } from './dom.js';
import { errorWords } from './errors.js';
import { fingerprint, fromB64 } from './item.js';
import { sheet } from './sheets.js';
import { exact, plain } from './show.js';
import { ago, language, moment, t } from './words.js';

/** @typedef {import('./main.js').App} App */
/** @typedef {import('./api.js').Snapshot} Snapshot */
/** @typedef {import('./api.js').PinEntry} PinEntry */

/** Lines of the log that are fetched to check its end. */
const CHECK_LINES = 200;

/** @param {App} app @returns {import('./main.js').View} */
export function settingsView(app) {
  const keys = el('div');
  const warnings = el('section', { hidden: true });
  const agents = el('div');
  const sessions = el('div');
  const log = el('div');
  const loadSessions = async () => {
    try {
      const got = await api.sessions();
      put(sessions, ...got.sessions.map((s) => el('div', { class: 'item', testid: 'session', data: { id: s.id, current: s.current } },
        el('p', {}, exact(s.label, '', 'prose'), s.current ? el('span', { class: 'pill ok', text: t('this_one') }) : null, el('span', { class: 'quiet', text: t('session_since', { at: moment(s.created), seen: ago(s.seen, app.now) }) })),
        el('button', { class: 'plain', type: 'button', testid: 'end-session', text: t('log_out'), on: { click: () => void (s.current ? leave(app) : end(s.id)) } }))));
    } catch (e) {
      put(sessions, el('p', { class: 'quiet', text: errorWords(e).words }));
    }
  };
  /** @param {string} id */
  const end = async (id) => {
    try {
      await api.endSession(id);
    } catch (e) {
      app.fail(e);
    }
    await loadSessions();
  };
  const pick = el('div', { class: 'chips', role: 'radiogroup', 'aria-label': t('language') }, ...language.all.map((l) => el('button', {
    type: 'button', class: 'chip', role: 'radio', testid: `lang-${l}`, 'aria-checked': String(language.now === l), text: l === 'de' ? 'Deutsch' : 'English',
    on: {
      click: () => {
        language.set(l);
        app.redraw();
      },
    },
  })));
  const node = el('div', { class: 'plainview settings' }, el('h2', { text: t('tab_settings') }),
    el('section', {}, el('h3', { text: t('keys') }), el('p', { class: 'quiet', text: t('keys_about') }), keys,
      el('button', { class: 'plain', type: 'button', testid: 'pin-other', text: t('pin_other'), on: { click: () => pinSheet(app) } })),
    warnings,
    el('section', {}, el('h3', { text: t('sessions') }), sessions),
    el('section', {}, el('h3', { text: t('tokens') }), el('p', { class: 'quiet', text: t('tokens_about') }), agents),
    el('section', {}, el('h3', { text: t('language') }), pick),
    el('section', {}, el('h3', { text: t('log') }), log));
  void loadSessions();
  let checked = -1;
  return {
    node,
    update(snap) {
      drawKeys(keys, snap, app);
      drawWarnings(warnings, snap, app);
      put(agents, ...(snap.agents.length ? snap.agents.map((a) => el('div', { class: 'item' }, el('p', {}, exact(a.name), ' · ', a.role, a.revoked ? el('span', { class: 'pill bad', text: t('revoked') }) : null,
        el('span', { class: 'quiet' }, a.executors.length ? exact(a.executors.join(', ')) : '', a.seen ? ` · ${t('seen', { ago: ago(a.seen, app.now) })}` : ` · ${t('never_seen')}`)))) : [el('p', { class: 'quiet', text: t('no_tokens') })]));
      if (checked !== snap.head.seq) {
        checked = snap.head.seq;
        void drawLog(log, snap);
      }
    },
  };
}

/** @param {App} app */
async function leave(app) {
  try {
    await api.logout();
  } catch {
    // Gone either way: the token is forgotten here.
  }
  app.lock();
}

/** @param {HTMLElement} node @param {Snapshot} snap @param {App} app */
function drawKeys(node, snap, app) {
  put(node, ...snap.pins.map((pin) => el('div', { class: 'item', testid: 'pin', data: { id: pin.id } },
    el('p', {}, exact(pin.label, '', 'prose'), pin.person ? el('span', {}, ' · ', exact(pin.person, '', 'prose')) : null,
      pin.id === app.me?.keyid ? el('span', { class: 'pill ok', text: t('this_one') }) : null, pin.revoked ? el('span', { class: 'pill bad', text: t('revoked') }) : null,
      el('span', { class: 'quiet' }, el('code', { text: pin.fingerprint }), ` · ${ALGS.get(pin.alg) ?? pin.alg} · ${t('since', { at: moment(pin.since) })}`)),
    pin.revoked ? null : el('button', { class: 'plain danger', type: 'button', testid: 'revoke-key', text: t('revoke'), on: { click: () => revokeSheet(app, 'key', pin.id, pin.label, pin.id === app.me?.keyid) } }))));
}

const ALGS = new Map([[-7, 'ES256'], [-8, 'EdDSA'], [-257, 'RS256']]);

/** @param {HTMLElement} node @param {Snapshot} snap @param {App} app */
function drawWarnings(node, snap, app) {
  node.hidden = snap.messages.length === 0;
  put(node, el('h3', { text: t('warnings') }), ...snap.messages.map((m) => el('div', { class: 'item' },
    el('p', {}, exact(m.reason, '', 'prose'), el('span', { class: 'quiet' }, exact(m.label, '', 'prose'), ` · ${t('until', { at: moment(m.expires) })}`)),
    el('button', { class: 'plain', type: 'button', testid: 'revoke-warning', text: t('take_back'), on: { click: () => revokeSheet(app, 'warning', m.nonce, m.reason, false) } }))));
}

/** @param {App} app @param {'key'|'warning'} what @param {string} id @param {string} name @param {boolean} own */
function revokeSheet(app, what, id, name, own) {
  const go = el('button', { class: 'deny solid', type: 'button', testid: 'revoke-confirm', text: t(what === 'key' ? 'revoke' : 'take_back') });
  const dialog = sheet({
    title: t(`revoke_${what}_title`), testid: 'revoke-sheet', body: [
      el('p', {}, exact(name, '', 'prose')), el('p', { class: 'quiet', text: t(own ? 'revoke_own_about' : `revoke_${what}_about`) }),
      el('div', { class: 'buttons' }, el('button', { class: 'plain', type: 'button', text: t('back'), on: { click: () => dialog.close() } }), go)],
  });
  go.addEventListener('click', async () => {
    dialog.close();
    await sealing(app, t(`revoke_${what}_title`), (onPayload) => revokeThing({ what, id, now: Date.now(), onPayload }));
  });
}

/** @param {App} app @param {string} title @param {(onPayload: import('./deeds.js').Shown) => Promise<unknown>} deed */
async function sealing(app, title, deed) {
  const panel = app.inbox?.sealing;
  panel?.show(title, null);
  try {
    await deed((payload) => panel?.show(title, payload));
    app.say(t('done'));
  } catch (e) {
    app.fail(e);
  } finally {
    panel?.hide();
    await app.refresh();
  }
}

/** @param {App} app */
function pinSheet(app) {
  const snap = app.snap;
  const executors = [...new Set([`hub@${snap?.hub ?? ''}`, ...(snap?.agents ?? []).filter((a) => !a.revoked).flatMap((a) => a.executors)])];
  const text = el('textarea', { rows: 5, testid: 'pin-card', placeholder: t('card_paste'), 'aria-label': t('card_text') });
  const print = el('p', { class: 'fingerprint', role: 'status' });
  const last = el('input', { type: 'text', maxlength: 7, autocomplete: 'off', testid: 'pin-last', 'aria-label': t('last_six') });
  const executor = el('select', { testid: 'pin-executor', 'aria-label': t('executor') }, ...executors.map((e) => el('option', { value: e, text: plain(e, 'act') })));
  const go = el('button', { class: 'approve solid', type: 'button', testid: 'pin-confirm', text: t('pin_go'), disabled: true });
  /** @type {PinEntry|null} */
  let key = null;
  let whole = '';
  const look = async () => {
    key = readCard(text.value);
    const spki = key ? fromB64(key.spki) : null;
    whole = spki ? (await fingerprint(spki)).replaceAll('-', '') : '';
    // The other device shows the fingerprint; typing its end from there is what makes sure that it is that device's key.
    print.textContent = whole ? `${whole.slice(0, -6).replace(/(.{5})/g, '$1-')}······` : '';
    go.disabled = !key || last.value.replaceAll('-', '').toUpperCase() !== whole.slice(-6);
  };
  text.addEventListener('input', () => void look());
  last.addEventListener('input', () => void look());
  const dialog = sheet({
    title: t('pin_other'), testid: 'pin-sheet', body: [el('p', { text: t('pin_other_about') }), text, print,
      el('label', { class: 'field' }, t('last_six'), last), el('label', { class: 'field' }, t('executor'), executor),
      el('div', { class: 'buttons' }, el('button', { class: 'plain', type: 'button', text: t('back'), on: { click: () => dialog.close() } }), go)],
  });
  go.addEventListener('click', async () => {
    if (!key) return;
    const entry = key;
    dialog.close();
    await sealing(app, t('pin_other'), (onPayload) => pinKey({ key: entry, executor: executor.value, now: Date.now(), onPayload }));
  });
}

/** A pin entry as another device made it, or null. @param {string} text @returns {PinEntry|null} */
export function readCard(text) {
  let got;
  try {
    got = JSON.parse(text);
  } catch {
    return null;
  }
  if (got === null || typeof got !== 'object') return null;
  const { id, alg, spki, rp_id, origins, label, person, not_after, backup_eligible, since } = got;
  const sound = typeof id === 'string' && fromB64(id) && [-7, -8, -257].includes(alg) && typeof spki === 'string' && fromB64(spki) && typeof rp_id === 'string'
    && Array.isArray(origins) && origins.every((o) => typeof o === 'string') && typeof label === 'string' && label !== '' && (not_after === null || Number.isSafeInteger(not_after))
    && typeof backup_eligible === 'boolean' && Number.isSafeInteger(since) && (person === undefined || typeof person === 'string');
  if (!sound) return null;
  return { id, alg, spki, rp_id, origins, label, ...(person === undefined ? {} : { person }), not_after, backup_eligible, since };
}

/** @param {HTMLElement} node @param {Snapshot} snap */
async function drawLog(node, snap) {
  const { head } = snap;
  const own = el('p', { role: 'status', testid: 'chain-checked', text: t('chain_checking') });
  put(node, el('dl', { class: 'members' }, el('dt', { text: t('log_head') }), el('dd', { text: String(head.seq) }), el('dt', { text: 'hash' }), el('dd', {}, el('code', { class: 'hash', text: head.hash })),
    el('dt', { text: t('hub_says') }), el('dd', {}, el('span', { class: `pill ${head.verified ? 'ok' : 'bad'}`, text: head.verified ? t('log_ok') : t('log_bad') }))), own);
  try {
    const lines = await api.eventTexts(Math.max(0, head.seq - CHECK_LINES), CHECK_LINES);
    const bad = await checkChain(lines, head);
    own.className = bad ? 'stop' : '';
    own.textContent = bad ? t('chain_bad', { seq: bad.seq, why: t(`chain_${bad.why}`) }) : t('chain_ok', { n: lines.length });
  } catch (e) {
    own.textContent = errorWords(e).words;
  }
}
