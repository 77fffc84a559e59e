// What people do with the page.

import assert from 'node:assert/strict';

import { KEY, pause } from './browser.mjs';

/**
 * Longest times for a thousand clusters to be shown, a filter to answer, and a change to be shown, in milliseconds. They depend on the
 * machine, so that only the whole proof compares them.
 */
const SHOWN_MAX = 4000;
const FILTER_MAX = 500;
const CHANGE_MAX = 300;

const shows = (text) => `() => document.querySelector('main').innerText.includes(${JSON.stringify(text)})`;

export async function changesAreSeen({ browser, fleet }) {
  const at = 'projects/bank/logical-clouds/vault';
  await browser.size(1280, 800);
  await browser.open(`${fleet.url}/ui/#/projects/bank/vault`);
  await browser.until('the cloud', shows('instantiated'));
  await browser.run('() => { window.isTheSame = true; }');
  await fleet.ask('PUT', `${at}/quotas/storage`, { spec: { 'requests.storage': '1Gi' } });
  await browser.until('the edit', shows('edited since'));
  await fleet.ask('POST', `${at}/apply`);
  await browser.until('the new object', `() => [...document.querySelectorAll('.matrix tbody td')].some((cell) => cell.innerText === '2 applied' && cell.dataset.label === 'ResourceQuota')`);
  await fleet.ask('POST', `${at}/terminate`);
  await browser.until('the end', shows('terminated'));
  // What is told aloud waits some seconds, so that it is no flood.
  await browser.until('what is told aloud', `() => /^vault is terminated. Of 2 clusters:/.test(document.querySelector('#announcer').textContent)`);
  assert.equal(await browser.run('() => window.isTheSame'), true, 'the page was loaded anew');
  await fleet.ask('DELETE', at);
  await browser.until('that it is gone', shows('This logical cloud was deleted.'));
  await goneIsGone(browser, fleet, at);
}

const shown = (browser) => browser.run(`() => ({
  phase: document.querySelector('#freshness').innerText, facts: document.querySelector('.facts').innerText, body: document.querySelector('.body').innerText,
  isWarned: !document.querySelector('#stale').hidden, isStale: document.querySelector('main').hasAttribute('data-stale'),
})`);

/** What is deleted stays so until somebody looks again, also when there is another one of its name. */
async function goneIsGone(browser, fleet, at) {
  const gone = await shown(browser);
  assert.deepEqual([gone.phase, gone.facts, gone.isWarned, gone.isStale], ['Gone', 'deleted', false, false]);
  await fleet.ask('PUT', `${at}/document`, {
    apiVersion: 'dcm.internal/v1', kind: 'LogicalCloud', metadata: { name: 'vault' }, spec: { clusters: [{ provider: 'edge', cluster: 'berlin' }] },
  });
  // A connection would be tried at once.
  await browser.run(`() => { dispatchEvent(new Event('online')); document.dispatchEvent(new Event('visibilitychange')); }`);
  assert.deepEqual(await shown(browser), gone);
  await browser.run(`() => { document.querySelector('.body button').click(); }`);
  await browser.until('the other one', `() => document.querySelector('.facts')?.innerText.includes('created') && document.querySelectorAll('.matrix tbody tr').length === 1`);
  const found = await shown(browser);
  assert.deepEqual([found.phase, found.isWarned, found.isStale, found.body.includes('was deleted')], ['Live', false, false, false]);
  await fleet.ask('DELETE', at);
  await browser.until('that it is gone, too', shows('This logical cloud was deleted.'));
}

