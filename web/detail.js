// The fine print of a row: every field that is hashed, the hashes, what an approval would hold, the whole text.
// Not here: buttons; they stay with the row.

import { lifeOf, quorumOf } from './deeds.js';
import { el, icon, put } from './dom.js';
import { FIELDS, isKind } from './item.js';
import { rawText } from './row.js';
import { exact, paint } from './show.js';
import { span, t, moment } from './words.js';
import { warningsOf } from './warn.js';

/** @param {HTMLElement} node @param {import('./row.js').RowView} view @param {import('./main.js').App} app @param {() => void} onClose */
export function detailView(node, view, app, onClose) {
  const { row } = view;
  const fields = isKind(row.kind) ? FIELDS[row.kind] : Object.keys(row.item ?? {});
  const raw = row.kind === 'ask' ? 'input' : row.kind === 'call' ? 'arguments' : '';
  const picked = [{ row, choice: view.choice }];
  const warnings = warningsOf(row);
  put(node,
    el('header', {}, el('button', { class: 'back', type: 'button', testid: 'detail-close', 'aria-label': t('back'), on: { click: onClose } }, icon('left')), el('h2', { text: t('details'), tabindex: -1 })),
    el('section', {}, el('h3', { text: t('stages') }), el('ol', { class: 'stages' },
      el('li', { text: row.human_only ? t('stage_human_only') : t('stage_not_human_only') }),
      el('li', { text: t('stage_grants') }),
      el('li', { text: t('stage_person', { n: Math.max(1, row.quorum) }) })),
      warnings.length ? el('p', { class: 'quiet', text: t('stage_warnings', { n: warnings.length }) }) : null),
    el('section', {}, el('h3', { text: t('who_and_when') }), el('dl', { class: 'members' },
      el('dt', { text: t('agent') }), el('dd', {}, exact(row.agent)),
      el('dt', { text: t('executor') }), el('dd', {}, exact(row.executor)),
      row.host ? el('dt', { text: t('host') }) : null, row.host ? el('dd', {}, exact(row.host)) : null,
      row.thread ? el('dt', { text: t('thread') }) : null, row.thread ? el('dd', {}, exact(row.thread)) : null,
      el('dt', { text: t('guard') }), el('dd', { text: row.guard === 'system' ? t('guard_system') : t('guard_user') }),
      el('dt', { text: t('asked_at') }), el('dd', { text: moment(row.created) }),
      el('dt', { text: t('waits_until') }), el('dd', { text: moment(row.expires) }))),
    el('section', {}, el('h3', { text: t('what_is_hashed') }), el('p', { class: 'quiet', text: t('what_is_hashed_about') }),
      el('dl', { class: 'members fields' }, ...fields.flatMap((f) => [el('dt', { text: f }), el('dd', {}, f === raw ? rawText(row.item[f] ?? '') : field(row.item[f] ?? ''))]))),
    el('section', {}, el('h3', { text: t('what_is_signed') }), el('dl', { class: 'members payload' },
      el('dt', { text: 'verb' }), el('dd', { text: 'approve' }),
      el('dt', { text: 'items' }), el('dd', {}, el('ol', { class: 'hashes', testid: 'hashes' }, ...view.hashes.map((h) => el('li', {}, exact(h))))),
      el('dt', { text: 'expires' }), el('dd', { text: t('expires_about', { span: span(lifeOf(picked, app.now) - app.now) }) }),
      el('dt', { text: 'not_before' }), el('dd', { text: quorumOf(picked) > 1 ? t('not_before_quorum') : t('not_before_about', { s: Math.round((app.snap?.undo_ms ?? 0) / 1000) }) }),
      el('dt', { text: 'nonce' }), el('dd', { text: t('nonce_about') }))));
}

/** @param {string} value */
function field(value) {
  return el('pre', { class: 'value exact' }, value === '' ? el('span', { class: 'quiet', text: t('empty_text') }) : paint(value));
}
