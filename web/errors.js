// Errors as words: what happened, what it means for the action (always: nothing was allowed), what to do.

import { ApiError } from './api.js';
import { SealError } from './seal.js';
import { plain } from './show.js';
import { has, t } from './words.js';

/**
 * @param {unknown} e @returns {{words: string, code: string}}
 */
export function errorWords(e) {
  if (e instanceof SealError) {
    const key = `seal_${e.code}`;
    const detail = e.code === 'not_whole' && has(e.detail) ? t(e.detail) : e.detail;
    return { code: e.code, words: has(key) ? sentence(t(key, { detail })) : sentence(t('seal_refused', { detail })) };
  }
  if (e instanceof ApiError) {
    const key = `err_${e.code}`;
    if (has(key)) return { code: e.code, words: t(key, { s: e.retryAfter, n: e.stale.length }) };
    return { code: e.code, words: sentence(e.detail ? t('err_detail', { detail: plain(e.detail) }) : t('err_other', { code: e.code })) };
  }
  return { code: 'page', words: sentence(t('err_page', { detail: e instanceof Error ? e.message : String(e) })) };
}

/** @param {string} words */
function sentence(words) {
  return words.includes(t('nothing_allowed')) ? words : `${words} ${t('nothing_allowed')}`;
}