export async function manyClustersAreUsable({ browser, fleet, clusters, figures, provesAll }) {
  await browser.size(1360, 900);
  await browser.open('about:blank');
  await browser.open(`${fleet.url}/ui/#/projects/shop/market`);
  await browser.until('all rows', `(count) => document.querySelectorAll('.matrix tbody tr').length === count`, clusters);
  const times = await browser.run(`() => {
    const status = performance.getEntriesByName('dcm-status')[0];
    const asked = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/v2/'));
    return { script: status.duration, ready: status.startTime + status.duration, requests: asked.length, elements: document.querySelectorAll('*').length };
  }`);
  figures.shown_script_ms = Math.round(times.script);
  figures.shown_from_navigation_ms = Math.round(times.ready);
  figures.elements = times.elements;
  assert.ok(times.requests <= 2, `it asks ${times.requests} times`);
  figures.shown_to_frame_ms = await frame(browser, `() => { dispatchEvent(new HashChangeEvent('hashchange')); }`);
  figures.filter_ms = await frame(browser, `() => {
    const filter = document.querySelector('#filter');
    filter.value = 'unreachable';
    filter.dispatchEvent(new Event('input', { bubbles: true }));
  }`);
  const found = await browser.run(`() => document.querySelectorAll('.matrix tbody tr').length`);
  assert.ok(found > 0 && found < clusters, `${found} are unreachable`);
  figures.unfilter_ms = await frame(browser, `() => {
    const filter = document.querySelector('#filter');
    filter.value = '';
    filter.dispatchEvent(new Event('input', { bubbles: true }));
  }`);
  figures.scroll_to_end_ms = await frame(browser, `() => { const box = document.querySelector('.scroll'); box.scrollTop = box.scrollHeight; }`);
  await oneChange(browser, fleet, figures);
  if (!provesAll) return;
  assert.ok(figures.shown_from_navigation_ms < SHOWN_MAX, JSON.stringify(figures));
  assert.ok(figures.filter_ms < FILTER_MAX && figures.unfilter_ms < FILTER_MAX, JSON.stringify(figures));
  assert.ok(figures.change_script_ms < CHANGE_MAX, JSON.stringify(figures));
}

/** A cluster that can't be reached is paused: what that change costs the page. */
async function oneChange(browser, fleet, figures) {
  const cluster = 'cluster-providers/sites/clusters/site-0017';
  // Observers are told as soon as the page has done its part; what comes then is layout and paint.
  await browser.run(`() => {
    performance.clearMeasures();
    new MutationObserver((_, observer) => {
      observer.disconnect();
      const began = performance.getEntriesByName('dcm-change').at(-1)?.startTime ?? performance.now();
      requestAnimationFrame(() => { setTimeout(() => { window.changed = performance.now() - began; }); });
    }).observe(document.querySelector('.matrix'), { childList: true, subtree: true });
  }`);
  await fleet.ask('POST', `${cluster}/stop`);
  const row = `() => [...document.querySelectorAll('.matrix tbody tr')].find((row) => row.textContent.includes('site-0017'))`;
  await browser.until('the paused cluster', `() => (${row})()?.textContent.includes('paused')`);
  const changes = await browser.run(`() => performance.getEntriesByName('dcm-change').map(({ duration }) => duration)`);
  figures.change_script_ms = Math.round(Math.max(...changes));
  figures.change_to_frame_ms = Math.round(await browser.run('() => window.changed'));
  await fleet.ask('POST', `${cluster}/resume`);
  await browser.until('the resumed cluster', `() => !(${row})()?.textContent.includes('paused')`);
}

/** Milliseconds from an act to the frame that shows it. */
async function frame(browser, act) {
  await browser.run(`() => {
    window.took = undefined;
    const began = performance.now();
    (${act})();
    requestAnimationFrame(() => { setTimeout(() => { window.took = performance.now() - began; }); });
  }`);
  return Math.round(await browser.until('a frame', '() => window.took'));
}

const focused = (browser) => browser.run(`() => {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  const name = element.getAttribute('aria-label') ?? element.innerText ?? element.id;
  return { tag: element.tagName, id: element.id, name: name.slice(0, 60), isSeen: style.outlineStyle !== 'none' && style.outlineWidth !== '0px' };
}`);

/** Tabs until something is focused; each stop on the way must be seen. */
async function tabTo(browser, name) {
  const passed = [];
  for (let count = 0; count < 40; count += 1) {
    await browser.type(KEY.tab);
    const at = await focused(browser);
    passed.push(at.name);
    assert.ok(at.isSeen, `the focus on ${at.tag} ${at.name} is not to be seen`);
    if (at.name === name || at.id === name) return;
  }
  assert.fail(`${name} is not reached; on the way: ${passed.join(' | ')}`);
}

