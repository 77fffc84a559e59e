// All projects that the caller sees, with how their logical clouds are.

import { list, path } from './api.mjs';
import { h, mark, redraw } from './dom.mjs';
import { Polling } from './poll.mjs';
import { link } from './route.mjs';
import { count, progressOf, stateOf, toneOf } from './words.mjs';

const INTERVAL = 10_000;

/** Of how many projects the logical clouds are looked at here: each is a request. */
const LOOKED_AT_MAX = 20;

/** Logical clouds of a project that are named here. */
const NAMED_MAX = 12;

export class ProjectsView {
  constructor(place, shell) {
    shell.title('Projects');
    this.body = h('div', {}, h('p', { class: 'faint' }, 'Reading…'));
    this.element = h('section', {}, h('h1', { tabindex: '-1' }, 'Projects'), this.body);
    this.polling = new Polling({
      load: (signal) => this.#load(signal),
      interval: INTERVAL,
      told: (projects) => this.#show(projects),
      phase: (state) => shell.phase(state, this.polling?.again),
    });
  }

  async #load(signal) {
    const { items, ...found } = await list('projects?limit=500', { signal });
    const clouds = await Promise.all(items.slice(0, LOOKED_AT_MAX).map(
      ({ metadata }) => list(`${path('projects', metadata.name, 'logical-clouds')}?progress=true&limit=100`, { signal }).catch((error) => ({ error: error.message })),
    ));
    return { ...found, items: items.map((project, index) => ({ ...project, clouds: clouds[index] })) };
  }

  #show(found) {
    redraw(this.body, found, ({ items, broken }) => [
      items.length === 0
        ? h('p', {}, 'There is no project that you have a role in.')
        : h('ul', { class: 'projects' }, items.map((project) => h('li', {}, this.#project(project)))),
      broken.length > 0 && h('p', { class: 'alarm' }, `${count(broken.length, 'project')} can't be read.`),
    ]);
  }

  #project({ metadata: { name, description }, clouds }) {
    const head = h('h2', {}, h('a', { href: link(['projects', name]) }, name));
    const about = description && h('p', { class: 'faint' }, description);
    if (!clouds) return [head, about];
    if (clouds.error) return [head, about, h('p', { class: 'alarm' }, `Its logical clouds can't be read: ${clouds.error}`)];
    const bad = (cloud) => ['somebody', 'hindered', 'working', 'done', 'none'].indexOf(toneOf(cloud.status.state));
    const sorted = clouds.items.toSorted((one, other) => bad(one) - bad(other));
    const rest = sorted.length - NAMED_MAX;
    return [head, about, h('ul', { class: 'clouds' }, sorted.slice(0, NAMED_MAX).map((cloud) => h(
      'li',
      {},
      h('a', { href: link(['projects', name, cloud.metadata.name]) }, cloud.metadata.name),
      mark(toneOf(cloud.status.state), stateOf(cloud.status)),
      h('span', { class: 'faint' }, progressOf(cloud.status)),
    )), rest > 0 && h('li', {}, h('a', { href: link(['projects', name]) }, `${count(rest, 'more')}`))),
    sorted.length === 0 && h('p', { class: 'faint' }, 'No logical cloud.')];
  }

  close() {
    this.polling.stop();
  }
}
