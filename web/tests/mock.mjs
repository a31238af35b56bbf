// A stand-in for the hub, for looking at the page and for trying it against lies: it serves web/ under the hub's CSP and answers
// the browser's routes from memory. It checks no signature: that is the real hub's and the executors' work.
// Not served with the page, not used by the hub's own tests.

import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

const WEB = fileURLToPath(new URL('..', import.meta.url));
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' };
export const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const FIELDS = {
  ask: ['id', 'executor', 'agent', 'session', 'tool', 'input', 'cwd'],
  call: ['id', 'executor', 'session', 'tool', 'arguments'],
  review: ['id', 'executor', 'repository', 'worktree', 'branch', 'tree', 'base', 'diff', 'gate'],
  decision: ['id', 'executor', 'question', 'choice'],
  command: ['id', 'executor', 'task', 'command', 'directory'],
};
const sha = (data) => createHash('sha256').update(data).digest('hex');

export function itemHash(kind, item) {
  const parts = [Buffer.from(`sealward/item/${kind}/v1\0`)];
  for (const field of FIELDS[kind]) {
    const bytes = Buffer.from(item[field]);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    parts.push(length, bytes);
  }
  return sha(Buffer.concat(parts));
}

const hex32 = () => randomBytes(16).toString('hex');

/** A waiting ask as the hub lists it. */
export function ask(tool, input, more = {}) {
  const { cwd = '/srv/api-server', agent = 'claude', executor = 'hook@laptop', session = 's-7f3a', id = `ask-${hex32()}`, age = 120_000, ...rest } = more;
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  return row('ask', { id, executor, agent, session, tool, input: text, cwd }, { agent, age, ...rest });
}

export function row(kind, item, { agent = 'claude', age = 60_000, ...rest } = {}) {
  const now = Date.now();
  return {
    kind, id: item.id, item, also: [], status: 'pending', agent, executor: item.executor, host: 'laptop', thread: null, guard: 'user', why: null,
    created: now - age, expires: now - age + 3_600_000, quorum: 1, have: 0, batch: null, human_only: null, task: null, runnable: kind === 'command',
    sha256: kind === 'command' ? sha(item.command) : '', job: null, ...rest,
  };
}

export function command(text, more = {}) {
  const { executor = 'runner@build-1', directory = '/srv/api-server', task = 'operator/deploy', ...rest } = more;
  return row('command', { id: `cmd-${hex32()}`, executor, task, command: text, directory }, { agent: 'operator', host: 'build-1', guard: 'system', task, ...rest });
}

export class Mock {
  constructor(rows = []) {
    this.rows = rows;
    this.batches = new Map();
    this.lines = [];
    this.prev = '0'.repeat(64);
    this.streams = new Set();
    this.closed = [];
    this.pins = [];
    this.paused = false;
    this.verified = true;
    this.undoMs = 5000;
    this.code = 'kB3vQm0c2pXyT7aLr9dWsg';
    this.proposed = null;
    this.autoPin = true;
    this.today = { allowed_by_you: 3, allowed_by_rule: 42, allowed_by_reviewer: 7, denied: 2, expired: 1 };
    this.messages = [];
    this.jobs = [];
    this.agents = [
      { name: 'claude', role: 'hook', executors: ['hook@laptop'], created: Date.now() - 86_400_000 * 9, seen: Date.now() - 40_000, revoked: false },
      { name: 'build-1', role: 'runner', executors: ['runner@build-1'], created: Date.now() - 86_400_000 * 30, seen: null, revoked: false },
    ];
    /** Rewrites answers: (method, path, answer) => answer. For lies. */
    this.lie = null;
    this.posted = [];
    this.open = true;
  }

  event(event) {
    const seq = this.lines.length + 1;
    const front = `{"seq":${seq},"at":${Date.now()},"prev":"${this.prev}","event":${JSON.stringify(event)}`;
    this.prev = sha(front);
    const line = `${front},"hash":"${this.prev}"}`;
    this.lines.push(line);
    for (const res of this.streams) res.write(`id: ${seq}\nevent: ${event.kind}\ndata: ${line}\n\n`);
  }