export async function keysAlone({ browser, fleet }) {
  await browser.size(1280, 800);
  await browser.open('about:blank');
  await browser.open(`${fleet.url}/ui/`);
  await browser.until('the projects', shows('shop'));
  await browser.type(KEY.tab);
  assert.equal((await focused(browser)).id, 'skip');
  await browser.type(KEY.enter);
  assert.equal((await focused(browser)).id, 'main');
  await tabTo(browser, 'shop');
  await browser.type(KEY.enter);
  await browser.until('the project', shows('6 logical clouds'));
  assert.equal((await focused(browser)).tag, 'H1', 'a new page is told');
  await tabTo(browser, 'stall');
  await browser.type(KEY.enter);
  await browser.until('the cloud', shows('Waits for somebody'));
  await browser.type('m');
  // The worst come first, and a state may change until the focus is in the table. From then on no row moves.
  const order = await browser.run(`() => [...document.querySelectorAll('.matrix tbody tr a')].map((link) => link.innerText)`);
  assert.equal(order.length, 9);
  const isAt = async (place) => assert.equal((await focused(browser)).name, order.at(place));
  await isAt(0);
  await browser.type(KEY.down, KEY.down);
  await isAt(2);
  await browser.type(KEY.up);
  await isAt(1);
  await browser.type(KEY.end);
  await isAt(-1);
  await browser.type(KEY.home, KEY.enter);
  await browser.until('the cluster', shows('Objects and requests'));
  await browser.type('u');
  await browser.until('the cloud again', shows('Waits for somebody'));
  await browser.type('/');
  assert.equal((await focused(browser)).id, 'filter');
  await browser.type('munich');
  await browser.until('one row', `() => document.querySelectorAll('.matrix tbody tr').length === 1`);
  await browser.type(KEY.escape);
  await browser.until('all rows', `() => document.querySelectorAll('.matrix tbody tr').length === 9`);
  await browser.type(KEY.escape, '2');
  await browser.until('the credentials', shows('Days left'));
  await browser.back();
  await browser.until('the way back', `() => document.querySelectorAll('.matrix tbody tr').length === 9`);
  await browser.type('?');
  await browser.until('the help', `() => document.querySelector('#help').open`);
  await browser.type(KEY.escape);
  await browser.until('no help', `() => !document.querySelector('#help').open`);
  // In the table there is one stop for Tab, however many clusters there are.
  const stops = await browser.run(`() => document.querySelectorAll('.matrix tbody a[tabindex="0"]').length`);
  assert.equal(stops, 1);
}

/** Looks of the page at the projects, of which two in a row get the same answers. */
const LOOKS = 8;

/** Keeps what each look at the projects is answered, and the link of one project as it is drawn when that look begins. */
const KEEP_LOOKS = `() => {
  const ask = window.fetch;
  window.looks = [];
  window.fetch = async (url, options) => {
    const { pathname, search } = new URL(url);
    const isList = pathname.endsWith('/v2/projects');
    if (isList) window.looks.push({ drawn: document.querySelector('main h2 a[href="#/projects/shop"]'), answers: {} });
    const look = window.looks.at(-1);
    const answer = await ask(url, options);
    // Other answers than these may never end.
    if (isList || search.includes('progress=true')) look.answers[pathname] = await answer.clone().text();
    return answer;
  };
}`;

/** Whether each look that was answered as the one before it left in place what was drawn. */
const LOOKS_LEAVE = `() => window.looks.slice(2).flatMap(({ drawn }, at) => {
  const [before, look] = window.looks.slice(at);
  const texts = ({ answers }) => JSON.stringify(Object.entries(answers).sort());
  return texts(before) === texts(look) ? [drawn === look.drawn] : [];
})`;

