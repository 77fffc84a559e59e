// The words in which states, causes and times are told: those of `dcm status`.

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The time between two moments (milliseconds), in one unit, or two for what is near: `42s`, `3m20s`, `5h`, `12d`. */
export function between(earlier, later) {
  const seconds = Math.max(0, Math.trunc((later - earlier) / 1000));
  if (seconds < MINUTE) return `${seconds}s`;
  const minutes = Math.trunc(seconds / MINUTE);
  if (seconds < 600 && seconds % MINUTE > 0) return `${minutes}m${seconds % MINUTE}s`;
  if (seconds < HOUR) return `${minutes}m`;
  if (seconds < DAY) return `${Math.trunc(seconds / HOUR)}h`;
  return `${Math.trunc(seconds / DAY)}d`;
}

const two = (number) => String(number).padStart(2, '0');

/** A moment as people here read it: day and time of this place. */
export function absolute(at) {
  const time = new Date(at);
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day} ${clock(at)}`;
}

/** The time of the day, here. */
export function clock(at) {
  const time = new Date(at);
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** A moment in words, by its form: how long ago, how long until it is, or when the next try is. */
export function relative(at, form, now) {
  switch (form) {
    case 'for': return `for ${between(at, now)}`;
    case 'ago': return `${between(at, now)} ago`;
    case 'try': return at > now ? `next try in ${between(now, at)}` : 'trying again';
    case 'left': return at > now ? `${between(now, at)} left` : `ended ${between(at, now)} ago`;
    case 'renewal': return at > now ? `in ${between(now, at)}` : 'at the next look of a worker';
    default: return at > now ? `in ${between(now, at)}` : `${between(at, now)} ago`;
  }
}

/** Kinds of causes at which nothing happens by itself: somebody has to change something. */
export const NEEDS_SOMEBODY = new Set([
  'denied', 'invalid', 'unknown-kind', 'foreign', 'field-conflict', 'namespace-gone', 'cluster-changed', 'store-behind',
  'plan-stale', 'same-cluster', 'unauthorized', 'not-accepted', 'left-alone',
]);

/** Kinds of causes that pass by themselves, or that somebody has decided. */
export const PASSES = new Set([
  'waiting', 'retrying', 'unreachable', 'signer-silent', 'lapsed', 'has-contents', 'drifted', 'tampered', 'paused',
]);

/** What comes behind the message of a cause. */
export function helpOf(reason) {
  if (reason === 'cluster-changed') return 'dcm cluster accept takes it in the place of the other one';
  return NEEDS_SOMEBODY.has(reason) ? 'somebody has to change something' : '';
}

/** How a cause is marked. */
export function toneOfReason(reason) {
  if (NEEDS_SOMEBODY.has(reason)) return 'somebody';
  return reason === 'waiting' ? 'working' : 'hindered';
}

const WORK = { instantiate: 'instantiating', update: 'updating', terminate: 'terminating' };

/** The state of a logical cloud. A list has none of one whose records can't be read. */
export function stateOf({ state, work }) {
  if (state === undefined) return "state can't be told";
  return work ? `${state} while ${WORK[work] ?? work}` : state;
}

/** How a state of a logical cloud is marked. */
export function toneOf(state) {
  switch (state) {
    case 'instantiated': return 'done';
    // It stays so until somebody looks why.
    case 'failed': case undefined: return 'somebody';
    case 'stopped': return 'hindered';
    case 'instantiating': case 'updating': case 'terminating': return 'working';
    default: return 'none';
  }
}

/** An object, as `dcm status` names it. */
export function objectName({ kind, group, namespace, name }) {
  const full = group ? `${kind}.${group}` : kind;
  return namespace ? `${full} ${namespace}/${name}` : `${full} ${name}`;
}

/** The same without its API group, where there is little room. */
export function shortName({ kind, namespace, name }) {
  return objectName({ kind, namespace, name });
}

/** A number of things, in words. */
export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}

/** On how many clusters a logical cloud is how far, without what is none; nothing where that can't be told. */
export function progressOf({ state, clusters }) {
  if (!clusters) return '';
  const { done, working, failed } = clusters;
  const all = done + working + failed;
  if (all === 0 || state === 'terminated') return 'on no cluster';
  const parts = [[failed, failed === 1 ? 'needs somebody' : 'need somebody'], [working, 'not done yet'], [done, 'done']];
  const told = parts.filter(([number]) => number > 0);
  if (told.length === 1) return `${count(all, 'cluster')}, ${told[0][1]}`;
  return `${count(all, 'cluster')}: ${told.map(([number, word]) => `${number.toLocaleString('en')} ${word}`).join(', ')}`;
}
