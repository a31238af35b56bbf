// The page: what it knows of the hub, which view is shown, and the line at the head that says whether any of it can be relied on.
// Not here: the views.

import { api, ApiError, fetchSnapshot, follow, session } from './api.js';
import { resume } from './deeds.js';
import { el, icon, put } from './dom.js';
import { errorWords } from './errors.js';
import { historyView } from './history.js';
import { Inbox } from './inbox.js';
import { freeze } from './item.js';
import { cardView, enrolView, loginView } from './login.js';
import { rulesView } from './rules.js';
import { runningView } from './running.js';
import { settingsView } from './settings.js';
import { ErrorLine } from './sheets.js';
import { exact, plain } from './show.js';
import { language, span, t } from './words.js';

/** @typedef {import('./api.js').Snapshot} Snapshot */
/** @typedef {import('./api.js').Me} Me */
/** @typedef {'connecting'|'online'|'offline'} Connection */
/** @typedef {{node: HTMLElement, update?: (snap: Snapshot) => void, key?: (e: KeyboardEvent) => boolean}} View */

const TABS = /** @type {const} */ (['inbox', 'running', 'rules', 'history', 'settings']);
/** Events come in bursts; one new snapshot serves all of a burst. */
const BURST_MS = 150;
/** A clock that is further off than this makes proofs that executors refuse. */
const CLOCK_MS = 30_000;