export async function focusStays({ browser, fleet }) {
  await browser.open('about:blank');
  await browser.open(`${fleet.url}/ui/#/projects`);
  await browser.until('the projects', shows('Everything with money'));
  await browser.run(`() => { document.querySelector('main h2 a[href="#/projects/shop"]').focus(); }`);
  await browser.run(KEEP_LOOKS);
  // A look begins when the one before it is drawn, and not earlier.
  await browser.until('more looks', `(most) => { dispatchEvent(new Event('online')); return window.looks.length > most; }`, LOOKS);
  const left = await browser.run(LOOKS_LEAVE);
  assert.ok(left.length > 0, 'no two looks in a row have the same answers');
  assert.ok(left.every((isLeft) => isLeft), 'what has not changed is drawn anew');
  await fleet.ask('PUT', 'projects/bank', { metadata: { description: 'Everything with gold' } });
  await browser.run(`() => { dispatchEvent(new Event('online')); }`);
  await browser.until('the other description', shows('Everything with gold'));
  assert.equal((await focused(browser)).name, 'shop');
  await fleet.ask('PUT', 'projects/bank', { metadata: { description: 'Everything with money' } });

  const at = 'projects/shop/logical-clouds/stall/quotas/storage';
  await browser.open(`${fleet.url}/ui/#/projects/shop/stall`);
  await browser.until('the cloud', shows('Waits for somebody'));
  await browser.run(`() => { document.querySelector('.waits .command button').focus(); }`);
  const { name } = await focused(browser);
  assert.match(name, /^Copy: /);
  await fleet.ask('PUT', at, { spec: { 'requests.storage': '1Gi' } });
  await browser.until('the edit', `() => document.querySelector('.waits').innerText.includes('what an apply would do')`);
  assert.equal((await focused(browser)).name, name);
  await fleet.ask('DELETE', at);
}

/** Whoever presses the button for more goes on at the first of what is shown then. */
export async function moreIsShown({ browser, fleet }) {
  const at = 'projects/attic/logical-clouds/heap';
  const manifests = Array.from({ length: 8 }, (_, index) => ({ apiVersion: 'example.com/v1', kind: `Thing${index}`, metadata: { name: 'one' } }));
  await fleet.ask('PUT', 'projects/attic', { metadata: { description: 'What nobody needs' } });
  await fleet.ask('PUT', `${at}/document`, {
    apiVersion: 'dcm.internal/v1', kind: 'LogicalCloud', metadata: { name: 'heap' }, spec: { clusters: [{ provider: 'edge', cluster: 'berlin' }], manifests },
  });
  // The cluster has none of these kinds, which is a cause of its own for each.
  await fleet.ask('POST', `${at}/apply`);
  await browser.open(`${fleet.url}/ui/#/projects/attic/heap`);
  await browser.until('the button', `() => document.querySelector('[data-key=more]')`);
  const section = await browser.run(`() => {
    const button = document.querySelector('[data-key=more]');
    const section = button.parentElement.className;
    button.focus();
    return section;
  }`);
  await browser.type(KEY.enter);
  await browser.until('more', `(section) => document.querySelectorAll('.' + section + ' > ul > li').length > 6`, section);
  assert.equal(await browser.run(`(section) => document.querySelectorAll('.' + section + ' > ul > li')[6].contains(document.activeElement)`, section), true);
}

/** Columns that become others while rows are filtered out are those of all rows. */
export async function cellsStandUnderTheirHeads({ browser, fleet }) {
  await browser.open('about:blank');
  await browser.open(`${fleet.url}/ui/#/projects/shop/stall`);
  await browser.until('all rows', `() => document.querySelectorAll('.matrix tbody tr').length === 9`);
  const filter = (text) => browser.run(`(text) => {
    const filter = document.querySelector('#filter');
    filter.value = text;
    filter.dispatchEvent(new Event('input', { bubbles: true }));
    return document.querySelectorAll('.matrix tbody tr').length;
  }`, text);
  for (const sign of ['Objects by kind', 'Each object']) {
    assert.equal(await filter('munich'), 1);
    await browser.run(`() => { document.querySelector('.tools > a').click(); }`);
    await browser.until('other columns', shows(sign));
    assert.equal(await filter(''), 9);
    const { head, rows } = await browser.run(`() => ({
      head: [...document.querySelectorAll('.matrix thead th')].map(({ title }) => title).filter((title) => title !== ''),
      rows: [...document.querySelectorAll('.matrix tbody tr')].map((row) => [...row.querySelectorAll('.cell')].map(({ dataset }) => dataset.label)),
    })`);
    rows.forEach((row) => assert.deepEqual(row, head, sign));
  }
}

