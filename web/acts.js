// What an item does, by kind and tool: a command with its parts, an edit as a diff, a write with its length, an MCP call as a table.
// `actOf` is pure and leaves out nothing: every member of a tool input is in some block; `drawBlock` makes DOM of a block.
// Not here: warnings (warn.js), rows and buttons (row.js).

import { el } from './dom.js';
import { fromB64 } from './item.js';
import { parse, text as member } from './json.js';
import { cut, drawSegment, exact, paint, scan, sizeOf } from './show.js';
import { t } from './words.js';

/** @typedef {import('./api.js').Row} Row */
/** @typedef {import('./json.js').JNode} JNode */
/** @typedef {import('./json.js').JMember} JMember */

/**
 * @typedef {{type:'head', text:string}} Head           the one thing that matters, big
 * @typedef {{type:'shell', text:string}} Shell         a command
 * @typedef {{type:'text', label:string, text:string}} Text   a longer text, such as what a file will hold
 * @typedef {{type:'diff', before:string, after:string}} Diff
 * @typedef {{type:'patch', text:string}} Patch         a diff as git wrote it
 * @typedef {{type:'table', members:JMember[]}} Table
 * @typedef {{type:'question', text:string}} Question
 * @typedef {Head|Shell|Text|Diff|Patch|Table|Question} Block
 * @typedef {{caption:string, blocks:Block[], words:{label:string, text:string}[], where:string}} Act  `words` are the agent's own
 */

/** Up to this many lines (long lines count as several) an act stands open. */
const FOLD_LINES = 24;
/** A line of a phone holds about this many characters. */
const LINE_CHARS = 42;

const SHELLS = new Set(['Bash', 'PowerShell', 'exec', 'shell', 'run_shell_command']);
/** The member that says most, for tools that only name something. */
const HEADS = Object.freeze(['file_path', 'notebook_path', 'path', 'url', 'query', 'pattern', 'skill', 'server', 'name']);

/** @param {Row} row @returns {Act} */
export function actOf(row) {
  const { item } = row;
  const get = (/** @type {string} */ name) => item[name] ?? '';
  switch (row.kind) {
    case 'ask':
      return toolAct(get('tool'), get('input'), get('cwd'));
    case 'call':
      return toolAct(get('tool'), get('arguments'), '');
    case 'command':
      return { caption: get('task') || t('kind_command'), blocks: [{ type: 'shell', text: get('command') }], words: words(row), where: get('directory') };
    case 'decision':
      return { caption: t('kind_decision'), blocks: [{ type: 'question', text: get('question') }], words: words(row), where: '' };
    case 'review':
      return reviewAct(row);
    default:
      return { caption: row.kind, blocks: Object.entries(item ?? {}).map(([label, v]) => ({ type: 'text', label, text: String(v) })), words: [], where: '' };
  }
}

/** @param {Row} row */
function words(row) {
  /** @type {{label:string, text:string}[]} */
  const out = [];
  for (const name of /** @type {const} */ (['title', 'summary', 'details'])) {
    const text = row[name];
    if (text) out.push({ label: name, text });
  }
  return out;
}

/** @param {string} tool @param {string} input @param {string} cwd @returns {Act} */
function toolAct(tool, input, cwd) {
  /** @type {JNode} */
  let node;
  try {
    node = parse(input).node;
  } catch {
    return { caption: tool, blocks: [{ type: 'text', label: t('raw'), text: input }], words: [], where: cwd };
  }
  if (node.t !== 'object') return { caption: tool, blocks: [{ type: 'table', members: [{ key: '', raw: '', value: node }] }], words: [], where: cwd };
  const left = new Map(node.members.map((m) => [m, m]));
  /** @param {string} name */
  const take = (name) => {
    const value = member(node, name);
    if (value === undefined) return undefined;
    for (const m of left.keys()) if (m.key === name) left.delete(m);
    return value;
  };
  /** @type {Block[]} */
  const blocks = [];
  /** @type {{label:string, text:string}[]} */
  const said = [];
  if (SHELLS.has(tool)) {
    const command = take('command');
    if (command !== undefined) blocks.push({ type: 'shell', text: command });
    const description = take('description');
    if (description !== undefined) said.push({ label: 'description', text: description });
  } else if (tool === 'Edit' && member(node, 'old_string') !== undefined && member(node, 'new_string') !== undefined) {
    blocks.push({ type: 'head', text: take('file_path') ?? '' });
    blocks.push({ type: 'diff', before: take('old_string') ?? '', after: take('new_string') ?? '' });
  } else if (tool === 'Write' && member(node, 'content') !== undefined) {
    blocks.push({ type: 'head', text: take('file_path') ?? '' });
    blocks.push({ type: 'text', label: t('content'), text: take('content') ?? '' });
  } else if (!tool.startsWith('mcp__')) {
    const name = HEADS.find((n) => member(node, n));
    if (name) blocks.push({ type: 'head', text: take(name) ?? '' });
    // Long texts (a plan, a prompt, a notebook cell) read badly in a table.
    for (const m of [...left.keys()]) {
      if (m.value.t === 'string' && (m.value.value.includes('\n') || m.value.value.length > 120)) {
        blocks.push({ type: 'text', label: m.key, text: m.value.value });
        left.delete(m);
      }
    }
  }
  const rest = [...left.keys()];
  if (rest.length || blocks.length === 0) blocks.push({ type: 'table', members: rest });
  return { caption: tool, blocks, words: said, where: cwd };
}

