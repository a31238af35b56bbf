// One row of the inbox: who asks, what exactly, why, and the two buttons. Wakes Approve only when all of it could be seen.
// Not here: the list around it (inbox.js), what a tap does (deeds.js).
// Invariant: what is sealed is `this.row`, the frozen object that was drawn.

import { actOf, drawBlock, foldOf, mcpNames } from './acts.js';
import { el, flag, icon, put, riskShape } from './dom.js';
import { hashesOf, unsealable } from './item.js';
import { parse } from './json.js';
import { cut, drawSegment, exact, paint, plain, scan, sizeOf } from './show.js';
import { riskOf, warningsOf } from './warn.js';
import { ago, has, span, t } from './words.js';

/** @typedef {import('./api.js').Row} Row */
/** @typedef {import('./main.js').App} App */
/** @typedef {{approve(view: RowView): void, deny(view: RowView): void, signToo(view: RowView): void, select(view: RowView): void, open(view: RowView): void, changed(view: RowView): void, examined(view: RowView): void}} Taps */

/** After anything moved or appeared under a finger, buttons sleep this long. */
export const GUARD_MS = 500;
/** A label for ears and titles names the act; the row has all of it. */
const LABEL_CHARS = 80;

export class RowView {
  /** @param {Row} row frozen @param {App} app @param {Taps} taps */
  constructor(row, app, taps) {
    /** @type {Row} */
    this.row = row;
    /** @type {import('./acts.js').Act} */
    this.act = actOf(row);
    this.fold = foldOf(this.act);
    /** @type {import('./warn.js').Warning[]} */
    this.warnings = warningsOf(row);
    this.app = app;
    this.taps = taps;
    /** Why it cannot be sealed; null while that is being worked out. @type {string[]|null} */
    this.problems = null;
    /** @type {string[]} */
    this.hashes = [];
    this.opened = false;
    this.seen = { top: false, end: false };
    this.choice = '';
    this.selected = false;
    this.busy = false;
    /** What came of it, once the row has left the inbox. @type {{status: string, text: string}|null} */
    this.outcome = null;
    this.changedUnderUs = false;
    /** The raw text, when it is open. @type {HTMLElement|null} */
    this.rawShown = null;
    this.guardUntil = 0;
    this.focused = '';
    this.node = el('article', { class: 'row', testid: 'row', tabindex: -1, data: { id: row.id, kind: row.kind } });
    this.ends = { top: el('i', { class: 'edge' }), end: el('i', { class: 'edge' }) };
    this.footer = el('div', { class: 'deed' });
    this.age = el('time', { class: 'age' });
    this.draw();
    this.guard();
    void this.examine();
  }

  /** What is drawn and judged comes from one frozen object, worked out once. @param {Row} row */
  take(row) {
    this.row = row;
    this.act = actOf(row);
    this.fold = foldOf(this.act);
    this.warnings = warningsOf(row);
  }

  /** Works out whether it may be sealed, and its hashes. */
  async examine() {
    const { row } = this;
    const problems = await unsealable(row);
    const hashes = problems.length ? [] : await hashesOf(row, this.choice);
    if (row !== this.row) return;
    this.problems = problems;
    this.hashes = hashes;
    this.draw();
    this.taps.examined(this);
  }

  /** Takes over a newer state of the same id. @param {Row} row */
  update(row) {
    const before = this.row;
    const same = sameItem(before, row);
    if (same && !this.outcome && JSON.stringify({ ...before, item: null }) === JSON.stringify({ ...row, item: null })) return;
    if (!same) {
      // The hub says something else under the same id than a moment ago: start over, and say so.
      this.changedUnderUs = true;
      this.opened = false;
      this.seen = { top: false, end: false };
      this.selected = false;
      this.choice = '';
      this.rawShown = null;
    }
    this.take(row);
    this.outcome = null;
    const count = (before.also ?? []).length !== (row.also ?? []).length;
    if (!same || count) {
      this.problems = null;
      void this.examine();
    }
    if (!same || count || before.status !== row.status) this.guard();
    this.draw();
  }

  /** Buttons sleep for a moment: what was tapped was meant for something else. */
  guard() {
    this.guardUntil = performance.now() + GUARD_MS;
    this.wake();
    setTimeout(() => this.wake(), GUARD_MS + 5);
  }