/** Answers that no whole server gives are made of those of the server. */
export async function whatFailsHidesNoOther({ browser, fleet }) {
  await browser.open('about:blank');
  await browser.open(`${fleet.url}/ui/#/elsewhere`);
  await browser.until('the page', shows('There is no such page'));
  await browser.run(`() => {
    const ask = window.fetch;
    window.fetch = async (url, options) => {
      if (url.pathname.includes('/sites/')) return Response.json({ detail: 'the store is away' }, { status: 503 });
      const answer = await ask(url, options);
      if (!url.pathname.endsWith('/shop/logical-clouds')) return answer;
      const page = await answer.json();
      // So it is told of one whose records can't be read.
      for (const { metadata, status } of page.items) if (metadata.name === 'stall') delete status.state, delete status.clusters;
      return Response.json(page);
    };
  }`);
  const go = (place, sign) => {
    return browser.run(`(place) => { location.hash = place; }`, place).then(() => browser.until(place, shows(sign)));
  };
  const told = (name, of) => browser.run(`(name, of) => [...document.querySelectorAll(of)].find((one) => one.querySelector('a').innerText === name).innerText`, name, of);
  for (const [place, sign, of] of [['#/projects/shop', '6 logical clouds', 'tbody tr'], ['#/projects', 'The shop and its tills', '.clouds li']]) {
    await go(place, sign);
    assert.match(await told('stall', of), /state can't be told/, place);
    assert.match(await told('till', of), /instantiated[^]*3 clusters, done/, place);
    assert.match(await browser.run(`() => document.querySelector('#freshness').innerText`), /^Read /);
  }
  await go('#/clusters', 'edge/berlin');
  await browser.until('what could not be read', shows("The clusters of sites can't be read: the store is away"));
}

/** Nobody but a person may approve requests in Porto: each of them is named, in one command. */
export async function approvalsAreAskedFor({ browser, fleet }) {
  const { clusters } = await fleet.ask('GET', 'projects/shop/logical-clouds/stall/status');
  const objects = clusters['edge/porto'].lane.requests.map(({ cause }) => cause?.object).filter((object) => object?.kind === 'CertificateSigningRequest');
  const names = objects.map(({ name }) => name);
  assert.equal(names.length, 2, JSON.stringify(clusters['edge/porto'].lane.requests));
  for (const [place, list] of [['#/projects/shop/stall', '.waits li'], ['#/projects/shop/stall/clusters/edge/porto', '.hindrances li']]) {
    await browser.open(`${fleet.url}/ui/${place}`);
    await browser.until('what awaits approval', shows('awaits approval'));
    const commands = await browser.run(`(list) => [...document.querySelectorAll(list)].filter((one) => one.innerText.startsWith('awaits approval')).map((one) => one.querySelector('code').innerText)`, list);
    assert.deepEqual(commands, [`kubectl certificate approve ${names.join(' ')}`], place);
  }
}

const DAY = 86_400_000;

/** Figures of the page are those of the API. The page counts whole days at a moment between the two that are taken here. */
export async function figuresAreTold({ browser, fleet }) {
  const { credentials } = await fleet.ask('GET', 'projects/shop/logical-clouds/till/status');
  const before = Date.now();
  await browser.open(`${fleet.url}/ui/#/projects/shop/till/credentials`);
  await browser.until('the credentials', shows('Days left'));
  const told = await browser.run(`() => Object.fromEntries([...document.querySelectorAll('.body tbody tr')].map((row) => [row.querySelector('th').firstChild.data, row.querySelector('.number').innerText]))`);
  const after = Date.now();
  for (const user of ['keeper', 'robot']) {
    const ends = Object.values(credentials[user].clusters).map(({ notAfter }) => Date.parse(notAfter));
    assert.equal(ends.length, 3, user);
    const days = [before, after].map((moment) => Math.floor((Math.min(...ends) - moment) / DAY)).map((count) => (count < 1 ? 'less than 1' : String(count)));
    assert.ok(days.includes(told[user]), `${user}: ${told[user]} in place of ${days.join(' or ')}`);
  }
  await browser.open(`${fleet.url}/ui/#/projects/shop/till/plan`);
  await browser.until('the plan', shows('It is not live'));
  const fields = await browser.run(`() => [...document.querySelectorAll('.body .field')].map((field) => ['code', 'del', 'ins'].map((part) => field.querySelector(part)?.innerText))`);
  assert.deepEqual(fields.filter(([path]) => path === 'spec.hard.pods'), [['spec.hard.pods', '"20"', '"50"']]);
}

const HOSTILE = '<img src=x onerror="window.isPwned=1"><script>window.isPwned=1</script>';

export async function textsStayTexts({ browser, fleet }) {
  const at = 'projects/attic/logical-clouds/trunk';
  await fleet.ask('PUT', 'projects/attic', { metadata: { description: HOSTILE } });
  await fleet.ask('PUT', `${at}/document`, {
    apiVersion: 'dcm.internal/v1',
    kind: 'LogicalCloud',
    metadata: { name: 'trunk', description: HOSTILE, userData1: HOSTILE },
    spec: {
      clusters: [{ provider: 'edge', cluster: 'berlin' }],
      manifests: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'texts' }, data: { [HOSTILE]: HOSTILE } }],
    },
  });
  await fetch(`${fleet.url}/v2/${at}/apply`, { method: 'POST', headers: { 'x-reason': HOSTILE } });
  await fleet.ask('PUT', `${at}/quotas/compute`, { metadata: { name: 'compute', description: HOSTILE }, spec: { pods: '5' } });
  for (const place of ['', '#/projects/attic', '#/projects/attic/trunk', '#/projects/attic/trunk/plan', '#/projects/attic/trunk/audit', `#/projects/attic/trunk?text=${encodeURIComponent(HOSTILE)}`, `#/projects/${encodeURIComponent(HOSTILE)}`]) {
    await browser.open('about:blank');
    await browser.open(`${fleet.url}/ui/${place}`);
    await browser.until('an answer', `() => document.querySelector('main h1') && !/Reading…|are asked/.test(document.querySelector('main').innerText)`);
    await pause(300);
    const seen = await browser.run(`() => ({ pwned: window.isPwned, images: document.querySelectorAll('main img, main script').length, text: document.querySelector('main').innerText })`);
    assert.deepEqual([seen.pwned ?? null, seen.images], [null, 0], place);
    if (['', '#/projects/attic', '#/projects/attic/trunk/audit'].includes(place)) assert.ok(seen.text.includes('<img src=x onerror='), `${place}: ${seen.text}`);
  }
}

