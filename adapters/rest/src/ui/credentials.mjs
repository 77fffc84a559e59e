// The credentials of a logical cloud's users: how long they are good, and who renews them.

import { now } from './api.mjs';
import { credentialsOf } from './board.mjs';
import { ofCloud } from './commands.mjs';
import { command, fullTime, h, mark, redraw, some } from './dom.mjs';
import { count } from './words.mjs';

const DAY = 86_400_000;

/** Most causes that are told of a credential; all are at the clusters. */
const SAID_MAX = 5;

export class CredentialsTab {
  constructor() {
    this.element = h('div', {});
    // What is near its end is so by the time alone, and nobody tells that.
    this.timer = setInterval(() => this.last && this.#draw(this.last), 60_000);
  }

  show(status) {
    if (this.last?.credentials === status.credentials) return;
    this.#draw(status);
  }

  #draw(status) {
    this.last = status;
    const cloud = { project: status.project, name: status.name };
    const rows = credentialsOf(status).map((row) => ({ ...row, left: row.first && daysBefore(row.first.at) }));
    redraw(this.element, { cloud, rows }, (value) => this.#content(value));
  }

  #content({ cloud, rows }) {
    if (rows.length === 0) return h('p', {}, 'No user has a credential: none is applied.');
    const head = ['User', 'Type', 'Days left', 'First end', 'Renewed', 'Issued by', 'Fetch it'].map((text) => h('th', { scope: 'col' }, text));
    return h(
      'div',
      { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': 'Credentials, can be scrolled' },
      h('table', { class: 'list' }, h('caption', { class: 'unseen' }, `Credentials of the users of ${cloud.name}`), h('thead', {}, h('tr', {}, head)), h('tbody', {}, rows.map((row) => this.#row(row, cloud)))),
    );
  }

  #row({ user, credential, issued, clusters, first, left, missing, older }, cloud) {
    const { type, epoch, serial, renewal, ending, isOwnRequest, outdated = [] } = credential;
    return h(
      'tr',
      {},
      h('th', { scope: 'row' }, user, h('span', { class: 'faint' }, `epoch ${epoch}, serial ${serial}`)),
      h('td', {}, type, isOwnRequest && h('span', { class: 'faint' }, 'the user keeps the key')),
      h('td', { class: 'number' }, daysLeft(left, ending)),
      h('td', {}, first ? [h('span', {}, fullTime(first.at, 'left')), h('span', { class: 'faint' }, `on ${first.cluster}`)] : '–', ending && help(ending)),
      h('td', {}, renewal && !ending ? fullTime(renewal, 'renewal') : '–'),
      h('td', {}, mark(issued === clusters ? 'done' : 'hindered', `${issued.toLocaleString('en')} of ${clusters.toLocaleString('en')}`),
        [...missing, ...older.map((one) => ({ ...one, message: `an earlier one; of the newest: ${one.message}` }))]
          .slice(0, SAID_MAX).map((one) => h('span', { class: 'faint' }, `${one.message}: ${some(one.clusters)}`)),
        outdated.length > 0 && h('span', { class: 'faint' }, `the kubeconfig that was given is out of date for ${count(outdated.length, 'cluster')}`)),
      h('td', {}, command(`${ofCloud(cloud, 'kubeconfig')} --user ${user}`)),
    );
  }

  close() {
    clearInterval(this.timer);
  }
}

/** Whole days before a moment; fewer than none when it is past. */
const daysBefore = (at) => Math.floor((at - now()) / DAY);

function daysLeft(days, ending) {
  if (days === undefined) return mark('none', 'none issued');
  if (days < 0) return mark('somebody', 'ended');
  const word = days < 1 ? 'less than 1' : days.toLocaleString('en');
  if (ending) return mark(ending.needsUser ? 'somebody' : 'hindered', word);
  return mark('done', word);
}

function help({ needsUser, clusters }) {
  const who = needsUser ? 'only the user can renew it, with a new request (dcm subject)' : 'a worker renews it (dcm serve), or dcm renew';
  return h('span', { class: 'faint' }, `near its end on ${count(clusters, 'cluster')}: ${who}`);
}
