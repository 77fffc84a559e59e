// One cluster of a logical cloud: each object, each request, each cause, and what may help.

import { TONES, causesOf } from './board.mjs';
import { against, awaitsApproval } from './commands.mjs';
import { command, fullTime, h, mark, redraw } from './dom.mjs';
import { helpOf, objectName, toneOfReason } from './words.mjs';

export class ClusterTab {
  #place;

  constructor(place) {
    this.#place = place;
    this.element = h('div', { class: 'cluster' });
  }

  go(place) {
    return place.tab === 'cluster' && place.cluster === this.#place.cluster;
  }

  show(status) {
    const id = this.#place.cluster;
    const cloud = { project: status.project, name: status.name, isStopped: Boolean(status.stopped) };
    const found = status.clusters[id];
    redraw(this.element, { id, cloud, found, issued: issuedOn(status, id) }, (value) => this.#content(value));
  }

  #content({ id, cloud, found, issued }) {
    if (!found) return h('p', {}, `${cloud.name} is not on ${id}, and its documents do not name it.`);
    const { lane, reference } = found;
    const facts = h('p', { class: 'facts' }, [
      h('span', {}, mark(lane ? toneOfLane(lane) : 'none', lane ? lane.state : 'not applied', { class: 'mark strong' }), ' ', lane && Date.parse(lane.since) > 0 && fullTime(lane.since, 'for')),
      h('span', {}, reference ? ['reference ', h('b', {}, reference)] : 'no longer referred to'),
      lane && h('span', {}, `generation ${lane.observedGeneration}`),
    ]);
    return [facts, lane && [this.#causes(lane, id, cloud), things(lane)], credentials(issued)];
  }

  #causes(lane, id, cloud) {
    const causes = causesOf(lane);
    if (causes.length === 0) return null;
    return h('section', { class: 'hindrances' }, h('h2', {}, 'What hinders'), h('ul', { class: 'plain' }, causes.map(({ cause, objects, subject }) => h(
      'li',
      {},
      mark(toneOfReason(cause.reason), awaitsApproval({ ...cause, objects }) ? 'awaits approval' : cause.reason, { class: 'mark strong' }),
      h(
        'span',
        { class: 'what' },
        h('span', {}, cause.detail ?? cause.message),
        (subject || helpOf(cause.reason)) && h('span', { class: 'faint' }, [subject, helpOf(cause.reason)].filter(Boolean).join('; ')),
        cause.nextTry && h('span', {}, fullTime(cause.nextTry, 'try')),
      ),
      h('span', { class: 'help' }, against({ ...cause, objects }, id, cloud).map(command)),
    ))));
  }
}

function toneOfLane({ state, cause }) {
  if (cause) return toneOfReason(cause.reason);
  return state === 'done' || state === 'removed' ? 'done' : 'working';
}

/** A cause in words; what stands at an object already is not said again. */
function told(cause, name) {
  const waitedFor = cause.object && objectName(cause.object);
  return waitedFor && waitedFor !== name ? `waits for ${waitedFor}` : `${cause.reason}: ${cause.detail ?? cause.message}`;
}

function things(lane) {
  const rows = [
    ...lane.objects.map((object) => [objectName(object), object]),
    ...lane.requests.map((request) => [request.name, request]),
  ];
  if (rows.length === 0) return null;
  return h('section', {}, h('h2', {}, 'Objects and requests'), h(
    'div',
    { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': 'Objects and requests, can be scrolled' },
    h('table', { class: 'list' }, h('caption', { class: 'unseen' }, 'Objects and requests'), h('thead', {}, h('tr', {}, ['Object', 'State', 'Cause'].map((text) => h('th', { scope: 'col' }, text)))), h('tbody', {}, rows.map(([name, { state, cause }]) => h(
      'tr',
      {},
      h('th', { scope: 'row' }, name),
      h('td', {}, mark(cause ? toneOfReason(cause.reason) : TONES[state] ?? 'none', state)),
      h('td', {}, cause ? told(cause, name) : '–'),
    )))),
  ));
}

/** What a cluster has issued, or not: of each credential user, type and how far it is. */
function issuedOn(status, id) {
  return Object.entries(status.credentials).filter(([, one]) => one.clusters[id]).map(([user, one]) => [user, one.type, one.clusters[id]]);
}

function credentials(rows) {
  if (rows.length === 0) return null;
  return h('section', {}, h('h2', {}, 'Credentials'), h('ul', { class: 'plain' }, rows.map(([user, type, issuance]) => h(
    'li',
    {},
    mark(issuance.state === 'issued' ? 'done' : 'working', issuance.state, { class: 'mark strong' }),
    h(
      'span',
      { class: 'what' },
      h('span', {}, `${type} of ${user}`),
      issuance.notAfter ? h('span', {}, fullTime(issuance.notAfter, 'left')) : h('span', { class: 'faint' }, issuance.cause ? `${issuance.cause.reason}: ${issuance.cause.detail ?? issuance.cause.message}` : issuance.message),
      issuance.isShortened && h('span', { class: 'faint' }, 'ends earlier than was asked for'),
      issuance.state === 'issued' && !issuance.isTried && h('span', { class: 'faint' }, 'not tried at the cluster'),
      issuance.newer && h('span', { class: 'faint' }, `an earlier one; of the newest: ${issuance.newer}`),
    ),
  ))));
}
