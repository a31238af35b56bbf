// What comes over the list: the deny sheet, what is being sealed while the passkey is asked for, the undo bar, messages, help.
// Not here: what a tap leads to (deeds.js).

import { el, put } from './dom.js';
import { bytesOf } from './item.js';
import { CHANNELS, REASON_BYTES_MAX } from './seal.js';
import { exact } from './show.js';
import { moment, t } from './words.js';

/** @typedef {import('./seal.js').Payload} Payload */

const DAY = 86_400_000;

/**
 * A sheet that has the keyboard until it is closed.
 * @param {{title: string, testid: string, body: Node[], onClose?: () => void}} of
 * @returns {HTMLDialogElement}
 */
export function sheet({ title, testid, body, onClose }) {
  const heading = el('h2', { text: title, tabindex: -1 });
  const dialog = el('dialog', { class: 'sheet', testid, 'aria-label': title }, heading, ...body);
  dialog.addEventListener('close', () => {
    dialog.remove();
    onClose?.();
  });
  dialog.addEventListener('click', (e) => {
    if (e.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  heading.focus();
  return dialog;
}

/**
 * Channel, reason, then the passkey.
 * @param {{title: string, onDeny: (channel: string, reason: string, life: number) => void}} of
 */
export function denySheet({ title, onDeny }) {
  let channel = 'post';
  const about = el('p', { class: 'quiet about', role: 'status' });
  const life = el('select', { 'aria-label': t('pinned_for') }, ...[1, 7, 30].map((n) => el('option', { value: n, selected: n === 7, text: t('span_d', { n }) })));
  const lifeRow = el('label', { class: 'life', hidden: true }, t('pinned_for'), ' ', life);
  const chips = el('div', { class: 'chips', role: 'radiogroup', 'aria-label': t('channel') });
  const show = () => {
    about.textContent = t(`channel_${channel}_about`);
    lifeRow.hidden = channel !== 'security';
    for (const chip of chips.children) chip.setAttribute('aria-checked', String(chip.getAttribute('data-channel') === channel));
  };
  for (const name of CHANNELS) {
    chips.append(el('button', {
      type: 'button', class: 'chip', role: 'radio', testid: `channel-${name}`, data: { channel: name }, text: t(`channel_${name}`),
      on: {
        click: () => {
          channel = name;
          show();
        },
      },
    }));
  }
  const reason = el('textarea', { testid: 'reason', rows: 3, 'aria-label': t('reason'), placeholder: t('reason_hint') });
  const count = el('p', { class: 'quiet count', role: 'status' });
  const confirm = el('button', { type: 'button', class: 'deny solid', testid: 'deny-confirm', text: t('deny') });
  const measure = () => {
    const n = bytesOf(reason.value.toWellFormed()).length;
    const over = n > REASON_BYTES_MAX;
    count.textContent = n > REASON_BYTES_MAX * 0.8 ? t('bytes_of', { n, max: REASON_BYTES_MAX }) : '';
    confirm.disabled = over;
  };
  reason.addEventListener('input', measure);
  const likely = el('div', { class: 'chips reasons' }, ...['reason_1', 'reason_2', 'reason_3'].map((key) => el('button', {
    type: 'button', class: 'chip', text: t(key),
    on: {
      click: () => {
        reason.value = t(key);
        measure();
      },
    },
  })));
  const dialog = sheet({
    title, testid: 'deny-sheet', body: [
      el('div', { class: 'field' }, el('h3', { text: t('channel') }), chips, about, lifeRow),
      el('div', { class: 'field' }, el('h3', { text: t('reason') }), likely, reason, count),
      el('div', { class: 'buttons' }, el('button', { type: 'button', class: 'plain', text: t('back'), on: { click: () => dialog.close() } }), confirm),
    ],
  });
  confirm.addEventListener('click', () => {
    dialog.close();
    onDeny(channel, reason.value.toWellFormed(), Number(life.value) * DAY);
  });
  show();
}

/** The members of a payload, in its order, for the eye. @param {Record<string, unknown>} payload @returns {HTMLElement} */
export function payloadTable(payload) {
  const list = el('dl', { class: 'members payload' });
  for (const [name, value] of Object.entries(payload)) {
    const times = ['issued', 'expires', 'not_before', 'since', 'not_after'];
    const dd = el('dd');
    if (Array.isArray(value)) dd.append(el('ol', { class: 'hashes' }, ...value.map((v) => el('li', {}, exact(String(v))))));
    else if (times.includes(name) && typeof value === 'number') dd.append(`${moment(value)} `, el('span', { class: 'quiet', text: String(value) }));
    else if (value !== null && typeof value === 'object') dd.append(payloadTable(/** @type {Record<string, unknown>} */ (value)));
    else dd.append(exact(String(value)));
    list.append(el('dt', { text: name }), dd);
  }
  return list;
}

/** What the passkey is asked to sign, while it is asked. */
export class SealingPanel {
  constructor() {
    this.node = el('section', { class: 'sealing', testid: 'sealing', hidden: true, 'aria-live': 'polite' });
  }

  /** @param {string} title @param {Payload|null} payload */
  show(title, payload) {
    this.node.hidden = false;
    put(this.node, el('p', { class: 'title', text: title }), el('p', { class: 'quiet', text: t('touch_passkey') }),
      payload ? el('details', {}, el('summary', { text: t('what_is_signed') }), payloadTable(payload)) : null);
  }

  hide() {
    this.node.hidden = true;
    put(this.node);
  }
}

/** @typedef {{id: string, count: number, settles: number, total: number, warnings: string[]}} Undoable */

/** Counts the undo window down, with a big Undo, then says where it went. */
export class UndoBar {
  /** @param {() => number} hubNow @param {(id: string) => void} onUndo */
  constructor(hubNow, onUndo) {
    this.hubNow = hubNow;
    this.onUndo = onUndo;
    this.node = el('section', { class: 'undobar', hidden: true, 'aria-label': t('undo') });
    /** @type {Map<string, {node: HTMLElement, of: Undoable, meter: HTMLProgressElement, text: HTMLElement}>} */
    this.bars = new Map();
    /** @type {ReturnType<typeof setInterval>|undefined} */
    this.timer = undefined;
  }

  /** @param {Undoable} of */
  add(of) {
    const known = this.bars.get(of.id);
    if (known) {
      known.of.settles = of.settles;
      return;
    }
    const meter = el('progress', { max: of.total, value: of.total, 'aria-hidden': 'true' });
    const text = el('p', { role: 'status' });
    const node = el('div', { class: 'bar', data: { batch: of.id } }, el('div', { class: 'line' }, text, el('button', { class: 'undo', type: 'button', testid: 'undo', text: t('undo'), on: { click: () => this.onUndo(of.id) } })), meter,
      ...of.warnings.map((w) => el('p', { class: 'quiet' }, t('hub_notes'), ' ', exact(w, '', 'prose'))));
    this.bars.set(of.id, { node, of, meter, text });
    this.node.prepend(node);
    this.node.hidden = false;
    this.timer ??= setInterval(() => this.tick(), 200);
    this.tick();
  }

  tick() {
    for (const { of, meter, text, node } of this.bars.values()) {
      const left = Math.max(0, of.settles - this.hubNow());
      meter.value = left;
      const words = left > 0 ? t('sealed_left', { n: of.count, s: Math.ceil(left / 1000) }) : t('sealed_releasing', { n: of.count });
      if (text.textContent !== words) text.textContent = words;
      const button = node.querySelector('button');
      if (button && left === 0) button.disabled = true;
    }
  }

  /** The newest one, for the key `u`. */
  newest() {
    return [...this.bars.values()].at(-1)?.of.id;
  }

  /** Ends a bar; says `words` in its place for a moment. @param {string} id @param {string} words @param {string} tone */
  end(id, words, tone) {
    const bar = this.bars.get(id);
    this.bars.delete(id);
    const node = bar?.node ?? el('div', { class: 'bar' });
    put(node, el('p', { class: `done ${tone}`, role: 'status', text: words }));
    if (!bar) this.node.prepend(node);
    this.node.hidden = false;
    setTimeout(() => {
      node.remove();
      this.node.hidden = this.node.childElementCount === 0;
    }, 5000);
    if (this.bars.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
  }
}

/** One line for what went wrong: what happened, what it means, what to do. It stays until it is closed or replaced. */
export class ErrorLine {
  constructor() {
    this.node = el('section', { class: 'toast', testid: 'toast-error', role: 'alert', hidden: true });
  }

  /** @param {string} words @param {string} [code] */
  show(words, code = '') {
    this.node.hidden = false;
    this.node.setAttribute('data-code', code);
    put(this.node, el('p', { text: words }), el('button', { type: 'button', class: 'plain', text: t('close'), on: { click: () => this.hide() } }));
  }

  hide() {
    this.node.hidden = true;
    put(this.node);
  }
}

export function helpSheet() {
  const keys = [['j / k', 'help_move'], ['Enter', 'help_open'], ['x', 'help_select'], ['a', 'help_approve'], ['d', 'help_deny'], ['u', 'help_undo'], ['?', 'help_help']];
  const list = el('dl', { class: 'keys' }, ...keys.flatMap(([key = '', word = '']) => [el('dt', {}, el('kbd', { text: key })), el('dd', { text: t(word) })]));
  const dialog = sheet({ title: t('help_title'), testid: 'help', body: [list, el('div', { class: 'buttons' }, el('button', { type: 'button', class: 'plain', text: t('close'), on: { click: () => dialog.close() } }))] });
}
