// Drives a real Chromium with a virtual authenticator for the scenes in crates/sealward/tests/scenes.
//
// Not here: any assertion about the product (those stand in the Rust scenes) and any knowledge of the page beyond its `data-testid`s.

import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import { startLiar } from './liar.mjs';

const FLAGS = [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];
/** How long the page may take for one step on a loaded machine of two cores. */
const PATIENCE = 20_000;
/** How often a person taps when nothing happens. */
const TAPS = 4;

/** The browser of this machine, under any of its names. */
const BROWSER = ['chromium', 'chromium-browser', 'google-chrome']
  .flatMap((name) => (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name)))
  .find((path) => existsSync(path));

const hook = (name) => `[data-testid="${name}"]`;
const rowOf = (id) => `${hook('row')}[data-id="${id}"]`;

/** One person at one browser profile: a page and an authenticator. */
class Person {
  constructor(context, page, cdp, authenticator) {
    Object.assign(this, { context, page, cdp, authenticator });
    this.requests = [];
    this.complaints = [];
    page.on('request', (request) => this.requests.push(`${request.method()} ${request.url()}`));
    page.on('pageerror', (error) => this.complaints.push(`error: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(`console: ${message.text()}`);
    });
    page.on('dialog', (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      dialog.dismiss();
    });
  }
}

export class Kit {
  constructor(browser, liar) {
    Object.assign(this, { browser, liar, persons: new Map() });
  }

  /** `lie_to`: `{host, port}` of the hub, where a lying proxy is to stand between it and the page. */
  static async launch({ lie_to: lieTo } = {}) {
    const liar = lieTo ? await startLiar(lieTo.port) : null;
    const rules = liar ? [`--host-resolver-rules=MAP ${lieTo.host}:${lieTo.port} 127.0.0.1:${liar.port}`] : [];
    const browser = await chromium.launch({ executablePath: BROWSER, args: [...FLAGS, ...rules] });
    return new Kit(browser, liar);
  }

  /** A new person; `alg` (COSE) is the only algorithm their authenticator is offered at enrolment. */
  async person({ name, alg = -7, locale = 'en-GB', width = 1100, height = 900 }) {
    const context = await this.browser.newContext({ locale, viewport: { width, height } });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    await page.addInitScript(onlyAlgorithm, alg);
    const cdp = await context.newCDPSession(page);
    await cdp.send('WebAuthn.enable', { enableUI: false });
    const options = {
      protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true,
      isUserVerified: true, automaticPresenceSimulation: true,
    };
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options });
    this.persons.set(name, new Person(context, page, cdp, authenticatorId));
    return null;
  }

  /** Plants a ready passkey in a person's authenticator: `id` and `pkcs8` are base64url. */
  async plant({ name, rp_id: rpId, id, pkcs8 }) {
    const { cdp, authenticator } = this.of(name);
    const plain = (text) => Buffer.from(text, 'base64url').toString('base64');
    const credential = {
      credentialId: plain(id), isResidentCredential: true, rpId, privateKey: plain(pkcs8),
      userHandle: plain(id), signCount: 0,
    };
    await cdp.send('WebAuthn.addCredential', { authenticatorId: authenticator, credential });
    return null;
  }

  of(name) {
    const person = this.persons.get(name);
    if (!person) throw new Error(`no person ${name}`);
    return person;
  }

  async goto({ name, url }) {
    const answer = await this.of(name).page.goto(url);
    return answer ? { status: answer.status(), headers: answer.headers() } : null;
  }

  /** Opens the enrolment link, gives the device a label, makes the passkey; returns the fingerprint the page shows. */
  async enrol({ name, link, label }) {
    const { page } = this.of(name);
    await page.goto(link);
    await page.locator(hook('enrol-label')).fill(label);
    await page.locator(hook('enrol-go')).click();
    const shown = page.locator(hook('fingerprint'));
    await shown.waitFor();
    return (await shown.textContent()).trim();
  }

  async login({ name, url }) {
    await this.of(name).page.goto(url);
    return this.enter({ name });
  }

  /** Waits until the inbox is there, logging in where the page asks for it. */
  async enter({ name }) {
    const { page } = this.of(name);
    const inside = page.locator(hook('connection'));
    const door = page.locator(hook('login'));
    await inside.or(door).first().waitFor();
    // After an enrolment the page logs in by itself where the browser lets it: then the door may close under the finger.
    if (await inside.count() === 0) await door.click({ timeout: 2_000 }).catch(() => null);
    await inside.waitFor();
    return null;
  }

  /** Every row on the page: id, status and its visible text. */
  async rows({ name }) {
    return this.of(name).page.locator(hook('row')).evaluateAll((rows) => rows.map((row) => ({
      id: row.dataset.id, status: row.dataset.status, text: row.innerText,
    })));
  }

  async wait_row({ name, id, status }) {
    const want = status ? `${rowOf(id)}[data-status="${status}"]` : rowOf(id);
    const row = this.of(name).page.locator(want).first();
    await row.waitFor();
    return row.innerText();
  }

  /** Why a row cannot be sealed, as the page's own key for it. */
  async problem({ name, id }) {
    const shown = this.of(name).page.locator(`${rowOf(id)} ${hook('problem')}`).first();
    await shown.waitFor();
    return shown.getAttribute('data-key');
  }

  async wait_no_row({ name, id }) {
    await this.of(name).page.locator(rowOf(id)).waitFor({ state: 'detached' });
    return null;
  }

  /** Opens what the page wants read before it lets anybody approve. */
  async read_all({ name, id }) {
    const buttons = this.of(name).page.locator(`${rowOf(id)} ${hook('read-all')}`);
    for (let left = await buttons.count(); left > 0; left -= 1) {
      const button = buttons.nth(left - 1);
      if (await button.isVisible()) await button.click();
    }
    return null;
  }

  /**
   * Runs one gesture that seals, to the hub's answer. The page takes one at a time, and none in the moment after something
   * moved under the finger: a person then taps again.
   */
  async seal(page, gesture) {
    const sealed = (url) => url.endsWith('/api/proofs') || url.endsWith('/signatures');
    const answer = page.waitForResponse((response) => sealed(response.url()));
    answer.catch(() => null);
    let begun = false;
    const see = (request) => { begun ||= /\/api\/(prepare|login\/start)$/.test(request.url()); };
    page.on('request', see);
    for (let taps = 1; taps <= TAPS && !begun; taps += 1) {
      await gesture();
      for (const until = Date.now() + 2_000; !begun && Date.now() < until;) await page.waitForTimeout(20);
    }
    page.off('request', see);
    const response = await answer.catch(async (error) => { throw new Error(`${error.message}; ${await state(page)}`); });
    await page.locator(hook('sealing')).waitFor({ state: 'hidden' });
    return { ...await response.json().catch(() => ({})), status: response.status() };
  }

  async approve({ name, id }) {
    const { page } = this.of(name);
    await this.wait_row({ name, id });
    await this.read_all({ name, id });
    const button = page.locator(`${rowOf(id)} ${hook('approve')}, ${rowOf(id)} ${hook('sign-too')}`);
    return this.seal(page, () => button.click());
  }

  /** Selects rows, bringing each in sight as a person would, and approves them; `label` is what the button said. */
  async approve_many({ name, ids }) {
    const { page } = this.of(name);
    for (const id of ids) {
      const box = page.locator(`${rowOf(id)} ${hook('select')}`);
      await box.evaluate((node) => new Promise((seen) => {
        node.closest('[data-testid="row"]').scrollIntoView({ block: 'center' });
        // The page's observer reports after the next frame.
        requestAnimationFrame(() => requestAnimationFrame(() => seen(null)));
      }));
      await box.check();
    }
    const button = page.locator(hook('approve-many'));
    const label = (await button.textContent()).trim();
    return { label, ...await this.seal(page, () => button.click()) };
  }

  async deny({ name, id, channel, reason }) {
    const { page } = this.of(name);
    await this.wait_row({ name, id });
    await page.locator(`${rowOf(id)} ${hook('deny')}`).click();
    if (channel) await page.locator(hook(`channel-${channel}`)).click();
    await page.locator(hook('reason')).fill(reason);
    return this.seal(page, () => page.locator(hook('deny-confirm')).click());
  }

  async click({ name, hook: what, id }) {
    const selector = id ? `${rowOf(id)} ${hook(what)}` : hook(what);
    await this.of(name).page.locator(selector).first().click();
    return null;
  }

  async wait({ name, hook: what }) {
    const found = this.of(name).page.locator(hook(what)).first();
    await found.waitFor();
    return (await found.textContent()).trim();
  }

  async count({ name, selector }) {
    return this.of(name).page.locator(selector).count();
  }

  /** Whether a control exists, is visible and can be used right now. */
  async enabled({ name, hook: what, id }) {
    const found = this.of(name).page.locator(id ? `${rowOf(id)} ${hook(what)}` : hook(what)).first();
    if (await found.count() === 0 || !await found.isVisible()) return false;
    return await found.isEnabled() && await found.getAttribute('aria-disabled') !== 'true';
  }

  async text({ name, selector }) {
    return this.of(name).page.locator(selector).first().textContent();
  }

  async inner({ name, selector }) {
    return this.of(name).page.locator(selector).first().innerText();
  }

  async evaluate({ name, script }) {
    return this.of(name).page.evaluate(script);
  }

  async press({ name, key }) {
    await this.of(name).page.keyboard.press(key);
    return null;
  }

  /** Signatures made so far, per credential: the authenticator counts them, whatever the page says. */
  async signatures({ name }) {
    const { cdp, authenticator } = this.of(name);
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId: authenticator });
    return credentials.reduce((sum, one) => sum + one.signCount, 0);
  }

  /** What the page asked for, and what it complained of, since the last call. */
  async log({ name }) {
    const person = this.of(name);
    const { requests, complaints } = person;
    person.requests = [];
    person.complaints = [];
    return { requests, complaints };
  }

  async cookies({ name }) {
    return this.of(name).context.cookies();
  }

  async screenshot({ name, path }) {
    await this.of(name).page.screenshot({ path, fullPage: true });
    return null;
  }

  /** From now on the proxy changes answers: see liar.mjs. */
  async lie({ lies }) {
    this.liar.lie(lies);
    return null;
  }

  async truth() {
    return this.liar.truth();
  }

  async posted({ path }) {
    return this.liar.posted(path);
  }

  /** Approves where the page lets a person; `signed` says whether a proof was sent, `refusal` what the page says instead. */
  async try_approve({ name, id }) {
    const { page } = this.of(name);
    // A lie about the id renames the row: then it is the only row there is.
    await page.locator(hook('row')).first().waitFor();
    const row = await page.locator(rowOf(id)).count() > 0 ? page.locator(rowOf(id)) : page.locator(hook('row')).first();
    const awake = row.locator(`${hook('approve')}:enabled`);
    const problem = row.locator(hook('problem'));
    await awake.or(problem).first().waitFor();
    if (await problem.count() > 0) return { signed: false, refusal: await problem.first().getAttribute('data-key') };
    const answer = page.waitForResponse((response) => response.url().endsWith('/api/proofs'));
    const toast = page.locator(hook('toast-error'));
    await awake.click();
    const [signed] = await Promise.race([
      answer.then(() => [true]),
      toast.waitFor().then(() => [false]),
    ]);
    answer.catch(() => null);
    return { signed, refusal: signed ? null : (await toast.innerText()).trim() };
  }

  /** Logs out on the device's side only: no cookie, no token. */
  async forget({ name }) {
    const { context, page } = this.of(name);
    await context.clearCookies();
    await page.evaluate('sessionStorage.clear()');
    return null;
  }

  async try_login({ name, url }) {
    const { page } = this.of(name);
    await page.goto(url);
    await page.reload();
    const answer = page.waitForResponse((response) => response.url().endsWith('/api/login/finish'), { timeout: 3_000 });
    answer.catch(() => null);
    await page.locator(hook('login')).click();
    await answer;
    return null;
  }

  async close() {
    await this.browser.close();
    this.liar?.close();
    return null;
  }
}

/** What a stuck page shows: its error line, whether it asks for a passkey, its connection. */
async function state(page) {
  const shown = [];
  for (const name of ['toast-error', 'sealing', 'connection']) {
    const found = page.locator(hook(name)).first();
    if (await found.count() > 0 && await found.isVisible()) shown.push(`${name}: ${(await found.innerText()).trim()}`);
  }
  return `the page shows ${shown.join(' · ') || 'nothing of note'}`;
}

/** Runs in the page before its own code: a platform authenticator of one algorithm. */
function onlyAlgorithm(alg) {
  const create = navigator.credentials?.create?.bind(navigator.credentials);
  if (!create) return;
  navigator.credentials.create = (options) => {
    const params = options.publicKey.pubKeyCredParams.filter((one) => one.alg === alg);
    if (params.length === 0) throw new Error(`the page does not offer algorithm ${alg}`);
    return create({ ...options, publicKey: { ...options.publicKey, pubKeyCredParams: params } });
  };
}