  /** Whether all of it was on the screen. */
  get wasSeen() {
    const { fold } = this;
    return fold.folds ? this.opened : this.opened || (this.seen.top && this.seen.end);
  }

  get waits() {
    return this.row.status === 'pending' && !this.outcome;
  }

  /** Why Approve sleeps, as a key of the word list, or '' when it is awake. */
  get asleep() {
    if (this.problems === null) return 'wait';
    if (this.problems.length) return 'cannot';
    if (!this.app.live) return 'not_live';
    if (this.fold.folds && !this.opened) return 'read_first';
    if (this.row.kind === 'decision' && !this.choice) return 'choose_first';
    if (this.row.status === 'collecting' && this.app.signedHere(this.row.batch)) return 'signed';
    return '';
  }

  get batchable() {
    return this.waits && !this.row.human_only && this.row.kind !== 'decision' && this.problems?.length === 0;
  }

  get count() {
    return 1 + (this.row.also ?? []).length;
  }

  /** @param {{status: string, text: string}} outcome */
  leave(outcome) {
    this.outcome = outcome;
    this.selected = false;
    this.draw();
  }

  open() {
    if (this.opened) return;
    this.opened = true;
    this.guard();
    this.draw();
    this.taps.changed(this);
  }

  tick() {
    const { row } = this;
    const left = row.expires - this.app.now;
    const text = this.waits && left < 10 * 60_000 ? t('left', { span: span(left) }) : ago(row.created, this.app.now);
    if (this.age.textContent !== text) this.age.textContent = text;
    this.age.classList.toggle('soon', this.waits && left < 2 * 60_000);
  }

  draw() {
    const { row, act } = this;
    const warnings = this.changedUnderUs ? [{ level: /** @type {const} */ ('stop'), key: 'warn_changed' }, ...this.warnings] : this.warnings;
    const hadFocus = this.node.contains(document.activeElement);
    const risk = this.problems?.length ? 'stop' : riskOf(warnings, act);
    const status = this.outcome?.status ?? row.status;
    this.node.setAttribute('data-status', status);
    this.node.className = `row ${risk}${this.outcome ? ' left' : ''}`;
    this.node.setAttribute('aria-label', t('row_label', { agent: row.agent, act: summary(row) }));
    flag(this.selected, this.node, 'data-selected');
    put(this.node, this.ends.top, this.head(act, risk), this.band(warnings), this.body(act), this.where(act), this.words(act), this.ends.end, this.footer);
    if (this.rawShown) this.node.querySelector('.what')?.append(this.rawShown);
    this.tick();
    this.drawFooter();
    if (hadFocus && !this.node.contains(document.activeElement)) this.node.focus({ preventScroll: true });
  }

  /** @param {import('./acts.js').Act} act @param {'safe'|'careful'|'stop'} risk */
  head(act, risk) {
    const { row } = this;
    const folder = row.kind === 'review' ? (row.item['worktree'] ?? '') : act.where;
    const project = folder.split('/').filter(Boolean).at(-1) ?? '';
    return el('header', {},
      this.batchable
        ? el('label', { class: 'pick' }, el('input', { type: 'checkbox', testid: 'select', checked: this.selected, 'aria-label': t('select'), on: { change: () => this.taps.select(this) } }))
        : null,
      riskShape(risk, t(`risk_${risk}`)),
      el('span', { class: 'who' }, exact(row.agent || row.executor), project ? ' · ' : '', project ? exact(project, 'project') : null),
      this.age,
      el('button', { class: 'open', type: 'button', testid: 'open', 'aria-label': t('details'), on: { click: () => this.taps.open(this) } }, icon('right')));
  }

  /** @param {readonly import('./warn.js').Warning[]} warnings */
  band(warnings) {
    const lines = warnings.filter((w) => w.level !== 'note');
    /** @type {string[]} */
    const problems = this.problems ?? [];
    if (!lines.length && !problems.length) return null;
    const list = el('ul', { class: 'band' });
    for (const key of problems) list.append(el('li', { class: 'stop', testid: 'problem', data: { key } }, el('strong', { text: `${t('cannot_seal')} ` }), t(key)));
    for (const { level, key, params } of lines) list.append(el('li', { class: level, testid: 'warning', data: { key } }, params?.['why'] ? el('span', {}, t(key, { why: '' }), exact(String(params['why']), '', 'prose')) : t(key, params)));
    return list;
  }

