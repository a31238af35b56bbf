// Jobs and the live tail of each. An exit code is a word and a colour.

import { el, put } from './dom.js';
import { exact, paint } from './show.js';
import { ago, span, t } from './words.js';

/** @typedef {import('./main.js').App} App */
/** @typedef {import('./api.js').Job} Job */

/** @param {App} app @returns {import('./main.js').View} */
export function runningView(app) {
  const list = el('div', { class: 'jobs' }, el('p', { class: 'quiet', text: t('loading') }));
  const node = el('div', { class: 'plainview' }, el('h2', { text: t('tab_running') }), list);
  return {
    node,
    update(snap) {
      if (snap.jobs.length === 0) {
        put(list, el('div', { class: 'calm' }, el('h3', { text: t('no_jobs') }), el('p', { text: t('no_jobs_about') })));
        return;
      }
      put(list, ...[...snap.jobs].reverse().map((job) => card(job, app.now)));
    },
  };
}

/** @param {Job} job @param {number} now */
function card(job, now) {
  const tone = job.status === 'done' ? (job.code === 0 ? 'safe' : 'stop') : job.status === 'refused' || job.status === 'lost' ? 'stop' : 'careful';
  const word = job.status === 'done' ? (job.code === 0 ? t('exit_ok') : t('exit_bad', { code: job.code ?? '?' })) : t(`job_${job.status}`);
  const took = job.started && job.finished ? ` · ${span(job.finished - job.started)}` : '';
  return el('article', { class: 'job', testid: 'job', data: { id: job.id ?? '', status: job.status } },
    el('header', {}, el('strong', {}, exact(job.task ?? '')), el('span', { class: `pill ${tone}`, text: word })),
    el('pre', { class: 'act shell exact' }, paint(job.command ?? '')),
    el('p', { class: 'where' }, t('in'), ' ', exact(job.directory ?? ''), ' · ', exact(job.executor ?? ''), job.created ? ` · ${ago(job.created, now)}` : '', took),
    job.output ? el('pre', { class: 'term exact', tabindex: 0, 'aria-label': t('output') }, paint(job.output)) : null);
}
