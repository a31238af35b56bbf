// Takes screenshots of the page in its states, for people to look at: [SHOTS=phone-light,desk-dark] node tests/shots.mjs FOLDER [name…]
// Real Chromium, a virtual passkey, the mock hub. Also a smoke test: any exception or CSP violation on the page ends it with 1.

import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

import * as ex from './examples.mjs';
import { Mock } from './mock.mjs';

const [folder, ...only] = process.argv.slice(2);
if (!folder) throw new Error('name a folder');
mkdirSync(folder, { recursive: true });

const SIZES = [['phone', { width: 360, height: 780 }], ['desk', { width: 1280, height: 800 }]];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--headless', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
let failed = 0;

/** A page with a passkey, logged in. */
async function visit(mock, { size, scheme, locale = 'en-GB', door = false, full = false }) {
  const context = await browser.newContext({ viewport: size, colorScheme: scheme, locale, deviceScaleFactor: 2, reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.on('pageerror', (e) => {
    failed += 1;
    process.stderr.write(`page error: ${e.stack}\n`);
  });
  page.on('console', (m) => {
    if (m.type() === 'error' && !/ERR_|Failed to load resource/.test(m.text())) {
      failed += 1;
      process.stderr.write(`console: ${m.text()}\n`);
    }
  });
  const cdp = await context.newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', { options: { protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true } });
  await page.goto(`${mock.origin}/#enrol=${mock.code}`);
  await page.getByTestId('enrol-label').waitFor();
  if (!door) {
    await page.getByTestId('enrol-go').click();
    await page.getByTestId('tab-inbox').waitFor();
    await page.waitForFunction(() => document.querySelector('[data-testid=connection]')?.getAttribute('data-state') === 'online');
  }
  return { page, context, cdp, full };
}

const row = (page, r) => page.locator(`[data-testid=row][data-id=${r.id}]`);

/** name → (mock, visit) => page in the state to be shown */
const STATES = {
  async empty(mock, visit) {
    const { page } = await visit(mock);
    await page.getByTestId('empty').waitFor();
    return page;
  },
  async one(mock, visit) {
    mock.add(ex.deploy());
    const { page } = await visit(mock);
    await page.getByTestId('row').waitFor();
    await page.waitForTimeout(700);
    return page;
  },
  async many(mock, visit) {
    mock.add(ex.deploy(), ex.edit(), ex.mcp(), ex.shell(), ex.quorum(), ex.decision(), ex.review(), ex.fetch(), ex.twice());
    const { page } = await visit(mock);
    await page.getByTestId('row').nth(8).waitFor();
    await page.waitForTimeout(700);
    return page;
  },
  async long(mock, visit) {
    const page = await STATES.many(mock, visit);
    await page.evaluate(() => document.querySelector('.app').setAttribute('data-shot', ''));
    page.wholePage = true;
    return page;
  },
  async readme(mock, visit) {
    mock.add(ex.deploy(), ex.edit(), ex.mcp());
    const { page } = await visit(mock);
    await page.getByTestId('row').nth(2).waitFor();
    await page.waitForTimeout(700);
    return page;
  },
  async risky(mock, visit) {
    mock.add(ex.curl(), ex.deploy());
    const { page } = await visit(mock);
    await page.getByTestId('row').nth(1).waitFor();
    await page.waitForTimeout(700);
    return page;
  },
  async german(mock, visit) {
    mock.add(ex.deploy(), ex.curl());
    const { page } = await visit(mock, { locale: 'de-DE' });
    await page.getByTestId('row').nth(1).waitFor();
    await page.waitForTimeout(700);
    return page;
  },
  async hostile(mock, visit) {
    mock.add(ex.hostile(), ex.doubled(), ex.curl());
    const { page } = await visit(mock);
    await page.getByTestId('row').nth(2).waitFor();
    await page.waitForTimeout(700);
    return page;
  },
  async fold(mock, visit) {
    mock.add(ex.write(), ex.deploy());
    const { page } = await visit(mock);
    await page.getByTestId('read-all').waitFor();
    await page.waitForTimeout(700);
    return page;
  },
  async detail(mock, visit) {
    mock.add(ex.deploy(), ex.edit());
    const { page } = await visit(mock);
    await page.getByTestId('open').first().click();
    await page.waitForTimeout(300);
    return page;
  },
  async deny(mock, visit) {
    mock.add(ex.deploy(), ex.curl());
    const { page } = await visit(mock);
    await page.getByTestId('deny').first().click();
    await page.getByTestId('channel-broadcast').click();
    await page.getByTestId('reason').fill('Not on a Friday. Ask again on Monday.');
    return page;
  },
  async undo(mock, visit) {
    mock.undoMs = 60_000;
    const r = ex.deploy();
    mock.add(r, ex.edit());
    const { page } = await visit(mock);
    await row(page, r).getByTestId('approve').click();
    await page.getByTestId('undo').waitFor();
    await page.waitForTimeout(900);
    return page;
  },
  async released(mock, visit) {
    mock.undoMs = 300;
    const r = ex.deploy();
    mock.add(r, ex.edit());
    const { page } = await visit(mock);
    await row(page, r).getByTestId('approve').click();
    await page.locator(`[data-id=${r.id}][data-status=allowed]`).waitFor();
    await page.waitForTimeout(500);
    return page;
  },
  async batch(mock, visit) {
    const rows = [ex.deploy(), ex.fetch(), ex.twice()];
    mock.add(...rows);
    const { page } = await visit(mock);
    for (const r of rows) await row(page, r).getByTestId('select').check();
    await page.waitForTimeout(700);
    return page;
  },
  async quorum(mock, visit) {
    const r = ex.quorum();
    mock.add(r);
    const { page } = await visit(mock);
    await row(page, r).getByTestId('approve').click();
    await page.getByTestId('sign-too').waitFor();
    await page.waitForTimeout(700);
    return page;
  },
  async enrol(mock, visit) {
    const { page } = await visit(mock, { door: true });
    return page;
  },
  async fingerprint(mock, visit) {
    mock.autoPin = false;
    const { page } = await visit(mock, { door: true });
    await page.getByTestId('enrol-go').click();
    await page.getByTestId('fingerprint').waitFor();
    return page;
  },
  async login(mock, visit) {
    const { page } = await visit(mock);
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await page.getByTestId('login').waitFor();
    return page;
  },
  async history(mock, visit) {
    const rows = [ex.deploy(), ex.edit(), ex.mcp(), ex.fetch(), ex.shell()];
    mock.add(...rows);
    for (const [i, status] of ['allowed', 'allowed', 'denied', 'expired', 'superseded'].entries()) mock.leave(rows[i].id, status, status === 'denied' ? { channel: 'post', reason: 'Not now.' } : {});
    const { page } = await visit(mock);
    await page.getByTestId('tab-history').click();
    await page.getByTestId('entry').first().waitFor();
    return page;
  },
  async story(mock, visit) {
    mock.undoMs = 100;
    const r = ex.deploy();
    mock.add(r);
    const { page } = await visit(mock);
    await row(page, r).getByTestId('approve').click();
    await page.locator(`[data-id=${r.id}][data-status=allowed]`).waitFor();
    await page.getByTestId('tab-history').click();
    await page.getByTestId('entry').first().click();
    await page.getByTestId('story').waitFor();
    return page;
  },
  async settings(mock, visit) {
    mock.messages = [{ seq: 3, nonce: 'A'.repeat(22), channel: 'security', reason: 'The npm registry is compromised. Install nothing.', label: 'laptop', expires: Date.now() + 86_400_000 * 3 }];
    const { page } = await visit(mock);
    await page.getByTestId('tab-settings').click();
    await page.getByTestId('session').first().waitFor();
    await page.waitForTimeout(300);
    return page;
  },
  async rules(mock, visit) {
    const { page } = await visit(mock);
    await page.getByTestId('tab-rules').click();
    await page.getByTestId('no-rules').waitFor();
    return page;
  },
  async running(mock, visit) {
    const at = Date.now();
    mock.jobs = [
      { id: 'cmd-1', task: 'operator/migrate', command: 'make migrate', directory: '/srv/api-server', executor: 'runner@build-1', status: 'done', code: 0, output: 'applied 0042_sessions\n1 migration, 0 pending\n', created: at - 90_000, started: at - 80_000, finished: at - 76_000 },
      { id: 'cmd-2', task: 'operator/deploy', command: 'make deploy', directory: '/srv/api-server', executor: 'runner@build-1', status: 'done', code: 2, output: 'make: *** [deploy] Error 2\n\u001b[31mred\u001b[0m\n', created: at - 60_000, started: at - 50_000, finished: at - 20_000 },
    ];
    const { page } = await visit(mock);
    await page.getByTestId('tab-running').click();
    await page.getByTestId('job').first().waitFor();
    return page;
  },
  async offline(mock, visit) {
    mock.add(ex.deploy());
    const { page } = await visit(mock);
    await page.getByTestId('row').waitFor();
    mock.open = false;
    for (const s of mock.streams) s.destroy();
    await page.waitForFunction(() => document.querySelector('[data-testid=connection]')?.getAttribute('data-state') === 'offline');
    await page.waitForTimeout(300);
    return page;
  },
  async unverified(mock, visit) {
    mock.verified = false;
    mock.paused = true;
    mock.add(ex.deploy());
    const { page } = await visit(mock);
    await page.getByTestId('row').waitFor();
    await page.waitForTimeout(700);
    return page;
  },
  async lie(mock, visit) {
    const r = ex.deploy();
    mock.add(r);
    mock.lie = (method, path, answer) => (path === '/api/prepare' ? { ...answer, covers: answer.covers.map((c) => ({ ...c, hash: 'f'.repeat(64) })) } : answer);
    const { page } = await visit(mock);
    await row(page, r).getByTestId('approve').click();
    await page.getByTestId('toast-error').waitFor();
    return page;
  },
};

for (const [name, state] of Object.entries(STATES)) {
  if (only.length && !only.includes(name)) continue;
  for (const [sizeName, size] of SIZES) {
    for (const scheme of ['light', 'dark']) {
      if (process.env.SHOTS && !process.env.SHOTS.split(',').includes(`${sizeName}-${scheme}`)) continue;
      const mock = new Mock();
      await mock.listen();
      let context;
      try {
        const page = await state(mock, async (m, more = {}) => {
          const v = await visit(m, { size, scheme, ...more });
          context = v.context;
          return v;
        });
        await page.screenshot({ path: `${folder}/${name}-${sizeName}-${scheme}.png`, fullPage: Boolean(page.wholePage), scale: 'css' });
      } catch (e) {
        failed += 1;
        process.stderr.write(`${name} ${sizeName} ${scheme}: ${e.message}\n`);
        await context?.pages()[0]?.screenshot({ path: `${folder}/FAILED-${name}-${sizeName}-${scheme}.png` }).catch(() => undefined);
      }
      await context?.close();
      await mock.close();
    }
  }
}
await browser.close();
process.exitCode = failed ? 1 : 0;