/** What all views share. */
export class App {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** @type {Snapshot|null} */
    this.snap = null;
    /** @type {Me|null} */
    this.me = null;
    /** @type {Connection} */
    this.connection = 'connecting';
    this.busy = false;
    /** The hub's clock less ours. */
    this.offset = 0;
    this.retryAt = 0;
    /** What the head shows, so that it is drawn again only when it changed. */
    this.headKey = '';
    /** @type {{stop: () => void, poke: () => void}|null} */
    this.stream = null;
    /** @type {Inbox|null} */
    this.inbox = null;
    /** @type {typeof TABS[number]} */
    this.tab = 'inbox';
    /** @type {View|null} */
    this.view = null;
    this.errors = new ErrorLine();
    this.voice = el('p', { class: 'voice', role: 'status', 'aria-live': 'polite' });
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    this.burst = undefined;
    /** @type {Promise<void>|null} */
    this.fetching = null;
    /** @type {Promise<void>|null} */
    this.again = null;
    this.exact = (/** @type {string} */ text) => exact(text, '', 'prose');
    document.addEventListener('keydown', (e) => this.key(e));
    window.addEventListener('online', () => this.stream?.poke());
    window.addEventListener('offline', () => this.connect('offline', 0));
    setInterval(() => this.drawHead(), 1000);
  }

  /** The hub's time, for showing; what is signed carries this device's own time. */
  get now() {
    return Date.now() + this.offset;
  }

  get online() {
    return this.connection === 'online' && this.snap !== null;
  }

  /** Whether anything may be approved at all. */
  get live() {
    return this.online && this.snap?.head.verified === true;
  }

  /** How many wait for a person. */
  get waiting() {
    const { snap } = this;
    return snap ? Math.max(snap.total, snap.inbox.length) - snap.inbox.filter((r) => r.status === 'settling').length : 0;
  }

  /** Batches that were signed on this page. Another person may still be missing, but not this one. @param {string|null} batch */
  signedHere(batch) {
    return batch !== null && (this.inbox?.mine.has(batch) ?? false);
  }

  /** Who signed a collecting batch so far. @param {string|null} batch */
  signersOf(batch) {
    return (this.snap?.batches.find((b) => b.id === batch)?.signers ?? []).map((s) => plain(s)).join(', ');
  }

  /** @param {unknown} e */
  fail(e) {
    if (e instanceof ApiError && e.status === 401) {
      this.lock(t('session_over'));
      return;
    }
    const { words, code } = errorWords(e);
    this.errors.show(words, code);
  }

  calm() {
    this.errors.hide();
  }

  /** @param {string} words */
  say(words) {
    this.voice.textContent = words;
    setTimeout(() => {
      if (this.voice.textContent === words) this.voice.textContent = '';
    }, 6000);
  }

  // --- from and to the door

  async start() {
    document.documentElement.lang = language.now;
    document.title = t('title');
    const code = /^#enrol=([A-Za-z0-9_-]+)$/.exec(location.hash)?.[1];
    const enter = () => void this.enter();
    if (code) enrolView(this.root, { code, onDone: enter });
    else if (location.hash === '#card') cardView(this.root);
    else if (session.token) await this.enter();
    else loginView(this.root, { onDone: enter });
  }

  /** @param {string} [notice] */
  lock(notice) {
    session.token = '';
    this.stream?.stop();
    this.stream = null;
    this.snap = null;
    this.inbox?.stop();
    this.inbox = null;
    this.view = null;
    loginView(this.root, notice ? { onDone: () => void this.enter(), notice } : { onDone: () => void this.enter() });
  }

  async enter() {
    this.connection = 'connecting';
    this.inbox?.stop();
    this.inbox = new Inbox(this);
    this.head = el('header', { class: 'top' });
    this.stage = el('main', { class: 'stage' });
    this.tabs = el('nav', { class: 'tabs', 'aria-label': t('tabs') });
    put(this.root, el('div', { class: 'app' }, this.head, this.tabs, this.stage, el('div', { class: 'foot' }, this.errors.node, this.voice, this.inbox.floor)));
    this.show('inbox');
    this.inbox.drawNote();
    await this.refresh();
    if (session.token) this.followLog();
  }

  followLog() {
    this.stream?.stop();
    this.stream = follow({
      since: this.snap?.head.seq ?? 0,
      onLine: () => {
        clearTimeout(this.burst);
        this.burst = setTimeout(() => void this.refresh(), BURST_MS);
      },
      onState: (state, retryMs) => {
        const back = state === 'online' && this.connection !== 'online';
        this.connect(state, retryMs);
        if (back) void this.refresh();
      },
      onRefused: () => this.lock(t('session_over')),
    });
  }

  /** @param {Connection} state @param {number} retryMs */
  connect(state, retryMs) {
    this.connection = state;
    this.retryAt = Date.now() + retryMs;
    this.drawHead();
    this.inbox?.wakeAll();
  }

  /** Fetches what is, and shows it. One question at a time: an older answer never overwrites a newer one. @returns {Promise<void>} */
  async refresh() {
    if (this.fetching) {
      // What was asked for may be missing from the answer under way: ask again after it, once for all who wait.
      this.again ??= this.fetching.then(() => {
        this.again = null;
        return this.refresh();
      });
      return this.again;
    }
    this.fetching = this.look().finally(() => {
      this.fetching = null;
    });
    return this.fetching;
  }

  async look() {
    try {
      this.me ??= await api.me();
      const snap = await fetchSnapshot(this.inbox?.want ?? 0);
      this.offset = snap.now - Date.now();
      this.snap = freeze(snap);
      this.connection = 'online';
    } catch (e) {
      if (e instanceof ApiError && (e.status === 401 || e.status === 403)) {
        this.lock(t('session_over'));
        return;
      }
      this.connection = 'offline';
      this.retryAt = Date.now() + 5000;
      if (!this.snap) setTimeout(() => void (session.token && this.refresh()), 5000);
      this.drawHead();
      this.inbox?.wakeAll();
      return;
    }
    this.drawHead();
    this.inbox?.update(this.snap);
    this.inbox?.wakeAll();
    if (this.tab !== 'inbox') this.view?.update?.(this.snap);
    this.drawTabs();
  }

  // --- views

  /** @param {typeof TABS[number]} tab */
  show(tab) {
    if (!this.inbox || !this.stage) return;
    this.tab = tab;
    this.view = tab === 'inbox' ? { node: this.inbox.node, key: (e) => this.inbox?.key(e) ?? false }
      : tab === 'running' ? runningView(this) : tab === 'rules' ? rulesView() : tab === 'history' ? historyView(this) : settingsView(this);
    put(this.stage, this.view.node);
    this.stage.setAttribute('data-view', tab);
    if (this.snap && tab !== 'inbox') this.view.update?.(this.snap);
    if (tab === 'inbox') this.inbox.guardAll();
    this.drawTabs();
    window.scrollTo(0, 0);
  }

  drawTabs() {
    if (!this.tabs) return;
    const focused = document.activeElement?.getAttribute('data-testid');
    put(this.tabs, ...TABS.map((tab) => {
      const n = tab === 'inbox' ? this.waiting : 0;
      return el('button', { type: 'button', testid: `tab-${tab}`, 'aria-current': this.tab === tab ? 'page' : null, on: { click: () => this.show(tab) } },
        icon(tab), el('span', { text: t(`tab_${tab}`) }), n ? el('b', { class: 'count', 'aria-label': t('waiting_n', { n }), text: n > 99 ? '99+' : String(n) }) : null);
    }));
    if (focused?.startsWith('tab-')) /** @type {HTMLElement|null} */ (this.tabs.querySelector(`[data-testid=${focused}]`))?.focus();
    document.title = this.waiting ? `(${this.waiting}) ${t('title')}` : t('title');
  }

  drawHead() {
    if (!this.head) return;
    const { snap, connection } = this;
    const wait = Math.max(0, this.retryAt - Date.now());
    const line = connection === 'online' ? t('conn_online') : connection === 'offline' ? t('conn_offline') : t('conn_connecting');
    const verified = snap?.head.verified;
    const drift = snap ? Math.abs(this.offset) > CLOCK_MS : false;
    const alarm = connection === 'offline' || verified === false || snap?.paused || drift;
    const key = JSON.stringify([language.now, connection, verified, snap?.paused, snap?.hub, drift, connection === 'offline' ? Math.ceil(wait / 1000) : 0, this.tab]);
    if (key === this.headKey) return;
    this.headKey = key;
    const pause = snap ? el('button', {
      class: 'plain', type: 'button', testid: snap.paused ? 'resume' : 'pause', text: snap.paused ? t('resume') : t('pause'), on: { click: () => void (snap.paused ? this.resume() : this.pause()) },
    }) : null;
    put(this.head,
      el('div', { class: 'headline' }, icon('seal'), el('h1', {}, exact(snap?.hub ?? t('title'))),
        el('div', { class: 'pills' }, el('span', { class: `pill ${connection}`, testid: 'connection', role: 'status', data: { state: connection } }, el('i', { class: 'dot', 'aria-hidden': 'true' }), line),
        verified === undefined ? null : el('span', { class: `pill ${verified ? 'ok' : 'bad'}`, testid: 'verified', data: { state: verified } }, verified ? t('log_ok') : t('log_bad'))),
        pause),
      alarm ? el('div', { class: 'alarm', role: 'alert' },
        connection === 'offline' ? el('p', { class: 'stop', text: t('offline_band', { span: span(wait) }) }) : null,
        verified === false ? el('p', { class: 'stop', text: t('unverified_band') }) : null,
        snap?.paused ? el('p', { class: 'careful', testid: 'paused', text: t('paused_band') }) : null,
        drift ? el('p', { class: 'careful', text: t('clock_band', { span: span(Math.abs(this.offset)) }) }) : null) : null);
  }

  async pause() {
    try {
      await api.pause();
      await this.refresh();
    } catch (e) {
      this.fail(e);
    }
  }

  async resume() {
    this.inbox?.sealing.show(t('resuming'), null);
    try {
      await resume(Date.now());
      await this.refresh();
    } catch (e) {
      this.fail(e);
    } finally {
      this.inbox?.sealing.hide();
    }
  }

  /** Draws everything again, after the language was changed. */
  redraw() {
    const { tab } = this;
    this.headKey = '';
    void this.enter().then(() => this.show(tab));
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
    const target = /** @type {HTMLElement|null} */ (e.target);
    if (target?.closest('input:not([type=checkbox]), textarea, select')) return;
    if (this.view?.key?.(e)) e.preventDefault();
  }
}

const root = document.getElementById('root');
if (root) {
  const app = new App(root);
  void app.start();
  window.addEventListener('hashchange', () => {
    if (/^#(?:enrol=|card$)/.test(location.hash) || (location.hash === '' && !app.inbox)) void app.start();
  });
}
