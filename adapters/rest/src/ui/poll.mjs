// What has no events is asked for again and again, as long as somebody looks.

import { waitBefore } from './events.mjs';

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
    this.#abort = new AbortController();
    let wait = this.#interval;
    try {
      const value = await this.#load(this.#abort.signal);
      if (this.#stopped) return;
      this.#failures = 0;
      this.#phase({ phase: 'live', every: this.#interval });
      this.#told(value);
    } catch (error) {
      if (this.#stopped) return;
      if ([401, 403, 404].includes(error.status)) return this.#phase({ phase: 'refused', error });
      this.#failures += 1;
      wait = Math.max(waitBefore(this.#failures), error.retryAfter ?? 0);
      this.#phase({ phase: 'lost', why: error.message, nextTry: Date.now() + wait });
    } finally {
      this.#abort = undefined;
    }
    if (!document.hidden) this.#timer = setTimeout(() => this.#look(), wait);
    return undefined;
  }
}