  add(...rows) {
    for (const r of rows) {
      this.rows.push(r);
      this.event({ kind: 'asked', id: r.id, item_kind: r.kind, agent: r.agent, executor: r.executor, session: 's', tool: r.item.tool ?? '' });
    }
  }

  find(id) {
    return this.rows.find((r) => r.id === id || r.also.includes(id));
  }

  async listen(port = 0) {
    this.server = createServer((req, res) => void this.serve(req, res).catch((e) => {
      res.writeHead(500).end(String(e));
    }));
    await new Promise((resolve) => {
      this.server.listen(port, '127.0.0.1', resolve);
    });
    this.port = this.server.address().port;
    this.origin = `http://localhost:${this.port}`;
    return this.origin;
  }

  async close() {
    for (const res of this.streams) res.destroy();
    this.server.closeAllConnections();
    await new Promise((resolve) => {
      this.server.close(resolve);
    });
  }

  async serve(req, res) {
    const url = new URL(req.url, this.origin);
    if (!this.open) {
      res.destroy();
      return;
    }
    if (!url.pathname.startsWith('/api/')) {
      const name = url.pathname === '/' ? 'index.html' : url.pathname.slice(1);
      if (!/^[a-z.]+\.(?:html|js|css)$/.test(name)) {
        res.writeHead(404).end();
        return;
      }
      const body = await readFile(WEB + name).catch(() => null);
      res.writeHead(body ? 200 : 404, { 'content-type': TYPES[name.split('.').at(-1)], 'content-security-policy': CSP, 'cache-control': 'no-store' }).end(body ?? '');
      return;
    }
    let text = '';
    for await (const chunk of req) text += chunk;
    const body = text ? JSON.parse(text) : {};
    if (req.method === 'POST') this.posted.push({ path: url.pathname, body });
    if (url.pathname === '/api/stream') {
      res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      res.write(': here\n\n');
      const since = Number(url.searchParams.get('since') ?? 0);
      for (const line of this.lines.slice(since)) res.write(`id: ${JSON.parse(line).seq}\nevent: x\ndata: ${line}\n\n`);
      this.streams.add(res);
      res.on('close', () => this.streams.delete(res));
      return;
    }
    let [status, answer] = this.route(req.method, url, body);
    if (this.lie) answer = this.lie(req.method, url.pathname, answer) ?? answer;
    if (url.pathname === '/api/events') {
      res.writeHead(200, { 'content-type': 'application/json' }).end(`{"events":[${answer.join(',')}]}`);
      return;
    }
    res.writeHead(status, { 'content-type': status < 400 ? 'application/json' : 'application/problem+json' }).end(status === 204 ? '' : JSON.stringify(answer));
  }

  problem(status, code, detail = '', more = {}) {
    return [status, { type: 'about:blank', title: code, status, code, detail, ...more }];
  }