/** `mcp__server__tool` as its two names, or null. @param {string} tool */
export function mcpNames(tool) {
  const found = /^mcp__(.+?)__(.+)$/s.exec(tool);
  return found ? { server: found[1] ?? '', tool: found[2] ?? '' } : null;
}

/** @param {Row} row @returns {Act} */
function reviewAct(row) {
  const bytes = row.diff_text ? fromB64(row.diff_text) : null;
  const patch = bytes ? new TextDecoder().decode(bytes) : '';
  /** @type {Block[]} */
  const blocks = [{ type: 'head', text: row.item['branch'] ?? '' }];
  if (patch) blocks.push({ type: 'patch', text: patch });
  const said = words(row);
  if (row.page) said.push({ label: 'page', text: row.page });
  return { caption: t('kind_review'), blocks, words: said, where: row.item['repository'] ?? '' };
}

/** Every text in an act, for findings: what it holds is all that is shown. @param {Act} act @returns {string[]} */
export function textsOf(act) {
  return act.blocks.flatMap((b) => {
    switch (b.type) {
      case 'diff':
        return [b.before, b.after];
      case 'table':
        return b.members.flatMap((m) => [m.key, ...leaves(m.value)]);
      default:
        return [b.text];
    }
  });
}

/** @param {JNode} node @returns {string[]} */
export function leaves(node) {
  switch (node.t) {
    case 'string':
      return [node.value];
    case 'number':
    case 'word':
      return [node.raw];
    case 'array':
      return node.items.flatMap(leaves);
    case 'object':
      return node.members.flatMap((m) => [m.key, ...leaves(m.value)]);
  }
}

/** How tall a text is on a phone. @param {string} text */
function height(text) {
  return text.split('\n').reduce((n, line) => n + Math.max(1, Math.ceil(line.length / LINE_CHARS)), 0);
}

/**
 * Whether an act is too tall to be taken in at a glance, and how long its long part is.
 * @param {Act} act @returns {{folds: boolean, lines: number, chars: number}}
 */
export function foldOf(act) {
  const tall = act.blocks.reduce((n, block) => n + blockHeight(block), 0);
  const long = act.blocks.filter((block) => block.type !== 'head');
  const sizes = textsOf({ ...act, blocks: long.length ? long : act.blocks }).map(sizeOf);
  return { folds: tall > FOLD_LINES, lines: sizes.reduce((n, s) => n + s.lines, 0), chars: sizes.reduce((n, s) => n + s.chars, 0) };
}

/** @param {Block} block @returns {number} lines on a phone, about */
function blockHeight(block) {
  switch (block.type) {
    case 'diff':
      return height(block.before) + height(block.after);
    case 'table':
      return block.members.reduce((n, m) => n + Math.max(height(m.key), nodeHeight(m.value)), 0);
    case 'shell':
      return Math.max(height(block.text), shellParts(block.text).length);
    default:
      return height(block.text);
  }
}

/** @param {JNode} node @returns {number} */
function nodeHeight(node) {
  switch (node.t) {
    // A value has about half of the width.
    case 'string':
      return node.value.split('\n').reduce((n, line) => n + Math.max(1, Math.ceil((2 * line.length) / LINE_CHARS)), 0);
    case 'number':
    case 'word':
      return Math.max(1, Math.ceil((2 * node.raw.length) / LINE_CHARS));
    case 'array':
      return Math.max(1, node.items.reduce((n, item) => n + nodeHeight(item), 0));
    case 'object':
      return Math.max(1, node.members.reduce((n, m) => n + Math.max(height(m.key), nodeHeight(m.value)), 0));
  }
}

/** The first screen of a text. @param {string} text @param {number} lines */
function firstScreen(text, lines) {
  let used = 0;
  let at = 0;
  while (at < text.length && used < lines) {
    const end = text.indexOf('\n', at);
    const stop = end < 0 ? text.length : end;
    const fits = (lines - used) * LINE_CHARS;
    if (stop - at > fits) {
      at += fits;
      break;
    }
    used += Math.max(1, Math.ceil((stop - at) / LINE_CHARS));
    at = end < 0 ? text.length : end + 1;
  }
  // Never between the halves of one character.
  if (at < text.length && /[\uDC00-\uDFFF]/.test(text[at] ?? '') && /[\uD800-\uDBFF]/.test(text[at - 1] ?? '')) at -= 1;
  return text.slice(0, at);
}

