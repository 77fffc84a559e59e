// Server-sent events, read from an answer as it comes: what a browser has of its own for them sends no credential.

import { patched } from './patch.mjs';
import { drawing } from './phases.mjs';

/** Takes pieces of text, and tells each event (`{event, data}`) and each sign of life. */
export function reader(tell) {
  let rest = '';
  let event = { event: 'message', data: [] };
  const line = (text) => {
    if (text === '') {
      if (event.data.length > 0) tell({ event: event.event, data: event.data.join('\n') });
      event = { event: 'message', data: [] };
      return;
    }
    const colon = text.indexOf(':');
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') event.event = value;
    if (name === 'data') event.data.push(value);
  };
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop();
    lines.forEach(line);
  };
}

/** How long nothing may come: the server gives a sign of life every 15 seconds. */
const SILENCE_MAX = 40_000;
/** The first wait before another try, and the longest. */
const WAIT_MIN = 1000;
const WAIT_MAX = 30_000;
/** How long a page that nobody sees stays connected: browsers have few connections to one server. */
const HIDDEN_MAX = 60_000;
/** What has lived this long and is then ended by the server is followed anew at once: the server ends each connection some time. */
const LIVED_MIN = 30_000;

/** How long to wait before a try, after so many that failed, with some chance in it. */
export function waitBefore(failures, chance = Math.random()) {
  const whole = Math.min(WAIT_MAX, WAIT_MIN * 2 ** Math.min(failures - 1, 10));
  return Math.round(whole * (0.75 + chance / 2));
}

/**
 * Follows a value: `open(signal)` gives an answer with events. `told(value, change)` is called with each value, and with the
 * patch that made it of the one before; `phase({phase, …})` with each change of the connection. What is `gone` is so for ever: what
 * has its name later is another one, which somebody follows anew.
 */
export class Following {
  #open; #told; #phase; #value; #abort; #timer; #hiddenTimer; #failures = 0; #stopped = false; #isAway = false;

  constructor({ open, told, phase }) {
    [this.#open, this.#told, this.#phase] = [open, told, phase];
    document.addEventListener('visibilitychange', this.#seen);
    addEventListener('online', this.again);
    addEventListener('pagehide', this.#left);
    addEventListener('pageshow', this.again);
    this.#connect();
    if (document.hidden) this.#seen();
  }

  /** Tries at once. */
  again = () => {
    if (this.#stopped || this.#abort || this.#isAway) return;
    clearTimeout(this.#timer);
    this.#connect();
  };

  stop() {
    this.#stopped = true;
    this.#abort?.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#hiddenTimer);
    document.removeEventListener('visibilitychange', this.#seen);
    removeEventListener('online', this.again);
    removeEventListener('pagehide', this.#left);
    removeEventListener('pageshow', this.again);
  }

  /** A page that is left may be kept for the way back, and its connection with it. */
  #left = () => this.#abort?.abort('hidden');

  #seen = () => {
    clearTimeout(this.#hiddenTimer);
    this.#isAway = false;
    if (!document.hidden) return this.again();
    this.#hiddenTimer = setTimeout(this.#leave, HIDDEN_MAX);
  };

  /** Nobody looks: the connection is given back, and none is tried. */
  #leave = () => {
    this.#isAway = true;
    if (this.#abort) return this.#abort.abort('hidden');
    clearTimeout(this.#timer);
    return this.#phase({ phase: 'hidden' });
  };

  async #connect() {
    const abort = new AbortController();
    this.#abort = abort;
    this.#phase({ phase: 'connecting' });
    const began = Date.now();
    let silence;
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort('silent'), SILENCE_MAX);
    };
    let end = { phase: 'lost', why: 'the server has ended the connection' };
    try {
      alive();
      const answer = await this.#open(abort.signal);
      const text = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const feed = reader((event) => { end = this.#hear(event) ?? end; });
      for (;;) {
        const { value, done } = await text.read();
        if (done) break;
        alive();
        feed(value);
      }
      if (end.phase === 'lost' && !end.failed && Date.now() - began >= LIVED_MIN) end = { phase: 'ended' };
    } catch (error) {
      end = this.#ended(error, abort.signal);
    } finally {
      clearTimeout(silence);
      // Whatever has ended it: an answer that nobody reads keeps a connection.
      abort.abort();
      this.#abort = undefined;
    }
    if (!this.#stopped) this.#over(end);
  }

  /** Takes an event; gives how the events have ended, if it is that. */
  #hear({ event, data }) {
    if (event === 'deleted') return { phase: 'gone' };
    const content = JSON.parse(data);
    if (event === 'error') return { phase: 'lost', failed: true, why: content.detail ?? 'the server has failed' };
    const change = event === 'change' ? content : undefined;
    this.#value = change === undefined ? content : patched(this.#value, change);
    this.#failures = 0;
    this.#phase(drawing(() => this.#told(this.#value, change)) ?? { phase: 'live' });
    return undefined;
  }

  #ended(error, signal) {
    if (signal.aborted && signal.reason === 'hidden') return { phase: 'hidden' };
    if (signal.aborted && signal.reason === 'silent') return { phase: 'lost', why: 'the server is silent' };
    if ([401, 403, 404].includes(error.status)) return { phase: 'refused', error };
    return { phase: 'lost', why: error.message, after: error.retryAfter };
  }

  #over(end) {
    if (end.phase === 'ended') return void this.#connect();
    if (end.phase === 'gone') this.stop();
    if (end.phase !== 'lost') return this.#phase(end);
    this.#failures += 1;
    const wait = Math.max(waitBefore(this.#failures), end.after ?? 0);
    this.#phase({ ...end, nextTry: Date.now() + wait });
    this.#timer = setTimeout(() => this.#connect(), wait);
    return undefined;
  }
}
