// The logic of the status page that needs no browser: `node --test scripts/ui`.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import * as board from '../../adapters/rest/src/ui/board.mjs';
import * as commands from '../../adapters/rest/src/ui/commands.mjs';
import { reader, waitBefore } from '../../adapters/rest/src/ui/events.mjs';
import { patched } from '../../adapters/rest/src/ui/patch.mjs';
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
