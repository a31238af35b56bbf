// The inbox: everything that waits, oldest first. New rows come in at the end, above a line that counts them; a row that was
// answered stays where it is for a moment, so that nothing moves under a finger.
// Not here: one row (row.js), what sealing does (deeds.js).

import { api } from './api.js';
import { approveRows, checkBatch, denyRows, quorumOf, signToo, undo } from './deeds.js';
import { el, put } from './dom.js';
import { detailView } from './detail.js';
import { freeze } from './item.js';
import { RowView, summary } from './row.js';
import { denySheet, helpSheet, SealingPanel, sheet, UndoBar } from './sheets.js';
import { ITEMS_MAX, SealError } from './seal.js';
import { dayPlot } from './plot.js';
import { plain } from './show.js';
import { t } from './words.js';

/** @typedef {import('./api.js').Row} Row */
/** @typedef {import('./api.js').Snapshot} Snapshot */
/** @typedef {import('./api.js').Line} Line */
/** @typedef {import('./main.js').App} App */

/** An answered row stays this long before it goes. */
const LINGER_MS = 6000;
/** Nothing is taken away while a finger or the mouse was at it within this time. */
const STILL_MS = 1500;
/** Rows that are fetched and drawn at once; more on demand. */
const ROWS = 100;
/** Notes of the hub that the row itself already says. */
const SAID_ANYWAY = /guard is cooperative$|^only a person may allow this/;

