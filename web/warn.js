// What is odd about a row, in words: the warning band above an act, and how risky the row looks.
// Help for the eye only. What may run without a person is decided by `policy`, never here.

import { actOf, leaves, riskyWords, shellParts, textsOf } from './acts.js';
import { parse, text as member } from './json.js';
import { findings } from './show.js';

/** @typedef {import('./api.js').Row} Row */
/** @typedef {'stop'|'careful'|'note'} Level */
/** @typedef {{level: Level, key: string, params?: Record<string, unknown>}} Warning */

/** From this many on, the number of commands is said. */
const MANY_COMMANDS = 3;
/** A warning names this many code points. */
const NAMES_MAX = 4;

const PROTECTED = /(?:^|[\s"'=:/~])(\.git(?:\/|$|config|modules)|\.ssh|\.gnupg|\.aws|\.kube|\.docker|\.claude(?:\.json)?|\.codex|\.cursor|\.gemini|\.vscode|\.idea|\.husky|\.mcp\.json|\.npmrc|\.netrc|\.envrc?|\.bashrc|\.bash_profile|\.zshrc|\.zprofile|\.profile|\.config\/git|authorized_keys|id_(?:rsa|ed25519|ecdsa)|approvers\.json|executor\.toml|sealward|\/?etc\/(?:passwd|shadow|sudoers|ssh|cron))/i;

/** @param {Row} row @returns {Warning[]} the gravest first */
export function warningsOf(row) {
  /** @type {Warning[]} */
  const out = [];
  /** @param {Level} level @param {string} key @param {Record<string, unknown>} [params] */
  const say = (level, key, params) => out.push(params ? { level, key, params } : { level, key });

  if (row.human_only) say('stop', 'warn_human_only', { why: row.human_only });
  letters(row, say);
  const item = row.item ?? {};
  if (row.kind === 'ask' || row.kind === 'call') tool(row, item, say);
  if (row.kind === 'command') shell(item['command'] ?? '', item['directory'] ?? '', say);
  if (row.kind === 'review') {
    if (item['diff'] === '') say('stop', 'warn_tree_unseen');
    if (item['gate'] !== 'pass') say('stop', 'warn_gate');
  }
  if ((row.also ?? []).length > 0) say('note', 'warn_also', { n: (row.also ?? []).length + 1 });
  if (row.guard === 'user' && (row.kind === 'ask' || row.kind === 'call')) say('note', 'warn_cooperative');
  const order = { stop: 0, careful: 1, note: 2 };
  return out.sort((a, b) => order[a.level] - order[b.level]);
}

/**
 * What the shape at the head of a row says. A command with a marked word is never shown as harmless.
 * @param {readonly Warning[]} warnings @param {import('./acts.js').Act} act @returns {'safe'|'careful'|'stop'}
 */
export function riskOf(warnings, act) {
  if (warnings.some((w) => w.level === 'stop')) return 'stop';
  const marked = act.blocks.some((block) => block.type === 'shell' && riskyWords(block.text).length > 0);
  return marked || warnings.some((w) => w.level === 'careful') ? 'careful' : 'safe';
}

/** @typedef {(level: Level, key: string, params?: Record<string, unknown>) => void} Say */

/** @param {Row} row @param {Say} say */
function letters(row, say) {
  const act = actOf(row);
  const found = findings([...textsOf(act), act.caption, act.where, row.agent, row.executor]);
  const said = findings([row.why ?? '', ...act.words.map((w) => w.text)], 'prose');
  for (const what of /** @type {const} */ (['bidi', 'hidden', 'control', 'surrogate', 'alike'])) {
    const n = found[what] + said[what];
    const all = [...new Set([...found.names[what], ...said.names[what]])];
    // Which ones is told for some; every one is marked where it stands.
    if (n) say('stop', `warn_${what}`, { n, names: all.length > NAMES_MAX ? `${all.slice(0, NAMES_MAX).join(' ')} …` : all.join(' ') });
  }
  if (found.spaces) say('careful', 'warn_spaces');
  if (found.rtl) say('careful', 'warn_rtl');
}

/** @param {Row} row @param {Record<string,string>} item @param {Say} say */
function tool(row, item, say) {
  const raw = item[row.kind === 'ask' ? 'input' : 'arguments'] ?? '';
  let parsed;
  try {
    parsed = parse(raw);
  } catch {
    return;
  }
  const { node, differences, doubled } = parsed;
  if (doubled.length) say('stop', 'warn_doubled', { names: doubled.slice(0, 4).join(', ') });
  if (differences.some((d) => d.why === 'number')) say('careful', 'warn_number');
  if (differences.some((d) => d.why === 'escape')) say('note', 'warn_escape');
  const cwd = item['cwd'] ?? '';
  const command = member(node, 'command');
  if (command !== undefined) shell(command, cwd, say);
  else {
    const path = member(node, 'file_path') ?? member(node, 'notebook_path') ?? member(node, 'path');
    if (path !== undefined) {
      if (cwd && outside(path, cwd)) say('careful', 'warn_outside', { path: cwd });
      if (PROTECTED.test(path)) say('stop', 'warn_protected');
    } else if (leaves(node).some((text) => text.length < 4096 && PROTECTED.test(text))) say('careful', 'warn_protected');
  }
}

/** @param {string} path @param {string} cwd */
export function outside(path, cwd) {
  if (path.split(/[\\/]/).includes('..')) return true;
  if (path.startsWith('~')) return true;
  if (!path.startsWith('/')) return false;
  const base = cwd.endsWith('/') ? cwd : `${cwd}/`;
  return path !== cwd && !path.startsWith(base);
}

/** @param {string} command @param {string} cwd @param {Say} say */
function shell(command, cwd, say) {
  const parts = shellParts(command).filter((p) => p.replace(/^[;|&\s]+/, '').trim() !== '');
  if (/(?:curl|wget)\b[^|]*\|[^|]*\b(?:sh|bash|zsh|python3?|perl|ruby|node)\b/s.test(command)) say('stop', 'warn_download');
  if (/\b(?:sudo|doas|su)\b/.test(command)) say('stop', 'warn_root');
  if (/\brm\s+(?:-\w*[rR]|--recursive)|\bfind\b.*\s-delete\b/s.test(command)) say('stop', 'warn_deletes');
  if (/\bgit\s+push\b.*(?:\s-\w*f\b|--force)/s.test(command)) say('stop', 'warn_force_push');
  if (PROTECTED.test(command)) say('careful', 'warn_protected');
  if (parts.length >= MANY_COMMANDS) say('careful', 'warn_many', { n: parts.length });
  if (parts.some((p) => /^[;|&\s]*(?:(?:\S*\/)?(?:sh|bash|zsh|dash|python3?|node|ruby|perl)\s+(?!-)\S+|(?:source|\.)\s+\S+|\.{0,2}\/\S+|\S+\.(?:sh|py|rb|pl)(?:\s|$))/.test(p))) say('careful', 'warn_script');
  if (/\$\(|`|\$\{?\w|<\(/.test(command)) say('careful', 'warn_expands');
  const words = command.split(/[\s;|&<>'"=]+/);
  if (words.some((w) => w === '..' || w.startsWith('../') || w.startsWith('~') || (w.startsWith('/') && w.length > 1 && !/^\/(?:dev\/null|usr\/bin\/|bin\/)/.test(w) && outside(w, cwd)))) {
    say('careful', 'warn_outside', { path: cwd });
  }
}