/**
 * A block as DOM. `open` draws all of it; otherwise only its first screen, and the row keeps Approve asleep.
 * @param {Block} block @param {boolean} open @returns {HTMLElement}
 */
export function drawBlock(block, open) {
  /** @param {string} text @param {number} lines */
  const part = (text, lines) => (open ? text : firstScreen(text, lines));
  switch (block.type) {
    case 'head':
      return el('pre', { class: 'act head exact' }, paint(part(block.text, 6)));
    case 'question':
      return el('p', { class: 'act question exact' }, paint(part(block.text, 10), 'prose'));
    case 'shell':
      return drawShell(part(block.text, 10));
    case 'text':
      return el('figure', { class: 'block' }, el('figcaption', {}, exact(block.label), ' · ', t('size', sizeOf(block.text))), el('pre', { class: 'act body exact' }, paint(part(block.text, 8))));
    case 'diff':
      return drawDiff(part(block.before, 6), part(block.after, 6));
    case 'patch':
      return el('figure', { class: 'block' }, el('figcaption', { text: t('files_changed', { n: filesIn(block.text) }) }), drawPatch(part(block.text, 12)));
    case 'table':
      return drawTable(block.members, open);
  }
}

/** @param {string} patch */
function filesIn(patch) {
  return (patch.match(/^diff --git /gm) ?? []).length;
}

/** @param {readonly JMember[]} members @param {boolean} open */
function drawTable(members, open) {
  if (members.length === 0) return el('p', { class: 'quiet', text: t('no_arguments') });
  const body = el('dl', { class: 'members' });
  for (const m of open ? members : members.slice(0, 12)) {
    body.append(el('dt', {}, m.key === '' ? '' : exact(m.key)), el('dd', {}, drawNode(m.value, open)));
  }
  return body;
}

/** @param {JNode} node @param {boolean} open @returns {Node} */
function drawNode(node, open) {
  switch (node.t) {
    case 'string':
      return el('pre', { class: 'value exact' }, node.value === '' ? el('span', { class: 'quiet', text: t('empty_text') }) : paint(open ? node.value : firstScreen(node.value, 8)));
    case 'number':
    case 'word':
      return el('pre', { class: 'value exact word', text: node.raw });
    case 'array':
      if (node.items.length === 0) return el('pre', { class: 'value exact word', text: '[]' });
      return el('ol', { class: 'items', start: 0 }, ...(open ? node.items : node.items.slice(0, 8)).map((n) => el('li', {}, drawNode(n, open))));
    case 'object':
      if (node.members.length === 0) return el('pre', { class: 'value exact word', text: '{}' });
      return drawTable(node.members, open);
  }
}

/**
 * A command cut where a shell would go on to the next command. For reading only: the executor's own lexer decides.
 * The parts add up to the text.
 * @param {string} text @returns {string[]}
 */
export function shellParts(text) {
  /** @type {string[]} */
  const parts = [];
  let start = 0;
  let quote = '';
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i];
    if (c === '\\' && quote !== "'") {
      i += 1;
    } else if (quote) {
      if (c === quote) quote = '';
    } else if (c === "'" || c === '"') {
      quote = c;
    } else if (c === ';' || c === '|' || (c === '&' && text[i - 1] !== '>' && text[i - 1] !== '<' && text[i + 1] !== '>')) {
      if (text.slice(start, i).trim() !== '') {
        parts.push(text.slice(start, i));
        start = i;
      }
      if (text[i + 1] === c || text[i + 1] === '&') i += 1;
    } else if (c === '\n') {
      parts.push(text.slice(start, i + 1));
      start = i + 1;
    }
  }
  if (start < text.length) parts.push(text.slice(start));
  return parts;
}

// Words that destroy, escalate, send out or run something unseen. Marked for the eye; judged by nobody but the person.
const RISKY = new RegExp([
  '(?<=^|[\\s;|&(`])(?:rm|rmdir|shred|dd|mkfs(?:\\.\\w+)?|sudo|doas|su|chmod|chown|chattr|kill|pkill|killall|shutdown|reboot|eval|exec|source|nohup|crontab|systemctl|iptables|mount|umount|ssh|scp|rsync|nc|ncat|telnet|curl|wget|sh|bash|zsh|dash|python3?|perl|ruby|node|osascript|truncate|tee)(?=$|[\\s;|&)`])',
  '(?<=\\s)(?:-[a-zA-Z]*[rR]?f[a-zA-Z]*(?=\\s)|--force(?:-with-lease)?|--hard|--no-verify|--delete|--recursive|--privileged|--no-preserve-root|-exec)(?=$|[\\s;|&)=])',
  '\\b(?:push|reset|clean|publish|prune|destroy|drop|truncate|delete)\\b',
  '\\$\\(|`|>>?(?!&)|<\\(',
].join('|'), 'gi');