  route(method, url, body) {
    const path = url.pathname;
    const now = Date.now();
    const match = (re) => re.exec(path);
    let m;
    if (path === '/api/login/start') return [200, { nonce: randomBytes(16).toString('base64url'), credentials: this.pins.filter((p) => !p.revoked).map((p) => ({ id: p.id, label: p.label })), rp_id: 'localhost', origin: this.origin, now }];
    if (path === '/api/login/finish') return [200, { token: 't'.repeat(32), label: this.pins.find((p) => p.id === body.signature.keyid)?.label ?? 'phone', person: null, expires: now + 3_600_000 }];
    if (path === '/api/enrol') {
      if (body.code !== this.code) return this.problem(410, 'gone');
      this.proposed = body.key;
      if (this.autoPin) this.pin(body.key);
      return [202, { fingerprint: print(body.key.spki), label: body.key.label }];
    }
    if (path === '/api/logout') return [204, null];
    if (path === '/api/sessions') return [200, { sessions: [{ id: 's1', label: 'phone', created: now - 3_600_000, seen: now - 1000, current: true }, { id: 's2', label: 'laptop', created: now - 86_400_000 * 2, seen: now - 7_200_000, current: false }] }];
    if (match(/^\/api\/sessions\/.+\/end$/)) return [204, null];
    if (path === '/api/me') return [200, { audience: 'browser', label: 'phone', person: 'ada', keyid: this.pins[0]?.id ?? '', hub: 'desk', origin: this.origin, rp_id: 'localhost', quorum: {}, undo_ms: this.undoMs, now }];
    if (path === '/api/snapshot') return [200, this.snapshot(now)];
    if (path === '/api/prepare') return this.prepare(body, now);
    if (path === '/api/proofs') return this.proofs(body, now);
    if ((m = match(/^\/api\/batches\/([^/]+)$/))) return this.batches.has(m[1]) ? [200, this.batches.get(m[1])] : this.problem(404, 'not_found');
    if ((m = match(/^\/api\/batches\/([^/]+)\/signatures$/))) {
      const batch = this.batches.get(m[1]);
      batch.have += 1;
      batch.signers.push('bob');
      this.settle(batch, now);
      return [202, batch];
    }
    if ((m = match(/^\/api\/batches\/([^/]+)\/undo$/))) {
      const batch = this.batches.get(m[1]);
      if (batch?.status !== 'settling') return this.problem(409, 'closed');
      batch.status = 'undone';
      for (const e of batch.entries) {
        const r = this.find(e.id);
        if (r) Object.assign(r, { status: 'pending', batch: null });
      }
      this.event({ kind: 'undone', batch: batch.id, ids: batch.entries.map((e) => e.id), label: 'phone' });
      return [200, batch];
    }
    if (path === '/api/events') {
      const since = Number(url.searchParams.get('since'));
      return [200, this.lines.slice(since, since + Number(url.searchParams.get('limit') ?? 50))];
    }
    if (path === '/api/pause' || path === '/api/resume') {
      this.paused = path === '/api/pause';
      this.event(this.paused ? { kind: 'paused', by: 'phone' } : { kind: 'resumed', label: 'phone' });
      return [200, { paused: this.paused }];
    }
    if (path === '/api/history') {
      const q = url.searchParams.get('q') ?? '';
      return [200, { entries: this.closed.filter((c) => JSON.stringify(c.item).includes(q)), next: null }];
    }
    if ((m = match(/^\/api\/items\/([^/]+)$/))) {
      const gone = this.closed.find((c) => c.id === m[1]);
      const r = this.find(m[1]) ?? (gone ? { ...row(gone.kind, gone.item, { agent: gone.agent }), status: gone.status } : null);
      const events = this.lines.map((l) => JSON.parse(l)).filter((l) => l.event.id === m[1] || l.event.ids?.includes(m[1]));
      return r ? [200, { row: r, events, ...(gone?.proof ? { proof: gone.proof } : {}) }] : this.problem(404, 'not_found');
    }
    return this.problem(404, 'not_found');
  }

  snapshot(now) {
    return {
      inbox: this.rows, next: null, total: this.rows.length, jobs: this.jobs, rules: [], delegations: [], batches: [...this.batches.values()].filter((b) => b.status === 'settling' || b.status === 'collecting'),
      agents: this.agents, messages: this.messages, head: { seq: this.lines.length, hash: this.prev, verified: this.verified }, hub: 'desk', paused: this.paused, undo_ms: this.undoMs, now,
      pins: this.pins.map((p) => ({ id: p.id, label: p.label, person: p.person ?? null, alg: p.alg, fingerprint: print(p.spki), since: p.since, revoked: Boolean(p.revoked) })), today: this.today,
    };
  }

