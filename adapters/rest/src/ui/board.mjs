// What a status says, put together for people: rows and columns of the matrix, what hinders, and what waits for somebody.
// Nothing here knows of a page.

import { NEEDS_SOMEBODY, objectName, shortName, toneOfReason } from './words.mjs';

/** How bad a cluster is off, the worst first, and what that is called. */
export const SEVERITIES = [
  ['somebody', 'Needs somebody'],
  ['hindered', 'Hindered'],
  ['working', 'At work'],
  ['done', 'Done'],
];

const RANK = { somebody: 0, hindered: 1, working: 2, none: 3, done: 3 };

/** Most objects that have a column each unless that is asked for: where there are more, those of a kind share one. */
export const COLUMNS_MAX = 8;

/** Most columns at all. */
const COLUMNS_LIMIT = 60;

/** By these credentials are asked for; how far that is stands at the requests. */
const SIGNING_REQUEST = 'CertificateSigningRequest';

const rows = new WeakMap();

/** The rows of a status, in the order of the clusters' names. What has not changed is the same row as before. */
export function rowsOf(status) {
  const ids = Object.keys(status.clusters).sort((one, other) => (one < other ? -1 : 1));
  return ids.map((id) => {
    const cluster = status.clusters[id];
    const row = rows.get(cluster) ?? rowOf(id, cluster);
    rows.set(cluster, row);
    return row;
  });
}

function rowOf(id, cluster) {
  const { lane, reference } = cluster;
  const causes = lane ? causesOf(lane) : [];
  const severity = severityOf(lane, causes);
  const state = lane?.state ?? 'not applied';
  const texts = [id, reference ?? '', state, ...causes.flatMap(({ cause, subject }) => [cause.reason, cause.message, cause.detail, subject])];
  return { id, reference, lane, state, causes, severity, text: texts.join('\n').toLowerCase() };
}

function severityOf(lane, causes) {
  if (!lane) return 'none';
  if (causes.some(({ cause }) => NEEDS_SOMEBODY.has(cause.reason))) return 'somebody';
  if (lane.state === 'abandoned' || causes.some(({ cause }) => cause.reason !== 'waiting')) return 'hindered';
  return lane.state === 'done' || lane.state === 'removed' ? 'done' : 'working';
}

/** All causes of a lane, each once, and what each is about: the objects, also by name, or nothing where it is the cluster. */
export function causesOf(lane) {
  const found = new Map();
  const add = (cause, thing, request) => {
    if (!cause) return;
    const key = `${cause.reason}\n${cause.message}`;
    const one = found.get(key) ?? { cause, objects: new Map(), subjects: new Set(), isOfAll: false };
    if (isSooner(cause.nextTry, one.cause.nextTry)) one.cause = cause;
    const object = cause.object ?? thing;
    one.isOfAll ||= !object;
    if (object?.kind) one.objects.set(objectName(object), object);
    // What waits for an object that has the same cause says nothing new.
    const isNamed = object?.kind && object.kind !== SIGNING_REQUEST;
    if (isNamed || request) one.subjects.add(isNamed ? shortName(object) : request.name);
    found.set(key, one);
  };
  if (!lane.cause?.object) add(lane.cause);
  for (const object of lane.objects) add(object.cause, object);
  for (const request of lane.requests) add(request.cause, request, request);
  add(lane.cause);
  return [...found.values()].map(({ cause, objects, subjects, isOfAll }) => {
    return { cause, objects: isOfAll ? [] : [...objects.values()], subject: isOfAll ? '' : [...subjects].join(', ') };
  });
}

/** Whether a time is before another one; none is never. */
function isSooner(one, other) {
  return one !== undefined && (other === undefined || Date.parse(one) < Date.parse(other));
}

/**
 * The columns that rows need: each `{key, kind, name}`, in the order of the steps. Where they are many, those of a kind are one
 * unless each is wanted; `isShared` tells whether there are fewer than objects.
 */
export function columnsOf(all, wantsEach = false) {
  const each = gathered(all, true);
  const limit = wantsEach ? COLUMNS_LIMIT : COLUMNS_MAX;
  const isMany = each.length > COLUMNS_MAX;
  return { columns: each.length > limit ? gathered(all, false) : each, isMany };
}

function gathered(all, byName) {
  const columns = new Map();
  for (const { lane } of all) {
    for (const [key, kind, name] of lane ? keysOf(lane, byName).filter(Boolean) : []) {
      if (!columns.has(key)) columns.set(key, { key, kind, name });
    }
  }
  // What asks for credentials comes last, as it does in the work.
  return [...columns.values()].sort((one, other) => Number(one.key.startsWith('?')) - Number(other.key.startsWith('?')));
}

const keys = new WeakMap();

/** Of each object and request of a lane its column: key, kind and name. */
function keysOf(lane, byName) {
  const cached = keys.get(lane)?.[byName];
  if (cached) return cached;
  const found = [
    ...lane.objects.map((object) => {
      if (object.kind === SIGNING_REQUEST) return undefined;
      const name = byName ? object.name : '';
      return [`${object.kind}.${object.group ?? ''}/${name}`, object.kind, name];
    }),
    ...lane.requests.map((request) => {
      const [kind, user = ''] = request.name.split('/');
      return [`?${kind}/${byName ? user : ''}`, kind, byName ? user : ''];
    }),
  ];
  keys.set(lane, { ...keys.get(lane), [byName]: found });
  return found;
}

