// The logic of the status page that needs no browser: `node --test scripts/ui`.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as board from '../../adapters/rest/src/ui/board.mjs';
import * as commands from '../../adapters/rest/src/ui/commands.mjs';
import { Following, reader, waitBefore } from '../../adapters/rest/src/ui/events.mjs';
import { patched } from '../../adapters/rest/src/ui/patch.mjs';
import * as phases from '../../adapters/rest/src/ui/phases.mjs';
import { Polling } from '../../adapters/rest/src/ui/poll.mjs';
import * as registered from '../../adapters/rest/src/ui/registered.mjs';
import * as route from '../../adapters/rest/src/ui/route.mjs';
import * as words from '../../adapters/rest/src/ui/words.mjs';

test('patches do what RFC 7396 says in its table', () => {
  const table = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }], [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }], [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }], [{ a: ['b'] }, { a: 'c' }, { a: 'c' }], [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }], [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [['a', 'b'], ['c', 'd'], ['c', 'd']], [{ a: 'b' }, ['c'], ['c']], [{ a: 'foo' }, null, null], [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }], [[1, 2], { a: 'b', c: null }, { a: 'b' }], [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, expected] of table) {
    const before = structuredClone(target);
    assert.deepEqual(patched(target, patch), expected);
    assert.deepEqual(target, before, 'the value before is left alone');
  }
});

test('what a patch does not name stays the same object', () => {
  const before = { clusters: { one: { state: 'done' }, other: { state: 'done' } }, users: {} };
  const after = patched(before, { clusters: { one: { state: 'working' } } });
  assert.equal(after.clusters.other, before.clusters.other);
  assert.equal(after.users, before.users);
  assert.notEqual(after.clusters.one, before.clusters.one);
});

