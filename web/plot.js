// Small plots, made of SVG shapes; each says in words what it shows.

import { el, svg } from './dom.js';
import { t } from './words.js';

/** The day so far as one bar: by rule, by reviewer, by you, denied, expired. @param {import('./api.js').Today} today */
export function dayPlot(today) {
  const parts = /** @type {const} */ ([
    ['rule', today.allowed_by_rule], ['reviewer', today.allowed_by_reviewer], ['you', today.allowed_by_you], ['denied', today.denied], ['expired', today.expired],
  ]);
  const sum = parts.reduce((n, [, v]) => n + v, 0);
  const bar = svg('svg', { class: 'plot', viewBox: '0 0 300 14', preserveAspectRatio: 'none', role: 'img', 'aria-label': parts.map(([name, v]) => `${t(`day_${name}`)}: ${v}`).join(', ') });
  bar.append(svg('rect', { class: 'ground', x: 0, y: 0, width: 300, height: 14, rx: 7 }));
  let x = 0;
  for (const [name, value] of parts) {
    if (!value) continue;
    const width = (300 * value) / sum;
    bar.append(svg('rect', { class: `day-${name}`, x, y: 0, width: Math.max(1, width - 2), height: 14 }));
    x += width;
  }
  return el('figure', { class: 'day' }, bar, el('ul', { class: 'legend' }, ...parts.map(([name, value]) => el('li', {},
    svg('svg', { class: 'swatch', viewBox: '0 0 10 10', 'aria-hidden': 'true' }, svg('rect', { class: `day-${name}`, width: 10, height: 10, rx: 2 })), el('b', { text: String(value) }), ` ${t(`day_${name}`)}`))));
}
