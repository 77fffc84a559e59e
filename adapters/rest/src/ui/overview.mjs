// The clusters of a logical cloud: what waits for somebody, what hinders, how many are how far, and the matrix.

import { SEVERITIES, columnsOf, countsOf, hindrancesOf, rowsOf, shown } from './board.mjs';
import { against, approvals, ofCloud } from './commands.mjs';
import { announce, command, h, mark, redraw, say, some, time } from './dom.mjs';
import { Matrix } from './matrix.mjs';
import { clusterLink, link } from './route.mjs';
import { NEEDS_SOMEBODY, count, stateOf, toneOfReason } from './words.mjs';

/** Causes that are shown at first: the others are behind a button. */
const CAUSES_SHOWN = 6;

/** Commands to approve requests that are shown at the cause: the others are at the clusters. */
const APPROVALS_SHOWN = 6;

export class MatrixTab {
  #place; #status; #rows = []; #counts; #showsAll = false;

  constructor(place) {
    this.#place = place;
    this.filter = h('input', { id: 'filter', type: 'search', placeholder: 'cluster, state, cause', oninput: () => this.#ask({ text: this.filter.value }) });
    this.filter.value = place.query.get('text') ?? '';
    this.waits = h('section', { class: 'waits', hidden: true });
    this.causes = h('section', { class: 'hindrances', hidden: true });
    this.counts = h('div', { class: 'counts', role: 'group', 'aria-label': 'Show clusters' });
    this.again = h('button', { type: 'button', class: 'quiet', hidden: true, onclick: () => this.#sortAgain() }, 'Problems first again');
    this.each = h('a', { hidden: true });
    this.none = h('p', { hidden: true }, 'No cluster is so.');
    this.matrix = new Matrix({ project: place.project, name: place.cloud });
    this.element = h(
      'div',
      {},
      this.waits,
      this.causes,
      h('h2', { class: 'unseen' }, 'Clusters'),
      h('div', { class: 'line tools' }, this.counts, h('label', { for: 'filter' }, 'Filter'), this.filter, this.each, this.again),
      this.none,
      this.matrix.element,
    );
  }

  /** What is asked for is a part of the address. */
  go(place) {
    if (place.tab !== 'clusters') return false;
    this.#place = place;
    const text = place.query.get('text') ?? '';
    if (this.filter.value !== text && document.activeElement !== this.filter) this.filter.value = text;
    if (this.#status) this.#draw(true);
    return true;
  }

  #asked() {
    const { query } = this.#place;
    return { text: this.filter.value, severity: query.get('severity') ?? '', reason: query.get('reason') ?? '', each: query.get('each') ?? '' };
  }

  #link(change) {
    return link(['projects', this.#place.project, this.#place.cloud], { ...this.#asked(), ...change });
  }

  #ask(change) {
    history.replaceState(null, '', this.#link(change));
    dispatchEvent(new HashChangeEvent('hashchange'));
  }

  show(status, change) {
    this.#status = status;
    this.#rows = rowsOf(status);
    this.#showCauses(status);
    this.#draw(!this.matrix.isEntered);
    const counts = countsOf(this.#rows);
    const each = SEVERITIES.map(([key, name]) => `${counts[key]} ${name.toLowerCase()}`).join(', ');
    const text = `${status.name} is ${stateOf(status)}. Of ${count(this.#rows.length, 'cluster')}: ${each}.`;
    if (change !== undefined && this.#counts !== text) announce(text);
    this.#counts = text;
  }

  #draw(mayMove) {
    const asked = this.#asked();
    let rows = shown(this.#rows, asked);
    if (!mayMove) rows = this.#inOrder(rows);
    this.order = rows.map(({ id }) => id);
    const { columns, isMany } = columnsOf(this.#rows, asked.each !== '');
    this.matrix.show(rows, columns, this.#rows);
    this.each.hidden = !isMany;
    this.each.setAttribute('href', this.#link({ each: asked.each ? '' : 'object' }));
    say(this.each, asked.each ? 'Objects by kind' : 'Each object');
    this.none.hidden = rows.length > 0;
    this.matrix.element.hidden = rows.length === 0;
    redraw(this.none, { isOnNone: this.#rows.length === 0, all: this.#link({ text: '', severity: '', reason: '' }) }, ({ isOnNone, all }) => (
      isOnNone ? 'It is on no cluster, and none is named.' : ['No cluster is so. ', h('a', { href: all, onclick: () => { this.filter.value = ''; } }, 'Show all')]
    ));
    this.#showCounts(asked);
  }

  /** Rows where they were; what is new comes last. Whoever is in the table is not to lose their place. */
  #inOrder(rows) {
    const at = new Map(this.order.map((id, index) => [id, index]));
    const kept = rows.toSorted((one, other) => (at.get(one.id) ?? Infinity) - (at.get(other.id) ?? Infinity) || 0);
    this.again.hidden = kept.every((row, index) => row === rows[index]);
    return kept;
  }

  #sortAgain() {
    this.again.hidden = true;
    this.#draw(true);
  }

  #showCounts(asked) {
    const counts = countsOf(this.#rows);
    const button = (key, name, number) => h(
      'a',
      { href: this.#link({ severity: key }), class: 'count', 'data-key': key, 'data-tone': key || null, 'aria-current': asked.severity === key ? 'true' : null },
      h('b', {}, number.toLocaleString('en')),
      ` ${name}`,
    );
    const all = SEVERITIES.map(([key, name]) => button(key, name, counts[key]));
    const reason = asked.reason && h('a', { href: this.#link({ reason: '' }), class: 'count' }, `Only ${asked.reason}: show all`);
    redraw(this.counts, { counts, asked }, () => [
      button('', 'All', this.#rows.length), all, counts.none > 0 && button('none', 'Not applied', counts.none), reason,
    ]);
  }

  /** What somebody has to decide or to change, and below it what else hinders. */
  #showCauses(status) {
    const all = hindrancesOf(this.#rows);
    const of = (isForSomebody) => all.filter(({ reason }) => NEEDS_SOMEBODY.has(reason) === isForSomebody);
    const known = { isStopped: Boolean(status.stopped), showsAll: this.#showsAll, each: this.#asked().each };
    this.#list(this.waits, 'Waits for somebody', { ...known, decided: decidedOf(status), hindrances: of(true) });
    this.#list(this.causes, 'Hindered or waiting', { ...known, decided: undefined, hindrances: of(false) });
  }

  #list(section, title, value) {
    redraw(section, value, ({ decided, hindrances, isStopped, showsAll }) => {
      const items = [...(decided ? decisions(decided) : []), ...hindrances.map((one) => this.#hindrance(one, isStopped))];
      const first = showsAll ? items : items.slice(0, CAUSES_SHOWN);
      const rest = items.length - first.length;
      section.hidden = items.length === 0;
      return [
        h('h2', {}, title),
        h('ul', { class: 'plain' }, first.map((item) => h('li', {}, item))),
        rest > 0 && h('button', { type: 'button', class: 'quiet', 'data-key': 'more', onclick: () => this.#showAll(section) }, count(rest, 'more', 'more')),
      ];
    });
  }

  /** Shows what was behind a button, which is not there any more: whoever pressed it goes on at the first of that. */
  #showAll(section) {
    this.#showsAll = true;
    this.#showCauses(this.#status);
    section.querySelector('ul').children[CAUSES_SHOWN]?.querySelector('a, button')?.focus();
  }

  #hindrance(one, isStopped) {
    const { project, cloud } = this.#place;
    const { reason, message, clusters, objects, subjects, nextTry } = one;
    const [id] = clusters;
    const where = clusters.length === 1
      ? h('a', { href: clusterLink(project, cloud, id) }, id)
      : h('a', { href: this.#link({ reason, severity: '', text: '' }) }, count(clusters.length, 'cluster'));
    const about = [subjects.length > 0 && some(subjects, 1), nextTry && time(nextTry, 'try')].filter(Boolean);
    const awaiting = approvals(one);
    const help = clusters.length === 1
      ? against({ reason, objects: objects[id] }, id, { project, name: cloud, isStopped }).map(command)
      : told(awaiting);
    return [
      mark(toneOfReason(reason), awaiting.length > 0 ? 'awaits approval' : reason, { class: 'mark strong' }),
      h('span', { class: 'what' }, h('span', {}, message), about.length > 0 && h('span', { class: 'faint' }, about.flatMap((part, index) => (index > 0 ? [', ', part] : [part])))),
      h('span', { class: 'where' }, where),
      h('span', { class: 'help' }, help),
    ];
  }
}

/** Requests on several clusters: who approves them does so on each. */
function told(awaiting) {
  const rest = awaiting.slice(APPROVALS_SHOWN).reduce((sum, { clusters }) => sum + clusters.length, 0);
  return [
    ...awaiting.slice(0, APPROVALS_SHOWN).map(({ text, clusters }) => h('span', {}, command(text), ' ', h('span', { class: 'faint' }, `on ${some(clusters)}`))),
    rest > 0 && h('span', { class: 'faint' }, `and others on ${count(rest, 'more cluster')}`),
  ];
}

/** What of a status decisions are told of. */
function decidedOf({ project, name, isInterrupted, isEdited, applied, stopped, credentials, warnings }) {
  const needed = Object.entries(credentials).map(([user, { ending, outdated = [] }]) => ({ user, ending, outdated: outdated.length }));
  return { project, name, isInterrupted, isEdited: Boolean(isEdited && applied), stopped, credentials: needed, warnings };
}

/** Decisions about the cloud as a whole that somebody has to make. */
function decisions({ isInterrupted, isEdited, stopped, credentials, warnings, ...cloud }) {
  const items = [];
  const add = (word, text, help, tone = 'somebody') => items.push([
    mark(tone, word, { class: 'mark strong' }),
    h('span', { class: 'what' }, h('span', {}, text)),
    h('span', {}),
    help && h('span', { class: 'help' }, command(help)),
  ]);
  if (isInterrupted) add('cut off', 'an apply was cut off: apply again or terminate', ofCloud(cloud, 'status'));
  if (isEdited) {
    const plan = h('a', { href: link(['projects', cloud.project, cloud.name, 'plan']) }, 'what an apply would do');
    add('edited', ['its documents differ from what was applied: ', plan], null, 'hindered');
  }
  if (stopped) add('stopped', ['by ', stopped.by, ', ', time(stopped.at, 'ago'), stopped.why ? `: ${stopped.why}` : ''], ofCloud(cloud, 'resume'), 'hindered');
  for (const { user, ending, outdated } of credentials) {
    if (ending?.needsUser) {
      add('credential', [`only ${user} can renew it, with a new request: `, time(ending.at, 'left'), `, first on ${ending.cluster}`], `${ofCloud(cloud, 'subject')} ${user}`);
    }
    if (outdated > 0) {
      const text = `the kubeconfig that ${user} was given has another address or other authorities of ${count(outdated, 'cluster')}`;
      add('kubeconfig', text, `${ofCloud(cloud, 'kubeconfig')} --user ${user}`, 'hindered');
    }
  }
  for (const { path, message } of warnings) add('warning', `${path}: ${message}`, null, 'none');
  return items;
}
