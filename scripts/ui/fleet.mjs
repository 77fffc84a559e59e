// The example `fleet`: a server with simulated clusters, and its API.

import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { until } from './browser.mjs';

/** How long a thousand clusters may take to settle, also in a build that is not optimised on a busy machine. */
const SETTLE_MS = 600_000;

export class Fleet {
  #process; #said = ''; #folder;

  /** A fleet of so many clusters; with the names of callers, each has to show a token. */
  static async begin(program, clusters, callers = []) {
    const fleet = new Fleet();
    fleet.#folder = await mkdtemp(join(tmpdir(), 'dcm-fleet-'));
    const more = callers.length > 0 ? [await fleet.#tokens(callers)] : [];
    fleet.#process = spawn(program, [String(clusters), '127.0.0.1:0', ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
    fleet.#process.stdout.on('data', (data) => { fleet.#said += data; });
    fleet.url = await until('a fleet that listens', () => fleet.#said.match(/status page at (\S+)\/ui\//)?.[1]);
    await until('a fleet that is filled', () => fleet.#said.includes('handed over'), SETTLE_MS);
    return fleet;
  }

  /** Static tokens, one for each caller, as `dcm token new` makes them. */
  async #tokens(callers) {
    this.tokens = {};
    const entries = callers.map((user) => {
      const id = randomBytes(8).toString('hex');
      const token = `dcm_${id}_${randomBytes(32).toString('hex')}`;
      this.tokens[user] = token;
      return { name: user, id, user, hash: `sha256:${createHash('sha256').update(token).digest('hex')}` };
    });
    const file = join(this.#folder, 'tokens.yaml');
    await writeFile(file, JSON.stringify({ tokens: entries }), { mode: 0o600 });
    return file;
  }

  /** Asks the API; the answer must be a good one. */
  async ask(method, path, body, caller) {
    const headers = { 'content-type': 'application/json' };
    if (caller) headers.authorization = `Bearer ${this.tokens[caller]}`;
    const answer = await fetch(`${this.url}/v2/${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  /** Waits until no cluster of a logical cloud has anything left to do but what is hindered. */
  settled(project, cloud) {
    let last;
    return until(`${cloud} that is settled`, async () => {
      const { clusters } = await this.ask('GET', `projects/${project}/logical-clouds/${cloud}/status`);
      const working = Object.values(clusters).filter(({ lane }) => lane?.state !== 'done' && !lane?.cause);
      const counts = Object.values(clusters).filter(({ lane }) => lane?.state === 'done').length;
      const isSame = counts === last && working.length === 0;
      last = counts;
      return isSame;
    }, SETTLE_MS);
  }

  signal(name) {
    this.#process.kill(name);
  }

  async end() {
    this.#process?.kill('SIGCONT');
    this.#process?.kill('SIGKILL');
    await rm(this.#folder, { recursive: true, force: true });
  }
}
