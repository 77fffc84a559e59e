// What people do with the page.

import assert from 'node:assert/strict';

import { KEY, pause } from './browser.mjs';

/** Longest that a thousand clusters may take to be shown, a filter to answer, and a change to be shown, in milliseconds. */
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
}

export async function manyClustersAreUsable({ browser, fleet, clusters, figures }) {
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
  assert.equal((await focused(browser)).name, 'edge/munich');
  await browser.type(KEY.down, KEY.down, KEY.up);
  assert.equal((await focused(browser)).name, 'edge/oslo');
  await browser.type(KEY.end);
  assert.equal((await focused(browser)).name, 'edge/vienna');
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

export async function whatIsOldIsCalledOld({ browser, fleet, figures }) {
  await browser.size(1280, 800);
  await browser.open(`${fleet.url}/ui/#/projects/shop/stall`);
  await browser.until('the cloud', shows('Waits for somebody'));
  // It lives, and says nothing any more: as behind a connection that somebody has pulled out.
  const began = Date.now();
  fleet.signal('SIGSTOP');
  const isOld = `() => document.querySelector('main').hasAttribute('data-stale') && document.querySelector('#stale').innerText`;
  const said = await browser.until('that it is old', isOld).catch(() => browser.until('that it is old', isOld));
  figures.silence_noticed_s = Math.round((Date.now() - began) / 1000);
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
