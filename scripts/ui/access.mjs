// Who asks, where the server wants to know.

import assert from 'node:assert/strict';

import { KEY } from './browser.mjs';

const shows = (text) => `() => document.querySelector('main').innerText.includes(${JSON.stringify(text)})`;

const show = async (browser, token) => {
  await browser.run(`() => { document.querySelector('#token').focus(); }`);
  await browser.type(token, KEY.enter);
};

export async function tokensAreAskedFor({ browser, axe }, fleet) {
  await browser.open(`${fleet.url}/ui/#/projects`);
  await browser.until('the question', shows('Who are you?'));
  if (axe) await (await import('./looks.mjs')).assertAxe(browser, axe, 'the question who asks');
  await show(browser, `dcm_${'0'.repeat(16)}_${'0'.repeat(64)}`);
  await browser.until('the refusal', shows('The token was not taken'));
  await show(browser, fleet.tokens.viewer);
  await browser.until('what the viewer sees', shows('The shop and its tills'));
  assert.equal(await browser.run(`() => document.querySelector('main').innerText.includes('Everything with money')`), false);
  // Events are answered by the same token, and a reload keeps it.
  await browser.open(`${fleet.url}/ui/#/projects/shop/stall`);
  await browser.reload();
  await browser.until('the cloud', shows('Waits for somebody'));
  await browser.until('the connection', `() => document.querySelector('#freshness').innerText === 'Live'`);
  const kept = await browser.run(`() => ({
    address: location.href, local: JSON.stringify({ ...localStorage }), cookies: document.cookie, session: JSON.stringify({ ...sessionStorage }),
    asked: performance.getEntriesByType('resource').map(({ name }) => name).join(' '), text: document.body.innerText,
  })`);
  const secret = fleet.tokens.viewer.slice(-64);
  assert.ok(kept.session.includes(secret));
  for (const place of ['address', 'local', 'cookies', 'asked', 'text']) assert.ok(!kept[place].includes(secret), place);
  // What is not the viewer's is told as what is not there.
  await browser.open(`${fleet.url}/ui/#/projects/bank`);
  await browser.until('that there is nothing', shows('There is no such thing'));
  await browser.run(`() => { document.querySelector('#forget').click(); }`);
  await browser.until('the question again', shows('Who are you?'));
  assert.equal(await browser.run(`() => sessionStorage.length`), 0);
}
