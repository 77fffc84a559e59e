// The logical clouds of a project, with their states.

import { list, path } from './api.mjs';
import { fill, h, mark, redraw } from './dom.mjs';
import { Polling } from './poll.mjs';
import { link } from './route.mjs';
import { count, progressOf, stateOf, toneOf } from './words.mjs';

const INTERVAL = 5000;

export class ProjectView {
  #place; #items = [];

  constructor(place, shell) {
    this.#place = place;
    shell.title(place.project);
    this.filter = h('input', { id: 'filter', type: 'search', placeholder: 'name, state, label', oninput: () => this.#draw() });
    this.rows = h('tbody', {});
    this.note = h('p', { class: 'faint' }, 'Reading…');
    const head = ['Logical cloud', 'State', 'Clusters', 'Namespace', 'Level', 'Labels'].map((text) => h('th', { scope: 'col' }, text));
    this.table = h('table', { class: 'list', hidden: true }, h('caption', { class: 'unseen' }, `Logical clouds of ${place.project}`), h('thead', {}, h('tr', {}, head)), this.rows);
    this.element = h(
      'section',
      {},
      h('nav', { class: 'path', 'aria-label': 'Path' }, h('a', { href: '#/projects' }, 'Projects')),
      h('h1', { tabindex: '-1' }, place.project),
      h('div', { class: 'line' }, h('label', { for: 'filter' }, 'Filter'), this.filter),
      this.note,
      h('div', { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': 'Logical clouds, can be scrolled' }, this.table),
    );
    this.polling = new Polling({
      load: (signal) => list(`${path('projects', place.project, 'logical-clouds')}?progress=true&limit=100`, { signal }),
      interval: INTERVAL,
      told: (found) => { this.found = found; this.#items = found.items; this.#draw(); },
      phase: (state) => shell.phase(state, this.polling?.again),
    });
  }

  go(place) {
    return place.view === 'project' && place.project === this.#place.project;
  }

  #draw() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
    const text = ({ metadata, spec, status }) => [
      metadata.name, stateOf(status), spec.namespace ?? '', ...Object.entries(spec.labels ?? {}).flat(), metadata.description ?? '',
    ].join('\n').toLowerCase();
    const shown = this.#items.filter((item) => words.every((word) => text(item).includes(word)));
    this.table.hidden = shown.length === 0;
    const broken = this.found?.broken.length ?? 0;
    fill(
      this.note,
      shown.length === this.#items.length ? count(shown.length, 'logical cloud') : `${shown.length} of ${count(this.#items.length, 'logical cloud')}`,
      broken > 0 && `; ${count(broken, 'more')} can't be read`,
      this.found && !this.found.isWhole && '; there are more than are shown',
    );
    redraw(this.rows, shown, (items) => items.map((item) => this.#row(item)));
  }

  #row({ metadata, spec, status }) {
    const labels = Object.entries(spec.labels ?? {}).map(([key, value]) => `${key}=${value}`);
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, h('a', { href: link(['projects', this.#place.project, metadata.name]) }, metadata.name),
        metadata.description && h('span', { class: 'faint' }, metadata.description)),
      h('td', {}, mark(toneOf(status.state), stateOf(status))),
      h('td', {}, progressOf(status) || '–'),
      h('td', {}, spec.namespace ?? '–'),
      h('td', {}, spec.level),
      h('td', { class: 'faint' }, labels.join(', ') || '–'),
    );
  }

  close() {
    this.polling.stop();
  }
}
