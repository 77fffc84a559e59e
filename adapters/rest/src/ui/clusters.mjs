// Registered clusters, by provider.

import { list, path } from './api.mjs';
import { command, fill, h } from './dom.mjs';
import { Polling } from './poll.mjs';
import { count } from './words.mjs';

const INTERVAL = 60_000;

/** Rows that are shown at first, and with each further wish. */
const ROWS = 200;

export class ClustersView {
  #found = { items: [] }; #max = ROWS;

  constructor(place, shell) {
    shell.title('Clusters');
    this.filter = h('input', {
      id: 'filter', type: 'search', placeholder: 'name, label, address', oninput: () => { this.#max = ROWS; this.#draw(); },
    });
    this.note = h('p', { class: 'faint' }, 'Reading…');
    this.rows = h('tbody', {});
    this.more = h('button', { type: 'button', hidden: true, onclick: () => { this.#max += ROWS; this.#draw(); } }, 'Show more');
    const head = ['Cluster', 'Address', 'Labels', 'Look at it'].map((text) => h('th', { scope: 'col' }, text));
    this.table = h('table', { class: 'list', hidden: true }, h('caption', { class: 'unseen' }, 'Registered clusters'), h('thead', {}, h('tr', {}, head)), this.rows);
    this.element = h(
      'section',
      {},
      h('h1', { tabindex: '-1' }, 'Clusters'),
      h('div', { class: 'line' }, h('label', { for: 'filter' }, 'Filter'), this.filter),
      this.note,
      h('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': 'Registered clusters, can be scrolled' }, this.table),
      this.more,
    );
    this.polling = new Polling({
      load: (signal) => load(signal),
      interval: INTERVAL,
      told: (found) => { this.#found = found; this.#draw(); },
      phase: (state) => shell.phase(state, this.polling?.again),
    });
  }

  go(place) {
    return place.view === 'clusters';
  }

  #draw() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const matching = this.#found.items.filter(({ text }) => words.every((word) => text.includes(word)));
    const shown = matching.slice(0, this.#max);
    const all = count(this.#found.items.length, 'cluster');
    this.note.textContent = matching.length === this.#found.items.length ? `${all}, in ${count(this.#found.providers, 'provider')}` : `${matching.length.toLocaleString('en')} of ${all}`;
    this.table.hidden = shown.length === 0;
    this.more.hidden = shown.length === matching.length;
    this.more.textContent = `Show more: ${(matching.length - shown.length).toLocaleString('en')} are not shown`;
    fill(this.rows, shown.map(row));
  }

  close() {
    this.polling.stop();
  }
}

async function load(signal) {
  const providers = await list('cluster-providers?limit=500', { signal });
  const found = await Promise.all(providers.items.map(async ({ metadata }) => {
    const clusters = await list(`${path('cluster-providers', metadata.name, 'clusters')}?limit=500`, { signal });
    return clusters.items.map((item) => {
      const id = `${metadata.name}/${item.metadata.name}`;
      const labels = Object.entries(item.spec.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(', ');
      const text = [id, labels, item.spec.server ?? '', item.metadata.description ?? ''].join('\n').toLowerCase();
      return { id, labels, text, server: item.spec.server, description: item.metadata.description };
    });
  }));
  return { items: found.flat(), providers: providers.items.length };
}

function row({ id, labels, server, description }) {
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, id, description && h('span', { class: 'faint' }, description)),
    h('td', {}, server ?? 'not told'),
    h('td', { class: 'faint' }, labels || '–'),
    h('td', {}, command(`dcm cluster check ${id}`)),
  );
}