/** The risky words of a command, as [from, to]. @param {string} text @returns {[number, number][]} */
export function riskyWords(text) {
  return [...text.matchAll(RISKY)].map((m) => [m.index, m.index + m[0].length]);
}

/** @param {string} text */
function drawShell(text) {
  const pre = el('pre', { class: 'act shell exact' });
  const parts = shellParts(text);
  const starts = new Set();
  let at = 0;
  for (const part of parts) {
    starts.add(at);
    at += part.length;
  }
  const risky = riskyWords(text);
  const places = [...starts, ...risky.flat()].sort((a, b) => a - b);
  let line = el('span', { class: 'part' });
  for (const segment of cut(scan(text), places)) {
    if (starts.has(segment.at) && line.hasChildNodes()) {
      pre.append(line);
      line = el('span', { class: 'part' });
    }
    // A real line break at the end of a part is marked, because each part stands on a line of its own anyway.
    const ends = parts.length > 1 && segment.mark === '' && segment.s.endsWith('\n') && starts.has(segment.at + segment.s.length);
    const node = drawSegment(ends ? { ...segment, show: segment.show.slice(0, -1) } : segment);
    if (risky.some(([from, to]) => segment.at >= from && segment.at < to)) line.append(el('span', { class: 'risky' }, node));
    else line.append(node);
    if (ends) line.append(el('span', { class: 'mark space', text: '↵' }));
  }
  pre.append(line);
  return pre;
}

/**
 * Lines of a change: kept, taken away, added. All of them, in order.
 * @param {string} before @param {string} after @returns {{sign:' '|'-'|'+', text:string}[]}
 */
export function diffLines(before, after) {
  const a = before.split('\n');
  const b = after.split('\n');
  // Over this many pairs a table of common lines is too slow; then the whole old text stands before the whole new one.
  if (a.length * b.length > 1_000_000) {
    return [...a.map((text) => ({ sign: /** @type {const} */ ('-'), text })), ...b.map((text) => ({ sign: /** @type {const} */ ('+'), text }))];
  }
  const w = b.length + 1;
  const common = new Uint16Array((a.length + 1) * w);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      common[i * w + j] = a[i] === b[j] ? (common[(i + 1) * w + j + 1] ?? 0) + 1 : Math.max(common[(i + 1) * w + j] ?? 0, common[i * w + j + 1] ?? 0);
    }
  }
  /** @type {{sign:' '|'-'|'+', text:string}[]} */
  const out = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ sign: ' ', text: a[i] ?? '' });
      i += 1;
      j += 1;
    } else if (i < a.length && (j >= b.length || (common[(i + 1) * w + j] ?? 0) >= (common[i * w + j + 1] ?? 0))) {
      out.push({ sign: '-', text: a[i] ?? '' });
      i += 1;
    } else {
      out.push({ sign: '+', text: b[j] ?? '' });
      j += 1;
    }
  }
  return out;
}

/** @param {string} before @param {string} after */
function drawDiff(before, after) {
  const lines = after === '' && before !== '' ? before.split('\n').map((text) => ({ sign: /** @type {const} */ ('-'), text }))
    : before === '' ? after.split('\n').map((text) => ({ sign: /** @type {const} */ ('+'), text })) : diffLines(before, after);
  return el('pre', { class: 'act diff exact' }, ...lines.map(({ sign, text }) => drawLine(sign, text)));
}

/** @param {' '|'-'|'+'|'@'} sign @param {string} text */
function drawLine(sign, text) {
  const cls = sign === '-' ? 'gone' : sign === '+' ? 'new' : sign === '@' ? 'hunk' : 'kept';
  const row = el('span', { class: `line ${cls}` }, el('span', { class: 'sign', text: sign === '-' ? '−' : sign === '@' ? ' ' : sign }), el('span', { class: 'of' }, paint(text)));
  return row;
}

/** @param {string} text */
function drawPatch(text) {
  return el('pre', { class: 'act diff exact' }, ...text.replace(/\n$/, '').split('\n').map((line) => {
    if (/^(?:\+\+\+|---|diff |index |@@|new file|deleted file|similarity|rename|Binary|GIT binary)/.test(line)) return drawLine('@', line);
    const sign = line[0] === '+' || line[0] === '-' ? line[0] : ' ';
    return drawLine(sign, line[0] === '+' || line[0] === '-' || line[0] === ' ' ? line.slice(1) : line);
  }));
}
