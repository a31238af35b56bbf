// Rules as sentences. What the snapshot lists is shown; making and ending them comes with the hub's routes for it.

import { el, put } from './dom.js';
import { exact } from './show.js';
import { day, t } from './words.js';

/** @typedef {import('./api.js').RuleRow} RuleRow */

/** @returns {import('./main.js').View} */
export function rulesView() {
  const list = el('div', { class: 'ruleslist' }, el('p', { class: 'quiet', text: t('loading') }));
  return {
    node: el('div', { class: 'plainview' }, el('h2', { text: t('tab_rules') }), list),
    update(snap) {
      if (snap.rules.length === 0) {
        put(list, el('div', { class: 'calm' }, el('h3', { testid: 'no-rules', text: t('no_rules') }), el('p', { text: t('no_rules_about') })));
        return;
      }
      put(list, ...snap.rules.map(card));
    },
  };
}

/** @param {RuleRow} rule */
function card(rule) {
  return el('article', { class: 'rule', data: { id: rule.id } },
    el('p', {}, exact(rule.pattern ?? '', 'code'), ' ', t('in'), ' ', exact(rule.scope ?? '', 'code'), ' ', t('rule_on'), ' ', exact(rule.executor ?? ''), rule.expires ? ` ${t('rule_until', { day: day(rule.expires) })}` : ''),
    el('p', { class: 'quiet', text: t('rule_used', { n: rule.used ?? 0 }) }));
}