export const TONES = {
  applied: 'done', adopted: 'done', edited: 'done', issued: 'done', pending: 'working', removing: 'working', drifted: 'hindered', kept: 'none',
};

/** The cells of a row, one for each column: `{word, tone}`; none where the cluster has no such thing. */
export function cellsOf(row, columns) {
  const byName = columns.some(({ name }) => name !== '');
  const found = new Map();
  if (row.lane) {
    const things = [...row.lane.objects, ...row.lane.requests];
    keysOf(row.lane, byName).forEach((named, index) => {
      if (!named) return;
      const [key] = named;
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(things[index]);
    });
  }
  return columns.map(({ key }) => (found.has(key) ? cellOf(found.get(key)) : undefined));
}

function cellOf(things) {
  const each = things.map(({ kind, state, cause }) => {
    // What is about the cluster, or an object that is waited for, stands there.
    const isItsOwn = cause && (kind !== undefined || cause.object?.kind === SIGNING_REQUEST);
    return { word: isItsOwn ? cause.reason : state, state, tone: isItsOwn ? toneOfReason(cause.reason) : TONES[state] ?? 'none' };
  });
  const worst = each.reduce((one, other) => (RANK[other.tone] < RANK[one.tone] ? other : one));
  if (each.length === 1) return worst;
  const alike = each.filter(({ word }) => word === worst.word).length;
  const word = alike === each.length ? `${alike} ${worst.word}` : `${alike} of ${each.length} ${worst.word}`;
  return { ...worst, word };
}

/** How many clusters are how bad off. */
export function countsOf(all) {
  const counts = { somebody: 0, hindered: 0, working: 0, done: 0, none: 0 };
  for (const { severity } of all) counts[severity] += 1;
  return counts;
}

/**
 * What hinders clusters, each cause once with its clusters, and of each of them the objects that it is about: what waits for
 * somebody first, then the most frequent.
 */
export function hindrancesOf(all) {
  const found = new Map();
  for (const row of all) {
    for (const { cause, objects, subject } of row.causes) {
      const key = `${cause.reason}\n${cause.message}`;
      const one = found.get(key) ?? { ...cause, clusters: [], objects: {}, subjects: new Set(), nextTry: undefined };
      one.clusters.push(row.id);
      one.objects[row.id] = objects;
      if (subject !== '') one.subjects.add(subject);
      const next = cause.nextTry && Date.parse(cause.nextTry);
      if (next && !(one.nextTry <= next)) one.nextTry = next;
      found.set(key, one);
    }
  }
  const rank = ({ reason }) => (NEEDS_SOMEBODY.has(reason) ? 0 : 1);
  const each = [...found.values()].map((one) => ({ ...one, subjects: [...one.subjects] }));
  return each.sort((one, other) => rank(one) - rank(other) || other.clusters.length - one.clusters.length);
}

/** Which rows are shown: problems first, and only what was asked for. */
export function shown(all, { text = '', severity = '', reason = '' }) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  const isAsked = (row) => (severity === '' || row.severity === severity)
    && (reason === '' || row.causes.some(({ cause }) => cause.reason === reason))
    && words.every((word) => row.text.includes(word));
  return all.filter(isAsked).sort((one, other) => RANK[one.severity] - RANK[other.severity]);
}

/** The credentials of a status, a user each. */
export function credentialsOf(status) {
  return Object.entries(status.credentials).map(([user, credential]) => {
    const each = Object.entries(credential.clusters);
    const issued = each.filter(([, { state }]) => state === 'issued');
    const ends = issued.map(([cluster, { notAfter }]) => ({ cluster, at: Date.parse(notAfter) }));
    const first = ends.reduce((one, other) => (other.at < one?.at || !one ? other : one), undefined);
    const lacking = each.filter(([, { state }]) => state === 'missing');
    // The words of the whole name the time of the next try, which is another one on each cluster; they stand at the clusters.
    const missing = groups(lacking.map(([id, { message, cause }]) => [id, cause ? cause.reason : message]));
    const older = groups(issued.filter(([, { newer }]) => newer).map(([id, one]) => [id, one.newer]));
    return { user, credential, issued: issued.length, clusters: each.length, first, missing, older };
  });
}

/** Clusters by what is said of them. */
function groups(said) {
  const found = new Map();
  for (const [id, message] of said) found.set(message, [...(found.get(message) ?? []), id]);
  const all = [...found].map(([message, clusters]) => ({ message, clusters }));
  return all.sort((one, other) => other.clusters.length - one.clusters.length);
}

/** The plan by what is done: clusters with the same steps together, those with most to do first. */
export function plansOf(plan) {
  const found = new Map();
  for (const [id, outline] of Object.entries(plan.clusters)) {
    const key = JSON.stringify(outline);
    if (!found.has(key)) found.set(key, { ...outline, clusters: [] });
    found.get(key).clusters.push(id);
  }
  const rank = ({ unknown, steps }) => (unknown !== undefined ? 0 : steps.length > 0 ? 1 : 2);
  return [...found.values()].sort((one, other) => rank(one) - rank(other) || other.clusters.length - one.clusters.length);
}
