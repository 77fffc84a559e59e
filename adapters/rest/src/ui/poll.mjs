// What has no events is asked for again and again, as long as somebody looks.

import { waitBefore } from './events.mjs';
import { drawing } from './phases.mjs';

/** Asks `load(signal)` every so many milliseconds; `told` and `phase` are as those of `Following`. */
export class Polling {
  #load; #interval; #told; #phase; #timer; #abort; #failures = 0; #stopped = false;

  constructor({ load, interval, told, phase }) {
    [this.#load, this.#interval, this.#told, this.#phase] = [load, interval, told, phase];
    document.addEventListener('visibilitychange', this.#seen);
    addEventListener('online', this.again);
    this.#phase({ phase: 'connecting' });
    this.#look();
  }

  again = () => {
    if (this.#stopped || this.#abort) return;
    clearTimeout(this.#timer);
    this.#look();
  };

  stop() {
    this.#stopped = true;
    this.#abort?.abort();
    clearTimeout(this.#timer);
    document.removeEventListener('visibilitychange', this.#seen);
    removeEventListener('online', this.again);
  }

  #seen = () => {
    if (!document.hidden) return this.again();
    clearTimeout(this.#timer);
    return this.#phase({ phase: 'hidden' });
  };

  async #look() {
    const abort = new AbortController();
    this.#abort = abort;
    let found;
    try {
      found = { value: await this.#load(abort.signal) };
    } catch (error) {
      found = { error };
    }
    this.#abort = undefined;
    if (this.#stopped) return;
    if (found.error) return this.#failed(found.error);
    this.#failures = 0;
    this.#next(this.#interval);
    // What fails from here on is the page, and not the connection.
    this.#phase(drawing(() => this.#told(found.value)) ?? { phase: 'live', every: this.#interval });
  }

  #failed(error) {
    if ([401, 403, 404].includes(error.status)) return this.#phase({ phase: 'refused', error });
    this.#failures += 1;
    const wait = Math.max(waitBefore(this.#failures), error.retryAfter ?? 0);
    this.#next(wait);
    return this.#phase({ phase: 'lost', why: error.message, nextTry: Date.now() + wait });
  }

  #next(wait) {
    if (!document.hidden) this.#timer = setTimeout(() => this.#look(), wait);
  }
}