  /** @param {import('./acts.js').Act} act */
  body(act) {
    const { fold } = this;
    const open = this.opened || !fold.folds;
    const mcp = mcpNames(act.caption);
    const box = el('div', { class: `what${open ? '' : ' folded'}` },
      el('p', { class: 'caption' }, mcp ? el('span', {}, exact(mcp.server), ' · ', exact(mcp.tool)) : exact(act.caption), this.rawButton()),
      ...act.blocks.map((block) => drawBlock(block, open)));
    const { row } = this;
    if (row.kind === 'decision') box.append(this.options());
    if (open) return box;
    return el('div', {}, box, el('button', {
      class: 'read-all', type: 'button', testid: 'read-all', text: fold.lines > 1 ? t('read_all_lines', { n: fold.lines }) : t('read_all_chars', { n: fold.chars }), on: { click: () => this.open() },
    }));
  }

  options() {
    const { row } = this;
    return el('div', { class: 'choices', role: 'radiogroup', 'aria-label': t('kind_decision') }, ...(row.options ?? []).map((option) => el('button', {
      class: `choice${this.choice === option ? ' on' : ''}`, type: 'button', role: 'radio', testid: 'choice', 'aria-checked': String(this.choice === option),
      on: {
        click: () => {
          this.choice = option;
          this.guard();
          void this.examine();
        },
      },
    }, exact(option, '', 'prose'), row.recommended === option ? el('span', { class: 'quiet', text: ` ${t('recommended')}` }) : null)));
  }

  rawButton() {
    const { row } = this;
    if (row.kind !== 'ask' && row.kind !== 'call') return null;
    const raw = row.item[row.kind === 'ask' ? 'input' : 'arguments'] ?? '';
    const button = el('button', { class: 'raw', type: 'button', testid: 'raw', text: t('raw'), 'aria-expanded': String(this.rawShown !== null) });
    button.addEventListener('click', () => {
      if (this.rawShown) {
        this.rawShown.remove();
        this.rawShown = null;
      } else {
        this.rawShown = rawText(raw);
        this.node.querySelector('.what')?.append(this.rawShown);
      }
      button.setAttribute('aria-expanded', String(this.rawShown !== null));
      this.guard();
      this.taps.changed(this);
    });
    return button;
  }

  /** @param {import('./acts.js').Act} act */
  where(act) {
    const { row } = this;
    const place = act.where ? el('span', {}, `${t('in')} `, exact(act.where)) : null;
    const notes = this.warnings.filter((w) => w.level === 'note');
    return el('div', { class: 'where' },
      el('p', {}, place, place ? ' · ' : null, exact(row.executor), row.host && !row.executor.endsWith(`@${row.host}`) ? el('span', {}, ' · ', exact(row.host)) : null),
      ...notes.map(({ key, params }) => el('p', { class: 'note', testid: 'warning', data: { key }, text: t(key, params) })));
  }

  /** @param {import('./acts.js').Act} act */
  words(act) {
    const { row } = this;
    const said = [...act.words, ...(row.why && act.words.every((w) => w.text !== row.why) ? [{ label: 'why', text: row.why }] : [])];
    const box = el('div', { class: 'said' });
    for (const { label, text } of said) {
      box.append(el('blockquote', { class: 'exact', 'aria-label': t('agent_words') }, el('span', { class: 'tag', text: has(`said_${label}`) ? t(`said_${label}`) : label }), ' “', paint(text, 'prose'), '”'));
    }
    if (row.opinion) box.append(el('p', { class: 'opinion' }, t('reviewer_says', { risk: row.opinion.risk }), ' ', exact(row.opinion.text, '', 'prose')));
    return box;
  }

