// What an apply would do now: each cluster is asked, and nothing is written.

import { json, now, path } from './api.mjs';
import { plansOf } from './board.mjs';
import { command, fill, h, mark, some, time } from './dom.mjs';
import { quoted } from './commands.mjs';
import { absolute, count } from './words.mjs';

const TONES = {
  create: 'working', request: 'working', update: 'hindered', edit: 'hindered', adopt: 'hindered', overwrite: 'hindered', correct: 'hindered',
  delete: 'somebody', 'delete if empty': 'somebody', release: 'somebody', blocked: 'somebody', report: 'hindered', wait: 'working',
};

/** Most of a value that is shown at once. */
const VALUE_MAX = 200;

export class PlanTab {
  #place; #abort; #status;

  constructor(place) {
    this.#place = place;
    this.button = h('button', { type: 'button', onclick: () => this.#ask() }, 'Ask again');
    this.note = h('p', { role: 'status' });
    this.body = h('div', {});
    this.element = h('div', {}, h('div', { class: 'line' }, this.button, this.note), this.body);
    this.#ask();
  }

  go(place) {
    return place.tab === 'plan';
  }

  /** A plan is of one moment; when the cloud has changed since, it says so. */
  show(status) {
    const mark = JSON.stringify([status.edit, status.state, status.applied?.generation]);
    if (this.#status !== undefined && this.#status !== mark && this.asOf) {
      fill(this.note, h('b', {}, 'The logical cloud has changed since this was asked'), ', ', time(this.asOf, 'ago'), '.');
    }
    this.#status = mark;
  }

  async #ask() {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    this.asOf = undefined;
    this.button.disabled = true;
    const { project, cloud } = this.#place;
    const began = now();
    fill(this.note, 'All clusters are asked what an apply would do; nothing is written. It began ', time(began, 'ago'), '.');
    try {
      const plan = await json(path('projects', project, 'logical-clouds', cloud, 'plan'), { signal: abort.signal });
      this.asOf = now();
      fill(this.note, 'What an apply would have done ', time(this.asOf, 'ago'), ', at ', absolute(this.asOf), '. It is not live.');
      this.#draw(plan);
    } catch (error) {
      if (abort.signal.aborted) return;
      fill(this.body);
      fill(this.note, `It can't be told: ${error.message}`);
    }
    this.button.disabled = false;
  }

  #draw(plan) {
    const groups = plansOf(plan);
    const isNothing = groups.every(({ steps }) => steps?.length === 0);
    fill(
      this.body,
      isNothing && h('p', {}, mark('done', groups.length === 0 ? 'There is no cluster to plan for.' : 'An apply would do nothing: everything is as desired.')),
      !isNothing && groups.map((group) => this.#group(group)),
      !isNothing && h('section', {}, h('h2', {}, 'Do this and nothing else'), h('p', {}, command(`dcm apply -f ${quoted(this.#place.cloud)}.yaml --plan-hash ${plan.hash}`))),
    );
  }

  #group({ unknown, steps, clusters }) {
    const title = h('h2', {}, count(clusters.length, 'cluster'), ' ', h('span', { class: 'faint' }, some(clusters, 5)));
    if (unknown !== undefined) return h('section', {}, title, h('p', {}, mark('somebody', 'unknown'), ` ${unknown}`));
    if (steps.length === 0) return h('section', {}, title, h('p', {}, mark('done', 'nothing'), ' everything is as desired'));
    const head = ['Action', 'Object', 'Why', 'Fields'].map((text) => h('th', { scope: 'col' }, text));
    return h('section', {}, title, h(
      'div',
      { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': `Steps on ${some(clusters)}, can be scrolled` },
      h('table', { class: 'list' }, h('caption', { class: 'unseen' }, `Steps on ${some(clusters)}`), h('thead', {}, h('tr', {}, head)), h('tbody', {}, steps.map(step))),
    ));
  }

  close() {
    this.#abort?.abort();
  }
}

function step({ action, object, why, changes, lines, unchecked, refused }) {
  return h(
    'tr',
    {},
    h('td', {}, mark(TONES[action] ?? 'none', action)),
    h('th', { scope: 'row' }, object),
    h('td', {}, why),
    h('td', {}, refused && mark('somebody', `the cluster would refuse it: ${refused}`), unchecked && h('span', { class: 'faint' }, unchecked), changes?.map(change), lines && linesOf(lines), changes?.length === 0 && '–'),
  );
}

function change(one) {
  if (!('before' in one)) return h('div', { class: 'field' }, h('code', {}, one.path), ' changes');
  return h('div', { class: 'field' }, h('code', {}, one.path), ' ', h('del', {}, value(one.before)), ' ', h('ins', {}, value(one.after)));
}

/** Lines of a text of other clients. */
function linesOf({ member, line, removed = [], added = [] }) {
  const each = (name, lines) => lines.map((text) => h('div', {}, h(name, {}, h('code', {}, text))));
  return h('div', { class: 'field' }, h('code', {}, member), `, line ${line}`, each('del', removed), each('ins', added));
}

function value(of) {
  const text = of === null ? 'not there' : JSON.stringify(of);
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text;
}
