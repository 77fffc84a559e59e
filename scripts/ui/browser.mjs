// A headless Chromium, driven by chromedriver over HTTP (WebDriver).

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { small } from './png.mjs';

/** Longest time for the driver to begin, and for a page to become as expected. What holds never takes so long, also on a busy machine. */
const BEGIN_MS = 120_000;
const WAIT_MS = 120_000;

/** How long a script may take: axe-core looks at each of many thousand elements. */
const SCRIPT_MS = 300_000;

export const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Looks again and again until there is something. */
export async function until(what, look, limit = WAIT_MS) {
  const end = Date.now() + limit;
  let last;
  do {
    try {
      const seen = await look();
      if (seen) return seen;
    } catch (error) {
      last = error;
    }
    await pause(100);
  } while (Date.now() < end);
  throw new Error(`waited in vain for ${what}${last ? `: ${last.message}` : ''}`);
}

/** Keys, as WebDriver names them. */
export const KEY = {
  tab: '\uE004', enter: '\uE007', escape: '\uE00C', end: '\uE010', home: '\uE011', up: '\uE013', down: '\uE015', pageDown: '\uE00F',
};

export class Browser {
  #driver; #base; #session; #profile;

  static async begin(chromedriver, chromium) {
    const browser = new Browser();
    browser.#profile = await mkdtemp(join(tmpdir(), 'dcm-ui-'));
    browser.#driver = spawn(chromedriver, ['--port=0'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const port = await new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('chromedriver does not begin')), BEGIN_MS);
      let said = '';
      browser.#driver.stdout.on('data', (data) => {
        said += data;
        const found = said.match(/started successfully on port (\d+)/);
        if (!found) return;
        clearTimeout(timer);
        resolve(found[1]);
      });
      browser.#driver.on('error', reject);
    });
    browser.#base = `http://127.0.0.1:${port}/session`;
    const { sessionId } = await browser.#send('', {
      capabilities: {
        alwaysMatch: {
          browserName: 'chrome',
          acceptInsecureCerts: true,
          'goog:loggingPrefs': { browser: 'ALL' },
          'goog:chromeOptions': {
            binary: chromium,
            args: [
              '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
              '--force-color-profile=srgb', '--lang=en', `--user-data-dir=${browser.#profile}`,
              // Nothing but the page is asked for, neither at the start nor later.
              '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
            ],
          },
        },
      },
    });
    browser.#session = sessionId;
    await browser.#send('/timeouts', { script: SCRIPT_MS });
    return browser;
  }

  async #send(path, body, method = 'POST') {
    const at = this.#session ? `${this.#base}/${this.#session}${path}` : this.#base;
    const options = method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {};
    const answer = await fetch(at, { method, ...options });
    const { value } = await answer.json();
    if (!answer.ok) throw new Error(`${path}: ${value.error}: ${value.message.split('\n')[0]}`);
    return value;
  }

  async end() {
    if (this.#session) await this.#send('', undefined, 'DELETE').catch(() => {});
    this.#driver.kill();
    await rm(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  open = (url) => this.#send('/url', { url });

  reload = () => this.#send('/refresh');

  back = () => this.#send('/back');

  /** Runs a function of JavaScript in each page that is opened later, before the page's own; the result takes that back. */
  async before(source) {
    const { identifier } = await this.cdp('Page.addScriptToEvaluateOnNewDocument', { source: `(${source})()` });
    return () => this.cdp('Page.removeScriptToEvaluateOnNewDocument', { identifier });
  }

  /** Runs a function of JavaScript in the page. */
  run = (source, ...args) => this.#send('/execute/sync', { script: `return (${source})(...arguments)`, args });

  cdp = (cmd, params = {}) => this.#send('/goog/cdp/execute', { cmd, params });

  /** Lines of the console since the last look. */
  console = () => this.#send('/se/log', { type: 'browser' });

  async size(width, height) {
    await this.cdp('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  }

  async scheme(value) {
    await this.cdp('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
  }

  /** Types keys one after the other, wherever the focus is. */
  async type(...keys) {
    const actions = keys.flatMap((key) => [...key]).flatMap((value) => [{ type: 'keyDown', value }, { type: 'keyUp', value }]);
    await this.#send('/actions', { actions: [{ type: 'key', id: 'keyboard', actions }] });
  }

  async picture(file) {
    await writeFile(file, small(Buffer.from(await this.#send('/screenshot', undefined, 'GET'), 'base64')));
  }

  /** Waits until a function of JavaScript in the page gives something. */
  until = (what, source, ...args) => until(what, () => this.run(source, ...args));
}