export class Inbox {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    /** @type {Map<string, RowView>} */
    this.rows = new Map();
    /** @type {string|null} */
    this.cursor = null;
    this.touched = 0;
    this.loaded = false;
    /** Batches that were made here, and what the hub said about them. @type {Map<string, string[]>} */
    this.mine = new Map();
    this.list = el('div', { class: 'rows', role: 'feed', 'aria-label': t('tab_inbox') });
    this.note = el('div', { class: 'calm' });
    this.detail = el('aside', { class: 'detail', 'aria-label': t('details') });
    this.newLine = el('button', { class: 'newline', type: 'button', testid: 'new-rows', hidden: true, on: { click: () => this.showNew() } });
    this.want = ROWS;
    this.moreLine = el('button', {
      class: 'plain more', type: 'button', testid: 'more-rows', hidden: true, on: {
        click: () => {
          this.want += ROWS;
          void this.app.refresh();
        },
      },
    });
    this.batchBar = el('section', { class: 'batchbar', hidden: true, 'aria-label': t('batch') });
    this.pinned = el('div', { class: 'pinned' });
    this.sealing = new SealingPanel();
    this.undoBar = new UndoBar(() => app.now, (id) => void this.undo(id));
    this.node = el('div', { class: 'inbox' }, el('div', { class: 'column' }, this.pinned, this.note, this.list, this.moreLine), this.detail);
    this.floor = el('div', { class: 'floor' }, this.newLine, this.batchBar, this.sealing.node, this.undoBar.node);
    this.seer = new IntersectionObserver((entries) => this.see(entries), { rootMargin: '-56px 0px -56px 0px' });
    // Whatever makes a row taller or shorter moves the buttons below it.
    this.sizer = new ResizeObserver(() => this.guardAll());
    /** What the detail shows. @type {[Row|null, readonly string[]]} */
    this.drawn = [null, []];
    /** Rows that came while they were out of sight. @type {Set<string>} */
    this.fresh = new Set();
    for (const event of ['pointerdown', 'pointermove', 'wheel', 'keydown', 'touchmove']) {
      this.node.addEventListener(event, () => {
        this.touched = performance.now();
      }, { passive: true });
    }
    this.ending = new AbortController();
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.guardAll();
    }, { signal: this.ending.signal });
    this.ticking = setInterval(() => this.tick(), 1000);
  }

  /** The page goes to the door, or starts anew. */
  stop() {
    this.ending.abort();
    clearInterval(this.ticking);
    this.seer.disconnect();
    this.sizer.disconnect();
  }

  /** What is read and what waits beside it. */
  get waiting() {
    return [...this.rows.values()].filter((v) => !v.outcome);
  }

  guardAll() {
    for (const view of this.rows.values()) view.guard();
  }

  wakeAll() {
    for (const view of this.rows.values()) view.wake();
    this.drawBatchBar();
  }

  /** @param {Snapshot} snap */
  update(snap) {
    const there = new Set();
    for (const row of snap.inbox) {
      there.add(row.id);
      const known = this.rows.get(row.id);
      if (known) {
        known.update(row);
        continue;
      }
      const view = new RowView(row, this.app, {
        approve: (v) => void this.approve([v]),
        deny: (v) => this.deny([v]),
        signToo: (v) => void this.signToo(v),
        select: (v) => this.select(v),
        open: (v) => this.open(v),
        changed: () => this.guardBelow(),
        examined: (v) => {
          if (this.cursor === v.row.id) this.drawDetail();
        },
      });
      this.rows.set(row.id, view);
      this.list.append(view.node);
      this.seer.observe(view.ends.top);
      this.seer.observe(view.ends.end);
      this.sizer.observe(view.node);
      if (this.loaded) this.fresh.add(row.id);
    }
    // Equal asks join an older row's `also`: they are no rows of their own any more.
    for (const [id, view] of this.rows) {
      if (there.has(id) || view.outcome) continue;
      void this.learn(view);
    }
    for (const batch of snap.batches) {
      if (batch.status === 'settling' && batch.settles !== null) {
        this.undoBar.add({ id: batch.id, count: batch.entries.length, settles: batch.settles, total: Math.max(snap.undo_ms, 1), warnings: this.mine.get(batch.id) ?? [] });
      }
    }
    const settling = new Set(snap.batches.filter((b) => b.status === 'settling').map((b) => b.id));
    for (const id of [...this.undoBar.bars.keys()]) if (!settling.has(id)) void this.ended(id);
    const further = snap.next ? Math.max(0, snap.total - snap.inbox.length) : 0;
    this.moreLine.hidden = further === 0;
    this.moreLine.textContent = t('more_rows', { n: further });
    this.drawPinned(snap);
    this.loaded = true;
    this.drawNote();
    // Rows that came into sight are seen within a frame or two; the line is for the others.
    setTimeout(() => this.drawNewLine(), 300);
    this.drawBatchBar();
    this.drawDetail();
  }

  /** A row is gone from the snapshot: asks what became of it. @param {RowView} view */
  async learn(view) {
    view.outcome = { status: view.row.status, text: '' };
    try {
      const { row, events } = await api.story(view.row.id);
      if (row.status === 'pending' || row.status === 'collecting' || row.status === 'settling') {
        // It still waits; it only stood on another page of the answer.
        view.outcome = null;
        view.update(freeze(row));
        return;
      }
      view.leave({ status: row.status, text: outcomeWords(row.status, events) });
    } catch {
      view.leave({ status: 'gone', text: t('out_gone') });
    }
    this.drawNote();
    this.sweepLater();
  }

  sweepLater() {
    setTimeout(() => this.sweep(), LINGER_MS);
  }

  /** Takes answered rows away, when no finger is near. */
  sweep() {
    if (performance.now() - this.touched < STILL_MS || document.querySelector('dialog[open]')) {
      setTimeout(() => this.sweep(), STILL_MS);
      return;
    }
    let moved = false;
    for (const [id, view] of this.rows) {
      if (!view.outcome || view.outcome.text === '') continue;
      if (this.cursor === id) this.move(1) || this.move(-1);
      this.seer.unobserve(view.ends.top);
      this.seer.unobserve(view.ends.end);
      this.sizer.unobserve(view.node);
      view.node.remove();
      this.rows.delete(id);
      moved = true;
    }
    if (moved) this.guardAll();
    this.drawNote();
    this.drawDetail();
  }

  /** A batch no longer settles. @param {string} id */
  async ended(id) {
    const known = this.undoBar.bars.get(id);
    try {
      const batch = await api.batch(id);
      if (batch.status === 'settling') return;
      const executors = [...new Set(batch.entries.map((e) => this.rows.get(e.id)?.row.executor).filter((e) => e !== undefined))].map((e) => plain(e)).join(', ');
      if (batch.status === 'settled') this.undoBar.end(id, executors ? t('released_to', { to: executors }) : t('released'), 'safe');
      else if (batch.status === 'undone') this.undoBar.end(id, t('undone'), 'careful');
      else this.undoBar.end(id, t('out_expired'), 'careful');
    } catch {
      if (known) this.undoBar.end(id, t('out_gone'), 'careful');
    }
  }

  /** @param {readonly IntersectionObserverEntry[]} entries */
  see(entries) {
    if (document.hidden) return;
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const view of this.rows.values()) {
        if (view.ends.top === entry.target) view.seen.top = true;
        if (view.ends.end === entry.target) view.seen.end = true;
        if (view.seen.top && view.seen.end) this.fresh.delete(view.row.id);
      }
    }
    this.drawNewLine();
    this.drawBatchBar();
  }

  tick() {
    for (const view of this.rows.values()) view.tick();
  }

  guardBelow() {
    this.guardAll();
    this.drawBatchBar();
  }

  drawPinned(/** @type {Snapshot} */ snap) {
    put(this.pinned, ...snap.messages.map((m) => el('p', { class: 'pinnedmsg', testid: 'pinned-message' }, el('strong', { text: t('pinned_by', { label: plain(m.label) }) }), ' ', this.app.exact(m.reason))));
  }

  drawNote() {
    const { snap } = this.app;
    if (!this.loaded || !snap) {
      put(this.note, el('p', { class: 'quiet', role: 'status', text: t('loading') }));
      return;
    }
    const empty = this.rows.size === 0;
    this.note.hidden = !empty;
    if (!empty) return;
    const { today } = snap;
    put(this.note, el('h2', { testid: 'empty', text: t('nothing_waits') }), el('p', { text: t('today_line', { rules: today.allowed_by_rule, you: today.allowed_by_you }) }), dayPlot(today));
  }

  drawNewLine() {
    const n = [...this.fresh].filter((id) => this.rows.has(id)).length;
    this.newLine.hidden = n === 0;
    this.newLine.textContent = t('new_rows', { n });
  }

  showNew() {
    const [first] = this.fresh;
    this.fresh.clear();
    this.drawNewLine();
    if (first) this.rows.get(first)?.node.scrollIntoView({ block: 'center' });
    this.guardAll();
  }

  // --- choosing several

  /** @param {RowView} view */
  select(view) {
    if (!view.batchable) return;
    view.selected = !view.selected;
    view.node.toggleAttribute('data-selected', view.selected);
    const box = /** @type {HTMLInputElement|null} */ (view.node.querySelector('[data-testid=select]'));
    if (box) box.checked = view.selected;
    this.drawBatchBar();
  }

  get picked() {
    return [...this.rows.values()].filter((v) => v.selected && v.batchable);
  }

  drawBatchBar() {
    const { picked } = this;
    this.batchBar.hidden = picked.length === 0;
    if (picked.length === 0) return;
    const n = picked.reduce((sum, v) => sum + v.count, 0);
    const unseen = picked.filter((v) => !v.wasSeen);
    const over = n > ITEMS_MAX;
    const awake = this.app.live && unseen.length === 0 && !over && picked.every((v) => v.asleep === '' && !v.busy);
    const others = [...this.rows.values()].filter((v) => v.batchable && !v.selected && v.wasSeen);
    put(this.batchBar,
      el('p', { class: 'line', role: 'status' }, over ? t('too_many', { max: ITEMS_MAX }) : unseen.length ? t('unseen', { n: unseen.length }) : t('picked', { n }),
        unseen.length ? el('button', { class: 'plain', type: 'button', testid: 'show-unseen', text: t('show_next'), on: { click: () => unseen[0]?.node.scrollIntoView({ block: 'center' }) } }) : null,
        others.length ? el('button', { class: 'plain', type: 'button', testid: 'select-all', text: t('select_all', { n: others.length }), on: { click: () => others.forEach((v) => this.select(v)) } }) : null),
      el('div', { class: 'buttons' },
        el('button', { class: 'deny', type: 'button', testid: 'deny-many', text: t('deny_n', { n }), disabled: !this.app.online, on: { click: () => this.deny(picked) } }),
        el('button', { class: 'approve', type: 'button', testid: 'approve-many', text: t('approve_n', { n }), disabled: !awake, on: { click: () => void this.approve(picked) } })));
  }

  // --- deeds

  /** @param {readonly RowView[]} views */
  async approve(views) {
    if (views.some((v) => v.busy || v.asleep !== '') || (views.length > 1 && views.some((v) => !v.wasSeen))) return;
    const picked = views.map((v) => ({ row: v.row, choice: v.choice }));
    const n = views.reduce((sum, v) => sum + v.count, 0);
    const [first] = views;
    await this.during(views, n === 1 && first ? t('sealing_one', { act: summary(first.row) }) : t('sealing_n', { n }), async (onPayload) => {
      const undoMs = this.app.snap?.undo_ms ?? 5000;
      const { batch, warnings } = await approveRows({ picked, undoMs, now: Date.now(), onPayload });
      this.mine.set(batch, warnings.filter((w) => !SAID_ANYWAY.test(w)));
      if (quorumOf(picked) > 1) this.app.say(t('collecting_now'));
    });
  }

  /** @param {readonly RowView[]} views */
  deny(views) {
    const [first] = views;
    if (!first || views.some((v) => v.busy)) return;
    const n = views.reduce((sum, v) => sum + v.count, 0);
    denySheet({
      title: n === 1 ? t('deny_title', { act: summary(first.row) }) : t('deny_title_n', { n }),
      onDeny: (channel, reason, life) => {
        const now = Date.now();
        const picked = views.map((v) => ({ row: v.row, choice: '' }));
        void this.during(views, t('sealing_deny', { n }), async (onPayload) => {
          const of = { picked, channel, reason, now, onPayload };
          await denyRows(channel === 'security' ? { ...of, expires: now + life } : of);
          this.app.say(t('denied_sent', { channel: t(`channel_${channel}`) }));
        });
      },
    });
  }

  /** @param {RowView} view */
  async signToo(view) {
    const id = view.row.batch;
    if (!id || view.busy || view.asleep !== '') return;
    try {
      const batch = await api.batch(id);
      const rows = [...this.rows.values()].filter((v) => !v.outcome).map((v) => v.row);
      const { picked } = await checkBatch(batch, rows);
      const views = picked.map((p) => this.rows.get(p.row.id)).filter((v) => v !== undefined);
      if (views.some((v) => v.fold.folds && !v.opened) || (views.length > 1 && views.some((v) => !v.wasSeen))) throw new SealError('batch_unread');
      if (views.length > 1 && !(await this.confirmBatch(batch, views))) return;
      await this.during(views, t('sealing_n', { n: batch.entries.length }), async (onPayload) => {
        await signToo({ batch, rows: views.map((v) => v.row), now: Date.now(), onPayload });
        this.mine.set(batch.id, []);
      });
    } catch (e) {
      this.app.fail(e);
    }
  }

  /** A batch seals more than the row that was tapped: says so first. @param {import('./api.js').Batch} batch @param {readonly RowView[]} views @returns {Promise<boolean>} */
  confirmBatch(batch, views) {
    return new Promise((resolve) => {
      let yes = false;
      const go = el('button', { class: 'approve solid', type: 'button', testid: 'sign-too-confirm', text: t('approve_n', { n: batch.entries.length }) });
      const dialog = sheet({
        title: t('sign_too_batch', { n: batch.entries.length, by: batch.signers.map((s) => plain(s)).join(', ') }), testid: 'sign-too-sheet',
        body: [el('ol', { class: 'acts' }, ...views.map((v) => el('li', {}, this.app.exact(summary(v.row))))), el('div', { class: 'buttons' }, el('button', { class: 'plain', type: 'button', text: t('back'), on: { click: () => dialog.close() } }), go)],
        onClose: () => resolve(yes),
      });
      go.addEventListener('click', () => {
        yes = true;
        dialog.close();
      });
    });
  }

  /**
   * Runs a deed on rows: one at a time, with what is signed on the screen, and its error in words.
   * @param {readonly RowView[]} views @param {string} title @param {(onPayload: import('./deeds.js').Shown) => Promise<void>} deed
   */
  async during(views, title, deed) {
    if (this.app.busy) return;
    this.app.busy = true;
    this.app.calm();
    for (const v of views) v.busy = true;
    this.wakeAll();
    this.sealing.show(title, null);
    try {
      await deed((payload) => this.sealing.show(title, payload));
      for (const v of views) v.selected = false;
    } catch (e) {
      this.app.fail(e);
    } finally {
      this.sealing.hide();
      this.app.busy = false;
      for (const v of views) v.busy = false;
      await this.app.refresh();
      for (const v of views) v.guard();
      this.wakeAll();
    }
  }

  /** @param {string|undefined} id */
  async undo(id) {
    if (!id) return;
    try {
      await undo(id);
      this.undoBar.end(id, t('undone'), 'careful');
    } catch (e) {
      this.app.fail(e);
    }
    await this.app.refresh();
  }

  // --- moving about

  /** @param {RowView} view */
  open(view) {
    this.cursor = this.cursor === view.row.id && this.detail.hasAttribute('data-open') ? null : view.row.id;
    this.detail.toggleAttribute('data-open', this.cursor !== null);
    this.drawDetail();
    if (this.cursor) this.detail.querySelector('h2')?.focus();
  }

  close() {
    this.detail.removeAttribute('data-open');
    const view = this.cursor ? this.rows.get(this.cursor) : null;
    this.guardAll();
    view?.node.focus();
  }

  drawDetail() {
    if (!this.cursor || !this.rows.has(this.cursor)) this.cursor = this.waiting[0]?.row.id ?? null;
    const view = this.cursor ? this.rows.get(this.cursor) : undefined;
    for (const v of this.rows.values()) v.node.toggleAttribute('data-cursor', v === view);
    if (!view) {
      this.detail.removeAttribute('data-open');
      put(this.detail);
      return;
    }
    // Drawn again only when there is something new: the raw text may be long, and somebody may be reading it.
    if (this.drawn[0] === view.row && this.drawn[1] === view.hashes && this.detail.hasChildNodes()) return;
    this.drawn = [view.row, view.hashes];
    detailView(this.detail, view, this.app, () => this.close());
  }

  /** @param {number} step @returns {boolean} */
  move(step) {
    const ids = [...this.rows.keys()];
    const at = this.cursor ? ids.indexOf(this.cursor) : -1;
    const next = ids[Math.min(ids.length - 1, Math.max(0, at + step))];
    if (!next || next === this.cursor) return false;
    this.cursor = next;
    this.drawDetail();
    const view = this.rows.get(next);
    view?.node.focus({ preventScroll: true });
    view?.node.scrollIntoView({ block: 'nearest' });
    view?.guard();
    return true;
  }

  /** @param {KeyboardEvent} e */
  key(e) {
    const view = this.cursor ? this.rows.get(this.cursor) : undefined;
    /** Only what is in sight may be pressed by a key. @param {string} sel */
    const press = (sel) => {
      const button = /** @type {HTMLButtonElement|null} */ (view?.footer.querySelector(sel));
      if (!view || !button) return;
      const { top, bottom } = button.getBoundingClientRect();
      if (top >= 0 && bottom <= window.innerHeight) {
        button.click();
        return;
      }
      view.node.scrollIntoView({ block: 'nearest' });
      view.guard();
    };
    switch (e.key) {
      case 'j':
      case 'ArrowDown':
        return this.move(1);
      case 'k':
      case 'ArrowUp':
        return this.move(-1);
      case 'x':
        if (view) this.select(view);
        return true;
      case 'a': {
        const many = /** @type {HTMLButtonElement|null} */ (this.batchBar.hidden ? null : this.batchBar.querySelector('.approve'));
        if (many) many.click();
        else press('.approve');
        return true;
      }
      case 'd':
        press('.deny');
        return true;
      case 'u':
        void this.undo(this.undoBar.newest());
        return true;
      case 'Enter':
        if (view && document.activeElement === view.node) {
          view.open();
          this.open(view);
          return true;
        }
        return false;
      case 'Escape':
        if (!this.detail.hasAttribute('data-open')) return false;
        this.close();
        return true;
      case '?':
        helpSheet();
        return true;
      default:
        return false;
    }
  }
}

/** @param {string} status @param {readonly Line[]} events */
export function outcomeWords(status, events) {
  const last = [...events].reverse().find((l) => l.event.kind === status || l.event.kind === 'approved' || l.event.kind === 'rule');
  const labels = last?.event['labels'];
  const by = plain(Array.isArray(labels) ? labels.join(', ') : String(last?.event['label'] ?? ''));
  switch (status) {
    case 'allowed':
      return t('out_allowed', { by: by || approvers(events) });
    case 'denied':
      return t('out_denied', { by });
    case 'expired':
      return t('out_expired');
    case 'cancelled':
      return t('out_cancelled');
    case 'superseded':
      return t('out_superseded');
    default:
      return t('out_gone');
  }
}

/** @param {readonly Line[]} events */
function approvers(events) {
  const approved = [...events].reverse().find((l) => l.event.kind === 'approved');
  const labels = approved?.event['labels'];
  return Array.isArray(labels) ? plain(labels.join(', ')) : '';
}

