// Registered clusters, by provider.

import { list, path } from './api.mjs';
import { command, h, redraw, say } from './dom.mjs';
import { Polling } from './poll.mjs';
import { extentOf, registeredOf } from './registered.mjs';

const INTERVAL = 60_000;

/** Rows that are shown at first, and with each further wish. */
const ROWS = 200;

export class ClustersView {
  #found; #max = ROWS;

  constructor(place, shell) {
    shell.title('Clusters');
    this.filter = h('input', {
      id: 'filter', type: 'search', placeholder: 'name, label, address', oninput: () => { this.#max = ROWS; this.#draw(); },
    });
    this.note = h('p', { class: 'faint' }, 'Reading…');
    this.failed = h('div', {});
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
      this.failed,
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
    if (!this.#found) return;
    const { items, failed } = this.#found;
    const words = this.filter.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const matching = items.filter(({ text }) => words.every((word) => text.includes(word)));
    const shown = matching.slice(0, this.#max);
    say(this.note, extentOf(this.#found, matching.length));
    redraw(this.failed, failed, () => failed.map(({ provider, why }) => h('p', { class: 'alarm' }, `The clusters of ${provider} can't be read: ${why}`)));
    this.table.hidden = shown.length === 0;
    this.more.hidden = shown.length === matching.length;
    say(this.more, `Show more: ${(matching.length - shown.length).toLocaleString('en')} are not shown`);
    redraw(this.rows, shown, () => shown.map(row));
  }

  close() {
    this.polling.stop();
  }
}

async function load(signal) {
  const providers = await list('cluster-providers?limit=500', { signal });
  const lists = await Promise.all(providers.items.map(
    ({ metadata }) => list(`${path('cluster-providers', metadata.name, 'clusters')}?limit=500`, { signal }).catch((error) => ({ error })),
  ));
  return registeredOf(providers, lists);
}

function row({ id, labels, server, description, isMoved }) {
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, id, description && h('span', { class: 'faint' }, description)),
    h('td', {}, server ?? 'not told', isMoved && h('span', { class: 'faint' }, 'Not accepted: the kubeconfig leads to another server, or trusts other authorities.')),
    h('td', { class: 'faint' }, labels || '–'),
    h('td', {}, command(`dcm cluster check ${id}`), isMoved && command(`dcm cluster accept ${id}`)),
  );
}
