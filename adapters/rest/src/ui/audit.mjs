// Who decided what about a logical cloud, when and why.

import { json, now, path } from './api.mjs';
import { command, fill, fullTime, h, mark, time } from './dom.mjs';
import { quoted } from './commands.mjs';
import { count } from './words.mjs';

/** How far back it goes, and how many pages of the log are read for that. */
const DAYS = 30;
const PAGES_MAX = 10;

const TONES = { accepted: 'done', refused: 'somebody', failed: 'somebody' };

export class AuditTab {
  #place; #abort = new AbortController();

  constructor(place) {
    this.#place = place;
    this.note = h('p', { role: 'status' });
    this.body = h('div', {});
    this.button = h('button', { type: 'button', onclick: () => this.#read() }, 'Read again');
    this.element = h('div', {}, h('div', { class: 'line' }, this.button, this.note), this.body);
    this.#read();
  }

  go(place) {
    return place.tab === 'audit';
  }

  async #read() {
    this.button.disabled = true;
    fill(this.note, 'Reading…');
    try {
      const { entries, isWhole } = await this.#load();
      fill(this.note, `${count(entries.length, 'decision')} of the last ${DAYS} days${isWhole ? '' : ', and later ones that are not shown'}, the newest first, read `, time(now(), 'ago'), '.');
      this.#draw(entries);
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      fill(this.note, `The audit log can't be read: ${error.message}`);
    }
    this.button.disabled = false;
  }

  async #load() {
    const { project, cloud } = this.#place;
    const since = new Date(now() - DAYS * 86_400_000).toISOString();
    let next = `${path('projects', project, 'audit')}?${new URLSearchParams({ since, 'logical-cloud': cloud, limit: '500' })}`;
    const entries = [];
    for (let page = 0; page < PAGES_MAX && next !== undefined; page += 1) {
      const part = await json(next, { signal: this.#abort.signal });
      entries.push(...part.items);
      next = part.next?.replace(/^.*?\/v2\//, '');
    }
    return { entries: entries.reverse(), isWhole: next === undefined };
  }

  #draw(entries) {
    const { project, cloud } = this.#place;
    const head = ['When', 'Who', 'What', 'Result', 'Why'].map((text) => h('th', { scope: 'col' }, text));
    fill(
      this.body,
      entries.length > 0 && h(
        'div',
        { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': 'Decisions, can be scrolled' },
        h('table', { class: 'list' }, h('caption', { class: 'unseen' }, `Decisions about ${cloud}`), h('thead', {}, h('tr', {}, head)), h('tbody', {}, entries.map(entry))),
      ),
      h('p', {}, command(`dcm audit -p ${quoted(project)} --cloud ${quoted(cloud)}`)),
    );
  }

  close() {
    this.#abort.abort();
  }
}

function entry({ asked, ended }) {
  const result = ended?.result ?? 'not known';
  return h(
    'tr',
    {},
    h('td', {}, fullTime(asked.at, 'ago')),
    h('td', {}, asked.who),
    h('th', { scope: 'row' }, asked.action),
    h('td', {}, mark(TONES[result] ?? 'none', result), ended?.message && h('span', { class: 'faint' }, ended.message)),
    h('td', {}, asked.why ?? '–', asked.requestId && h('span', { class: 'faint' }, `request ${asked.requestId}`)),
  );
}