  prepare(body, now) {
    const entries = body.entries ?? [];
    const stale = entries.filter((e) => !this.find(e.id)).map((e) => e.id);
    if (stale.length) return this.problem(409, 'stale', '', { stale });
    const covers = entries.map((e) => ({ kind: e.kind, id: e.id, hash: itemHash(e.kind, { ...this.find(e.id).item, id: e.id, ...(e.kind === 'decision' ? { choice: e.choice } : {}) }) }));
    return [200, { payload: {}, credentials: this.pins.filter((p) => !p.revoked).map((p) => p.id), rp_id: 'localhost', covers, warnings: [] }];
  }

  proofs({ proof, entries }, now) {
    const payload = JSON.parse(Buffer.from(proof.payload, 'base64url').toString());
    if (payload.verb === 'deny') {
      for (const e of entries) this.leave(e.id, 'denied', { channel: payload.channel, reason: payload.reason, proof });
      this.event({ kind: 'denied', ids: entries.map((e) => e.id), nonce: payload.nonce, channel: payload.channel, reason: payload.reason, label: 'phone' });
      if (payload.channel === 'security') this.messages.push({ seq: this.lines.length, nonce: payload.nonce, channel: 'security', reason: payload.reason, label: 'phone', expires: payload.expires });
      return [201, { id: payload.nonce }];
    }
    if (payload.verb === 'revoke') {
      for (const p of this.pins) if (p.id === payload.id) p.revoked = true;
      this.messages = this.messages.filter((x) => x.nonce !== payload.id);
      this.event({ kind: 'revoked', what: payload.what, id: payload.id, label: 'phone' });
      return [201, { id: payload.id }];
    }
    if (payload.verb === 'pin') {
      this.pin(payload.key);
      return [201, { id: payload.key.id }];
    }
    const need = Math.max(...entries.map((e) => this.find(e.id).quorum));
    const batch = { id: `batch-${hex32()}`, status: 'collecting', payload: proof.payload, proof, entries, have: 1, need, signers: ['phone'], created: now, settles: null, expires: payload.expires };
    this.batches.set(batch.id, batch);
    for (const e of entries) Object.assign(this.find(e.id), { status: 'collecting', have: 1, batch: batch.id });
    this.settle(batch, now);
    return [202, { batch: batch.id }];
  }

  settle(batch, now) {
    const ids = batch.entries.map((e) => e.id);
    if (batch.have < batch.need) {
      this.event({ kind: 'collecting', batch: batch.id, ids, label: 'phone' });
      return;
    }
    batch.status = 'settling';
    batch.settles = now + this.undoMs;
    for (const id of ids) Object.assign(this.find(id), { status: 'settling', batch: batch.id });
    this.event({ kind: 'approved', batch: batch.id, ids, labels: batch.signers, settles: batch.settles });
    setTimeout(() => {
      if (batch.status !== 'settling') return;
      batch.status = 'settled';
      for (const id of ids) this.leave(id, 'allowed', { proof: batch.proof });
      this.event({ kind: 'allowed', batch: batch.id, ids });
    }, this.undoMs).unref();
  }

  leave(id, status, more = {}) {
    const r = this.find(id);
    if (!r) return;
    this.rows = this.rows.filter((x) => x !== r);
    this.closed.unshift({ kind: r.kind, id: r.id, status, item: r.item, agent: r.agent, who: 'phone', channel: null, reason: null, created: r.created, closed: Date.now(), seq: this.lines.length, ...more });
  }

  pin(key) {
    this.pins.push({ ...key });
    this.event({ kind: 'pinned', key: key.id, executor: 'hub@desk', label: key.label });
  }
}

function print(spki) {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  let bits = '';
  for (const b of createHash('sha256').update(Buffer.from(spki, 'base64url')).digest()) bits += b.toString(2).padStart(8, '0');
  return Array.from({ length: 20 }, (_, i) => letters[Number.parseInt(bits.slice(i * 5, i * 5 + 5), 2)]).join('').replace(/(.{5})(?=.)/g, '$1-');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { everything } = await import('./examples.mjs');
  const mock = new Mock();
  mock.add(...everything());
  const origin = await mock.listen(Number(process.argv[2] ?? 8790));
  process.stdout.write(`${origin}/#enrol=${mock.code}\n`);
}