  drawFooter() {
    const { row, footer } = this;
    if (this.outcome) {
      put(footer, el('p', { class: `outcome ${this.outcome.status}`, role: 'status', text: this.outcome.text }));
      return;
    }
    if (row.status === 'settling') {
      put(footer, el('p', { class: 'outcome settling', role: 'status', text: t('settling') }));
      return;
    }
    const collecting = row.status === 'collecting';
    const sleepy = el('p', { class: 'why-asleep', hidden: true });
    const approve = el('button', {
      class: 'approve', type: 'button', testid: collecting ? 'sign-too' : 'approve',
      text: collecting ? t('sign_too') : this.count > 1 ? t('approve_n', { n: this.count }) : t('approve'),
      'aria-label': collecting ? t('sign_too') : t('approve_label', { n: this.count, act: summary(row) }),
      on: { click: () => (collecting ? this.taps.signToo(this) : this.taps.approve(this)) },
    });
    const deny = el('button', {
      class: 'deny', type: 'button', testid: 'deny', text: t('deny'), 'aria-label': t('deny_label', { act: summary(row) }), on: { click: () => this.taps.deny(this) },
    });
    const signers = collecting ? this.app.signersOf(row.batch) : '';
    const need = row.quorum > 1 ? el('p', { class: 'quorum', testid: 'quorum', text: t('have_of', { have: row.have, need: row.quorum }) + (signers ? `: ${signers}` : '') }) : null;
    put(footer, need, sleepy, el('div', { class: 'buttons' }, deny, approve));
    this.wake();
  }

  /** Sets the buttons by how things stand now. */
  wake() {
    const guarded = performance.now() < this.guardUntil;
    const approve = /** @type {HTMLButtonElement|null} */ (this.footer.querySelector('.approve'));
    const deny = /** @type {HTMLButtonElement|null} */ (this.footer.querySelector('.deny'));
    const sleepy = /** @type {HTMLElement|null} */ (this.footer.querySelector('.why-asleep'));
    if (!approve || !deny || !sleepy) return;
    const why = this.asleep;
    // A button that sleeps loses the keyboard; it gets it back when it wakes.
    for (const button of [approve, deny]) if (document.activeElement === button) this.focused = button.className;
    approve.disabled = guarded || this.busy || why !== '';
    deny.disabled = guarded || this.busy || !this.app.online;
    if (this.focused && !guarded) {
      const button = [approve, deny].find((b) => b.className === this.focused && !b.disabled);
      if (button && (document.activeElement === document.body || document.activeElement === this.node)) button.focus({ preventScroll: true });
      this.focused = '';
    }
    flag(guarded && why === '', approve, 'data-guarded');
    flag(guarded && this.app.online, deny, 'data-guarded');
    sleepy.hidden = why === '' || why === 'wait';
    sleepy.textContent = why === '' || why === 'wait' ? '' : t(`asleep_${why}`);
  }
}

/** Whether two rows ask for the same, byte for byte. @param {Row} a @param {Row} b */
function sameItem(a, b) {
  const names = Object.keys(a.item ?? {});
  return a.kind === b.kind && names.length === Object.keys(b.item ?? {}).length && names.every((name) => a.item[name] === b.item[name]);
}

/** One line that names what is asked, for labels and titles. @param {Row} row */
export function summary(row) {
  const act = actOf(row);
  const first = act.blocks[0];
  const text = first && 'text' in first ? first.text : act.caption;
  const [line = ''] = text.split('\n');
  const shown = plain(line, 'act');
  return shown.length > LABEL_CHARS ? `${shown.slice(0, LABEL_CHARS)}…` : shown;
}

/**
 * The exact text as it will be hashed, with every place marked where it differs from its plain encoding.
 * @param {string} raw
 */
export function rawText(raw) {
  const pre = el('pre', { class: 'act body exact' });
  /** @type {import('./json.js').Difference[]} */
  let differences = [];
  try {
    differences = parse(raw).differences;
  } catch {
    // Said by the band: not JSON.
  }
  const odd = differences.filter((x) => x.why !== 'spacing');
  const places = odd.flatMap((d) => [d.at, d.end]);
  let d = 0;
  for (const segment of cut(scan(raw), places)) {
    while (d < odd.length && (odd[d]?.end ?? 0) <= segment.at) d += 1;
    const now = odd[d];
    const node = drawSegment(segment);
    pre.append(now && segment.at >= now.at ? el('mark', { title: t(`differs_${now.why}`) }, node) : node);
  }
  const kinds = [...new Set(differences.map((d) => d.why))];
  return el('figure', { class: 'block rawtext' }, el('figcaption', { text: `${t('raw_exact')} · ${t('size', sizeOf(raw))}` }), pre,
    el('p', { class: 'quiet', text: kinds.length ? kinds.map((k) => t(`differs_${k}`)).join(' ') : t('differs_not') }));
}