test('no name in a patch changes what objects are', () => {
  const after = patched({}, JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": {"polluted": true}}}'));
  assert.equal(after.polluted, undefined);
  assert.equal(after.a.polluted, undefined);
  assert.equal({}.polluted, undefined);
});

test('events are read whatever the pieces in which they come', () => {
  const text = ': alive\n\nevent: status\nid: 0\ndata: {"a":\ndata: 1}\n\nevent: change\r\ndata: {"a":2}\r\n\r\n: alive\n\n';
  const expected = [{ event: 'status', data: '{"a":\n1}' }, { event: 'change', data: '{"a":2}' }];
  for (let size = 1; size <= text.length; size += 1) {
    const heard = [];
    const feed = reader((event) => heard.push(event));
    for (let at = 0; at < text.length; at += size) feed(text.slice(at, at + size));
    assert.deepEqual(heard, expected, `in pieces of ${size}`);
  }
});

test('tries are further and further apart, and not all at once', () => {
  assert.deepEqual([1, 2, 3, 6, 50].map((failures) => waitBefore(failures, 0.5)), [1000, 2000, 4000, 30_000, 30_000]);
  assert.notEqual(waitBefore(3, 0), waitBefore(3, 1));
});

test('times are told as the command tells them', () => {
  const table = [[-5, '0s'], [0, '0s'], [59, '59s'], [60, '1m'], [200, '3m20s'], [700, '11m'], [7300, '2h'], [86_400 * 12 + 5, '12d']];
  for (const [seconds, expected] of table) assert.equal(words.between(0, seconds * 1000), expected);
  assert.equal(words.relative(8000, 'try', 0), 'next try in 8s');
  assert.equal(words.relative(0, 'try', 0), 'trying again');
  assert.equal(words.relative(0, 'left', 3000), 'ended 3s ago');
  assert.equal(words.stateOf({ state: 'stopped', work: 'update' }), 'stopped while updating');
});

test('a fragment names the same place again', () => {
  const place = route.parse(route.clusterLink('a b/c', 'stall', 'edge/berlin'));
  assert.deepEqual([place.view, place.project, place.tab, place.cluster], ['cloud', 'a b/c', 'cluster', 'edge/berlin']);
  const asked = route.parse(route.link(['projects', 'shop', 'stall'], { text: 'a&b #', reason: '' }));
  assert.equal(asked.query.get('text'), 'a&b #');
  assert.equal(asked.query.has('reason'), false);
  assert.equal(route.parse('').view, 'projects');
  assert.equal(route.parse('#/projects/%E0%A4%A/x/credentials').tab, 'credentials');
  assert.equal(route.parse('#/elsewhere').view, 'nowhere');
});

test('commands can be given to a shell whatever a name is', () => {
  assert.equal(commands.ofCloud({ project: 'shop', name: 'stall' }, 'status'), 'dcm status stall -p shop');
  assert.equal(commands.quoted("a'; rm -rf $HOME"), "'a'\\''; rm -rf $HOME'");
});

const object = (kind, name, state, cause) => ({ kind, namespace: 'n', name, state, cause });
const lane = (state, objects, requests = [], cause) => ({ state, since: '2026-03-01T08:00:00Z', observedGeneration: 1, objects, requests, cause });
const denied = { reason: 'denied', message: 'no', object: { kind: 'Role', namespace: 'n', name: 'look' }, nextTry: '2026-03-01T08:00:09Z' };
const lost = { reason: 'unreachable', message: 'connection refused', nextTry: '2026-03-01T08:00:05Z' };
const STATUS = {
  clusters: {
    'edge/vienna': { reference: 'vienna', lane: lane('done', [object('Role', 'look', 'applied')], [{ name: 'certificate/ann/1/1', state: 'issued' }]) },
    'edge/berlin': { reference: 'berlin', lane: lane('working', [], [{ name: 'certificate/ann/1/1', state: 'pending', cause: lost }], lost) },
    'edge/oslo': {
      reference: 'oslo',
      lane: lane('working', [object('Role', 'look', 'pending', denied)], [{ name: 'certificate/ann/1/1', state: 'pending', cause: denied }], denied),
    },
    'edge/rome': { reference: 'rome' },
  },
};

test('problems come first, and then the names', () => {
  const rows = board.rowsOf(STATUS);
  assert.deepEqual(rows.map(({ id }) => id), ['edge/berlin', 'edge/oslo', 'edge/rome', 'edge/vienna']);
  assert.deepEqual(board.shown(rows, {}).map(({ id }) => id), ['edge/oslo', 'edge/berlin', 'edge/rome', 'edge/vienna']);
  assert.deepEqual(board.shown(rows, { text: 'EDGE refused' }).map(({ id }) => id), ['edge/berlin']);
  assert.deepEqual(board.shown(rows, { severity: 'somebody' }).map(({ id }) => id), ['edge/oslo']);
  assert.deepEqual(board.shown(rows, { reason: 'unreachable' }).map(({ id }) => id), ['edge/berlin']);
  assert.deepEqual(board.countsOf(rows), { somebody: 1, hindered: 1, working: 0, done: 1, none: 1 });
});

test('what has not changed is the same row', () => {
  const before = board.rowsOf(STATUS);
  const after = board.rowsOf(patched(STATUS, { clusters: { 'edge/oslo': { lane: { state: 'removing' } } } }));
  assert.deepEqual(before.map((row, index) => row === after[index]), [true, false, true, true]);
});

test('a cause is told once, and of what it is about', () => {
  const [berlin, oslo] = board.rowsOf(STATUS);
  assert.deepEqual(berlin.causes.map(({ cause, subject }) => [cause.reason, subject]), [['unreachable', '']]);
  assert.deepEqual(oslo.causes.map(({ cause, subject }) => [cause.reason, subject]), [['denied', 'Role n/look']]);
  const found = board.hindrancesOf(board.rowsOf(STATUS));
  assert.deepEqual(found.map(({ reason, clusters }) => [reason, clusters]), [['denied', ['edge/oslo']], ['unreachable', ['edge/berlin']]]);
});

test('a cell has the cause where it stands, and a request what it is', () => {
  const rows = board.rowsOf(STATUS);
  const { columns } = board.columnsOf(rows);
  assert.deepEqual(columns.map(({ kind, name }) => `${kind} ${name}`), ['Role look', 'certificate ann']);
  const cells = rows.map((row) => board.cellsOf(row, columns).map((cell) => cell?.word));
  assert.deepEqual(cells, [[undefined, 'pending'], ['denied', 'pending'], [undefined, undefined], ['applied', 'issued']]);
});

test('many objects share a column with those of their kind', () => {
  const roles = Array.from({ length: 30 }, (_, index) => object('Role', `r${index}`, index < 3 ? 'pending' : 'applied'));
  const rows = board.rowsOf({ clusters: { 'edge/berlin': { lane: lane('working', roles) } } });
  const { columns, isMany } = board.columnsOf(rows);
  assert.deepEqual([columns.length, isMany], [1, true]);
  assert.deepEqual(board.cellsOf(rows[0], columns).map(({ word, tone }) => [word, tone]), [['3 of 30 pending', 'working']]);
  assert.equal(board.columnsOf(rows, true).columns.length, 30);
});

test('a credential is as good as its first end', () => {
  const issued = (notAfter) => ({ state: 'issued', serial: 1, notAfter, isShortened: false });
  const clusters = { 'edge/a': issued('2026-03-09T00:00:00Z'), 'edge/b': issued('2026-03-05T00:00:00Z'), 'edge/c': { state: 'missing', message: 'm', cause: lost } };
  const [row] = board.credentialsOf({ credentials: { ann: { clusters } } });
  assert.deepEqual([row.issued, row.clusters, row.first.cluster], [2, 3, 'edge/b']);
  assert.deepEqual(row.missing, [{ message: 'unreachable', clusters: ['edge/c'] }]);
});

test('clusters with the same plan are told together, the unknown first', () => {
  const steps = [{ action: 'update', object: 'ResourceQuota n/compute', why: 'its manifest changed', changes: [] }];
  const plan = { clusters: { a: { steps: [] }, b: { steps }, c: { steps: [] }, d: { unknown: 'it is cut off' }, e: { steps } } };
  assert.deepEqual(board.plansOf(plan).map(({ clusters }) => clusters), [['d'], ['b', 'e'], ['a', 'c']]);
});

test('a logical cloud whose state nobody could tell is told as that', () => {
  // So a list with progress has it.
  const unknown = { uid: 'u', edit: 1, users: 0, clusterReferences: 1, isApplied: true };
  assert.deepEqual([words.stateOf(unknown), words.toneOf(unknown.state), words.progressOf(unknown)], ["state can't be told", 'somebody', '']);
  const progress = (state, done, working, failed) => words.progressOf({ state, clusters: { done, working, failed } });
  assert.equal(progress('instantiated', 2, 0, 0), '2 clusters, done');
  assert.equal(progress('failed', 2, 1, 1), '4 clusters: 1 needs somebody, 1 not done yet, 2 done');
  assert.equal(progress('terminated', 2, 0, 0), 'on no cluster');
});

const request = (name) => ({ kind: 'CertificateSigningRequest', group: 'certificates.k8s.io', name });
const unapproved = (name) => ({ name: `certificate/${name}/1/1`, state: 'pending', cause: { reason: 'denied', message: 'may not approve', object: request(`csr-${name}`) } });
const AWAITING = lane('working', [], [unapproved('ann'), unapproved('bob')], unapproved('ann').cause);
const CLOUD = { project: 'shop', name: 'stall', isStopped: false };

test('all requests that wait for an approval on a cluster are in one command', () => {
  const [{ causes: [{ cause, objects }, ...more] }] = board.rowsOf({ clusters: { 'edge/porto': { lane: AWAITING } } });
  assert.deepEqual([objects.map(({ name }) => name), more], [['csr-ann', 'csr-bob'], []]);
  assert.equal(commands.awaitsApproval({ ...cause, objects }), true);
  assert.deepEqual(commands.against({ ...cause, objects }, 'edge/porto', CLOUD), ['kubectl certificate approve csr-ann csr-bob', 'dcm cluster check edge/porto']);
  assert.deepEqual(commands.against({ reason: 'denied', objects: [object('Role', 'look')] }, 'edge/oslo', CLOUD), ['dcm cluster check edge/oslo']);
});

test('where several clusters have requests that wait, each command is told once with its clusters', () => {
  const other = lane('working', [], [unapproved('cleo')], unapproved('cleo').cause);
  const [found, ...more] = board.hindrancesOf(board.rowsOf({ clusters: { 'edge/porto': { lane: AWAITING }, 'edge/rome': { lane: other }, 'edge/turin': { lane: AWAITING } } }));
  assert.deepEqual(more, []);
  assert.deepEqual(commands.approvals(found), [
    { text: 'kubectl certificate approve csr-ann csr-bob', clusters: ['edge/porto', 'edge/turin'] },
    { text: 'kubectl certificate approve csr-cleo', clusters: ['edge/rome'] },
  ]);
  assert.deepEqual(board.hindrancesOf(board.rowsOf(STATUS)).flatMap(commands.approvals), []);
});

test('a loss is told once, and its end only where it was told', () => {
  const told = (...names) => {
    let state = phases.STILL;
    return names.map((name, at) => {
      const before = state;
      state = phases.following(before, { phase: name }, at * 1000);
      return phases.aloud(before, state)?.split('.')[0];
    });
  };
  const [no, lost, live] = [undefined, 'The connection is lost', 'What is shown is live again'];
  // The server ends each connection some time, and the page goes on at once.
  assert.deepEqual(told('connecting', 'live', 'connecting', 'live'), [no, no, no, no]);
  assert.deepEqual(told('live', 'hidden', 'connecting', 'live'), [no, no, no, no]);
  assert.deepEqual(told('live', 'lost', 'connecting', 'lost', 'connecting', 'live', 'connecting', 'live'), [no, lost, no, no, no, live, no, no]);
});

test('what is lost or not followed is old, and what is gone is so for ever', () => {
  const after = (...names) => names.reduce((state, name, at) => phases.following(state, { phase: name }, at * 1000), phases.STILL);
  const seen = (state, now) => [phases.isOld(state, now), phases.isWarned(state, now)];
  assert.deepEqual(seen(after('connecting', 'live'), 9000), [false, false]);
  assert.deepEqual(seen(after('live', 'connecting'), 2000), [false, false]);
  assert.deepEqual(seen(after('live', 'connecting'), 9000), [true, true]);
  assert.deepEqual(seen(after('live', 'lost', 'connecting'), 9000), [true, true]);
  assert.deepEqual(seen(after('connecting', 'lost'), 9000), [false, true]);
  assert.deepEqual(seen(after('live', 'broken'), 9000), [true, true]);
  assert.deepEqual(seen(after('live', 'gone'), 9000), [false, false]);
  // What is asked for now and then is from when it was read.
  const read = phases.following(phases.STILL, { phase: 'live', every: 5000 }, 1000);
  assert.equal(phases.following(read, { phase: 'lost' }, 6000).asOf, 1000);
});

test('a provider that can not be read hides no other one', () => {
  const cluster = (name) => ({ metadata: { name }, spec: { labels: { tier: 'city' }, server: 'https://there' } });
  const providers = { items: ['edge', 'gone', 'shut', 'sites'].map((name) => ({ metadata: { name } })), broken: [{}], isWhole: true };
  const found = registered.registeredOf(providers, [
    { items: [cluster('oslo'), cluster('rome')], broken: [{}, {}], isWhole: true }, { error: { status: 404, message: 'no such thing' } },
    { error: { status: 503, message: 'the store is away' } }, { items: [cluster('site-1')], broken: [], isWhole: true },
  ]);
  assert.deepEqual(found.items.map(({ id }) => id), ['edge/oslo', 'edge/rome', 'sites/site-1']);
  assert.deepEqual(found.failed, [{ provider: 'shut', why: 'the store is away' }]);
  assert.equal(registered.extentOf(found, 3), "3 clusters, in 3 providers; 2 more can't be read; 1 provider can't be read");
  assert.equal(registered.extentOf({ ...found, broken: 0, brokenProviders: 0, isWhole: false }, 1), '1 of 3 clusters; there are more than are shown');
});

/** A connection that does something else than it is waited for tries again for ever. */
const BOUNDED = { timeout: 10_000 };

/** As much of a browser as a connection sees: whether somebody looks, and what is told of that. */
function page() {
  const target = new EventTarget();
  globalThis.document = Object.assign(target, { hidden: false });
  for (const name of ['addEventListener', 'removeEventListener']) globalThis[name] = target[name].bind(target);
  return {
    online: () => target.dispatchEvent(new Event('online')),
    see(isSeen) {
      target.hidden = !isSeen;
      target.dispatchEvent(new Event('visibilitychange'));
    },
  };
}

/** What a connection tells, and a promise of the next time that it tells a phase. */
function listener() {
  const told = [];
  const waiting = [];
  return {
    told,
    phase: (state) => {
      told.push(state.phase);
      waiting.filter(({ name }) => name === state.phase).forEach(({ resolve }) => resolve(state));
    },
    next: (name) => new Promise((resolve) => { waiting.push({ name, resolve }); }),
  };
}

test('an error of drawing is no lost connection', BOUNDED, async (t) => {
  page();
  t.mock.method(console, 'error', () => {});
  const { told, phase, next } = listener();
  const broken = next('broken');
  const polling = new Polling({ load: async () => 1, interval: 60_000, told: () => { throw new Error('no such row'); }, phase });
  t.after(() => polling.stop());
  assert.equal((await broken).why, 'no such row');
  assert.deepEqual(told, ['connecting', 'broken']);
  assert.equal(console.error.mock.callCount(), 1, 'it is told where it is');
});

/** An answer with these events, that stays open until it is given back. */
const open = (signal, ...events) => new Response(new ReadableStream({
  start(stream) {
    signal.addEventListener('abort', () => stream.error(signal.reason));
    for (const [event, data] of events) stream.enqueue(new TextEncoder().encode(`event: ${event}\ndata: ${data}\n\n`));
  },
}));

test('an error of drawing does not end the events', BOUNDED, async (t) => {
  page();
  t.mock.method(console, 'error', () => {});
  const { told, phase, next } = listener();
  const live = next('live');
  const draw = (value, change) => { if (change === undefined) throw new Error('no such row'); };
  const following = new Following({ open: async (signal) => open(signal, ['status', '{"a":1}'], ['change', '{"a":2}']), told: draw, phase });
  t.after(() => following.stop());
  await live;
  assert.deepEqual(told, ['connecting', 'broken', 'live']);
});

test('an answer that can not be read on is given back', BOUNDED, async (t) => {
  page();
  const { phase, next } = listener();
  const lost = next('lost');
  let signal;
  const following = new Following({ open: async (its) => { signal = its; return open(its, ['status', '{"a":']); }, told: () => {}, phase });
  t.after(() => following.stop());
  await lost;
  assert.equal(signal.aborted, true);
});

test('what is gone is not followed again', BOUNDED, async (t) => {
  const { online, see } = page();
  const { told, phase, next } = listener();
  const gone = next('gone');
  const following = new Following({ open: async () => new Response('event: deleted\ndata: {}\n\n'), told: () => {}, phase });
  t.after(() => following.stop());
  await gone;
  online();
  see(false);
  see(true);
  following.again();
  assert.deepEqual(told, ['connecting', 'gone']);
});

test('a page that nobody sees gives up after a minute, also between two tries', BOUNDED, async (t) => {
  const { online, see } = page();
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  t.mock.method(Math, 'random', () => 0);
  const { told, phase, next } = listener();
  let tries = 0;
  const lost = next('lost');
  const following = new Following({ open: async () => { tries += 1; throw new Error('the server does not answer'); }, told: () => {}, phase });
  t.after(() => following.stop());
  await lost;
  // The next try comes later than the page is hidden for long.
  for (let failed = next('lost'); tries < 6; failed = next('lost')) {
    following.again();
    await failed;
  }
  see(false);
  const before = tries;
  // Tries on the way fail as those before.
  for (let second = 0; second < 60; second += 1) {
    const [count, failed] = [tries, next('lost')];
    t.mock.timers.tick(1000);
    if (tries > count) await failed;
  }
  assert.equal(told.at(-1), 'hidden');
  const given = tries;
  assert.ok(given > before, 'it was tried meanwhile');
  t.mock.timers.tick(600_000);
  online();
  assert.equal(tries, given);
  const again = next('connecting');
  see(true);
  await again;
  assert.equal(tries, given + 1);
});