/** How long the page waits for a sign of life of the server, in milliseconds: `SILENCE_MAX` in the page's `events.mjs`. */
const SILENCE_MAX = 40_000;

/** Lets a test end the silence that a page waits for, with `endSilence()`: the page does then what it does when the time is over. */
const silenceCanBeEnded = `() => {
  const begin = window.setTimeout.bind(window);
  window.setTimeout = (act, wait, ...given) => {
    const timer = begin(act, wait, ...given);
    if (wait === ${SILENCE_MAX}) window.endSilence = () => { clearTimeout(timer); act(...given); };
    return timer;
  };
}`;

export async function whatIsOldIsCalledOld({ browser, fleet, figures, provesAll }) {
  await browser.size(1280, 800);
  const asBefore = provesAll ? undefined : await browser.before(silenceCanBeEnded);
  await browser.open('about:blank');
  await browser.open(`${fleet.url}/ui/#/projects/shop/stall`);
  await asBefore?.();
  await browser.until('the cloud', shows('Waits for somebody'));
  await browser.until('the connection', `() => document.querySelector('#freshness').innerText === 'Live'`);
  // It lives, and says nothing any more: as behind a connection that somebody has pulled out.
  const began = Date.now();
  fleet.signal('SIGSTOP');
  if (!provesAll) await browser.run('() => { window.endSilence(); }');
  const isOld = `() => document.querySelector('main').hasAttribute('data-stale') && document.querySelector('#stale').innerText`;
  const said = await browser.until('that it is old', isOld);
  if (provesAll) figures.silence_noticed_s = Math.round((Date.now() - began) / 1000);
  assert.match(said, /Not connected|Connecting again/);
  assert.match(said, /is from \d\d:\d\d:\d\d, \w+ ago, and may be out of date/);
  assert.notEqual(await browser.run(`() => document.querySelector('#freshness').innerText`), 'Live');
  fleet.signal('SIGCONT');
  await browser.until('that it is live again', `() => document.querySelector('#freshness').innerText === 'Live' && !document.querySelector('main').hasAttribute('data-stale') && document.querySelector('#stale').hidden`);
}

export async function consoleIsQuiet({ browser }) {
  const lines = await browser.console();
  // The name of no project is asked for above.
  const errors = lines.filter(({ level, message }) => level === 'SEVERE' && !/40[34] \(|ERR_|favicon/.test(message));
  assert.deepEqual(errors.map(({ message }) => message), []);
}
