// What was decided: searchable, each entry with its whole story, the proof and its number in the log. The page checks the chain of
// the log's lines itself. Export is a file of what is listed.

import { api } from './api.js';
import { drawBlock, actOf } from './acts.js';
import { el, put } from './dom.js';
import { errorWords } from './errors.js';
import { fromB64 } from './item.js';
import { payloadTable, sheet } from './sheets.js';
import { exact } from './show.js';
import { clock, day, has, moment, span, t } from './words.js';

/** @typedef {import('./main.js').App} App */
/** @typedef {import('./api.js').HistoryEntry} HistoryEntry */
/** @typedef {import('./api.js').Line} Line */
/** @typedef {import('./api.js').Row} Row */

/** Typing settles this long before the hub is asked. */
const TYPING_MS = 250;
/** Entries that one question brings. */
const PAGE = 50;

/** @param {App} app @returns {import('./main.js').View} */
export function historyView(app) {
  /** @type {HistoryEntry[]} */
  let entries = [];
  /** @type {number|null} */
  let next = null;
  let asked = 0;
  const search = el('input', { type: 'search', testid: 'history-search', placeholder: t('history_search'), 'aria-label': t('history_search') });
  const list = el('div', { class: 'entries' });
  const more = el('button', { class: 'plain', type: 'button', testid: 'history-more', hidden: true, text: t('more') });
  const download = el('button', { class: 'plain', type: 'button', testid: 'history-export', text: t('export') });
  const node = el('div', { class: 'plainview' }, el('h2', { text: t('tab_history') }), el('div', { class: 'tools' }, search, download), list, more);

  const draw = () => {
    more.hidden = next === null;
    download.disabled = entries.length === 0;
    if (entries.length === 0) {
      put(list, el('div', { class: 'calm' }, el('h3', { text: search.value ? t('history_none') : t('history_empty') }), el('p', { text: search.value ? t('history_none_about') : t('history_empty_about') })));
      return;
    }
    put(list);
    let last = '';
    for (const entry of entries) {
      const at = entry.closed ?? entry.created;
      const heading = day(at);
      if (heading !== last) list.append(el('h3', { text: heading }));
      last = heading;
      list.append(line(entry, () => void story(app, entry.id)));
    }
  };
  /** @param {boolean} fresh */
  const load = async (fresh) => {
    const mine = (asked += 1);
    if (fresh && entries.length === 0) put(list, el('p', { class: 'quiet', role: 'status', text: t('loading') }));
    try {
      const got = await api.history({ before: fresh ? null : next, query: search.value });
      if (mine !== asked) return;
      entries = fresh ? got.entries : [...entries, ...got.entries];
      next = got.next;
      draw();
    } catch (e) {
      if (mine !== asked) return;
      put(list, el('div', { class: 'calm' }, el('h3', { text: t('list_failed') }), el('p', { text: errorWords(e).words }), el('button', { class: 'plain', type: 'button', text: t('retry'), on: { click: () => void load(true) } })));
    }
  };
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let typing;
  search.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => void load(true), TYPING_MS);
  });
  more.addEventListener('click', () => void load(false));
  download.addEventListener('click', () => save('sealward-history.json', JSON.stringify(entries, null, 1)));
  void load(true);
  // Someone who reads further down is left alone.
  return { node, update: () => void (entries.length <= PAGE && load(true)) };
}

/** @param {HistoryEntry} entry @param {() => void} onOpen */
function line(entry, onOpen) {
  const act = actOf(/** @type {Row} */ (/** @type {unknown} */ ({ ...entry, also: [] })));
  const first = act.blocks[0];
  const text = first && 'text' in first ? first.text : act.caption;
  const took = entry.closed ? span(entry.closed - entry.created) : '';
  return el('button', { class: 'entry', type: 'button', testid: 'entry', data: { id: entry.id, status: entry.status }, on: { click: onOpen } },
    el('span', { class: `verdict ${entry.status}`, text: t(`status_${entry.status}`) }),
    el('span', { class: 'main' }, el('span', { class: 'gist' }, exact(text)), el('span', { class: 'quiet' }, exact(entry.agent), ' · ', entry.who ? el('span', {}, exact(entry.who, '', 'prose'), ' · ') : null, took ? t('after', { span: took }) : '', entry.channel ? ` · ${channelWord(entry.channel)}` : '')),
    el('time', { class: 'quiet', text: clock(entry.closed ?? entry.created) }));
}

/** @param {string} channel */
function channelWord(channel) {
  return has(`channel_${channel}`) ? t(`channel_${channel}`) : channel;
}

/** @param {App} app @param {string} id */
async function story(app, id) {
  let got;
  try {
    got = await api.story(id);
  } catch (e) {
    app.fail(e);
    return;
  }
  const { row, events, proof } = got;
  const act = actOf(row);
  const close = el('button', { class: 'plain', type: 'button', text: t('close') });
  const payload = proof ? payloadOf(proof.payload) : null;
  const dialog = sheet({
    title: t('story'), testid: 'story', body: [
      el('div', { class: 'what' }, el('p', { class: 'caption' }, exact(act.caption)), ...act.blocks.map((b) => drawBlock(b, true))),
      el('p', { class: 'where' }, act.where ? el('span', {}, t('in'), ' ', exact(act.where), ' · ') : null, exact(row.executor), ' · ', exact(row.agent)),
      el('h3', { text: t('stages') }),
      el('ol', { class: 'stages' }, ...events.map((l) => el('li', {}, el('span', {}, eventWords(l)), el('span', { class: 'quiet', text: ` ${moment(l.at)} · ${t('log_no', { n: l.seq })}` })))),
      payload ? el('details', {}, el('summary', { text: t('proof') }), payloadTable(payload), el('p', { class: 'quiet' }, t('signed_by_keys'), ' ', ...(proof?.signatures ?? []).map((s) => exact(`${s.keyid} `)))) : el('p', { class: 'quiet', text: t('no_proof') }),
      el('div', { class: 'buttons' }, el('button', { class: 'plain', type: 'button', text: t('export'), on: { click: () => save(`sealward-${row.id}.json`, JSON.stringify(got, null, 1)) } }), close),
    ],
  });
  close.addEventListener('click', () => dialog.close());
}

/** @param {string} payload */
function payloadOf(payload) {
  const bytes = fromB64(payload);
  if (!bytes) return null;
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null;
  }
}

/** One event as a sentence. @param {Line} line @returns {DocumentFragment} */
export function eventWords(line) {
  const out = document.createDocumentFragment();
  const { event } = line;
  const list = (/** @type {unknown} */ v) => (Array.isArray(v) ? v.join(', ') : String(v ?? ''));
  const key = `event_${event.kind}`;
  // Names come from others: each is shown by itself, never inside our own words unmarked.
  out.append(has(key) ? t(key, { have: event['have'], need: event['need'] }) : event.kind);
  for (const name of ['label', 'labels', 'agent', 'executor', 'tool', 'by', 'name', 'channel', 'reason', 'code', 'text', 'fingerprint']) {
    const value = list(event[name]);
    if (value && !(name === 'channel' && has(`channel_${value}`))) out.append(' · ', exact(value, '', 'prose'));
    else if (value) out.append(` · ${t(`channel_${value}`)}`);
  }
  return out;
}

/** @param {string} name @param {string} text */
function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = el('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
