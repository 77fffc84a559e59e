// How the page looks: whether it fits, whether axe-core finds anything, and pictures for the documentation.

import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';

import { pause } from './browser.mjs';

const SCHEMES = ['light', 'dark'];

/** Largest picture, in bytes: they are kept with the source. */
const PICTURE_MAX = 150_000;

/** Every view, and what is there when it is shown. */
const VIEWS = [
  ['projects', '#/projects', 'The shop and its tills'],
  ['project', '#/projects/shop', 'logical clouds'],
  ['cloud', '#/projects/shop/stall', 'Waits for somebody'],
  ['cloud, each object', '#/projects/shop/stall?each=object', 'Objects by kind'],
  ['nothing found', '#/projects/shop/stall?text=nowhere', 'No cluster is so'],
  ['cluster', '#/projects/shop/stall/clusters/edge/munich', 'Objects and requests'],
  ['credentials', '#/projects/shop/stall/credentials', 'keeper'],
  ['plan', '#/projects/shop/till/plan', 'spec.hard.pods'],
  ['audit log', '#/projects/shop/stall/audit', 'accepted'],
  ['clusters', '#/clusters', 'in 2 providers'],
  ['many clusters', '#/projects/shop/market', 'Waits for somebody'],
  ['never applied', '#/projects/shop/pantry', 'created'],
  ['no such thing', '#/projects/none', 'There is no such thing'],
  ['no such page', '#/elsewhere', 'There is no such page'],
];

async function open({ browser, fleet }, place, sign) {
  await browser.open('about:blank');
  await browser.open(`${fleet.url}/ui/${place}`);
  await browser.until(`${place}: ${sign}`, `(sign) => document.querySelector('main').innerText.includes(sign)`, sign);
}

export async function everyViewFits(world) {
  for (const width of [320, 768, 1280]) {
    await world.browser.size(width, 800);
    for (const [name, place, sign] of VIEWS) {
      await open(world, place, sign);
      for (const scheme of SCHEMES) {
        await world.browser.scheme(scheme);
        const found = await world.browser.run(`() => ({
          width: document.documentElement.scrollWidth,
          cut: [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('.scroll') && !one.closest('.unseen')).length,
        })`);
        assert.deepEqual(found, { width, cut: 0 }, `${name}, ${width} px, ${scheme}`);
      }
    }
  }
}

/** Rules of WCAG 2.2 up to AA, and what axe-core calls best practice. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

async function violations(browser, axe) {
  // What axe-core does to a page its policy does not allow to the page itself.
  await browser.run(`(source) => { if (!window.axe) (0, eval)(source); }`, axe);
  return browser.run(`async (tags) => {
    const { violations, passes } = await axe.run(document, { runOnly: { type: 'tag', values: tags } });
    const told = violations.map(({ id, help, nodes }) => id + ': ' + help + ': ' + nodes.slice(0, 3).map(({ html, any, all }) => html.slice(0, 120) + ' ' + [...any, ...all].map(({ message }) => message).join('; ')).join(' | '));
    return { told, passes: passes.length };
  }`, TAGS);
}

/** Rules that are fulfilled on every view; were there fewer, nothing would have been looked at. */
const PASSES_MIN = 15;

export async function assertAxe(browser, axe, name) {
  const { told, passes } = await violations(browser, axe);
  assert.deepEqual(told, [], name);
  assert.ok(passes >= PASSES_MIN, `${name}: ${passes} rules`);
}

/** What is wrong is found: a text that can't be read, and a field without a name. */
async function assertAxeSees(browser, axe) {
  await browser.run(`() => {
    const text = document.createElement('p');
    text.textContent = 'hardly to be read';
    text.style.color = 'rgb(128 128 128 / 50%)';
    text.id = 'wrong';
    document.querySelector('main').append(text, document.createElement('input'));
  }`);
  const { told } = await violations(browser, axe);
  assert.deepEqual(told.map((one) => one.split(':')[0]).sort(), ['color-contrast', 'label']);
}

export async function axeFindsNothing(world) {
  const { browser, axe, figures, provesAll } = world;
  await browser.cdp('Page.setBypassCSP', { enabled: true });
  figures.axe_views = 0;
  for (const width of provesAll ? [1280, 320] : [1280]) {
    await browser.size(width, 800);
    for (const scheme of SCHEMES) {
      await browser.scheme(scheme);
      for (const [name, place, sign] of VIEWS) {
        // It takes a minute for all elements of that one, and when it is narrow they are the same.
        if (name === 'many clusters' && width !== 1280) continue;
        await open(world, place, sign);
        await assertAxe(browser, axe, `${name}, ${width} px, ${scheme}`);
        figures.axe_views += 1;
      }
      await assertAxeSees(browser, axe);
      await open(world, '#/projects', 'shop');
      await browser.run(`() => { document.querySelector('#help-open').click(); }`);
      await assertAxe(browser, axe, `help, ${width} px, ${scheme}`);
      figures.axe_views += 1;
    }
  }
}

const PICTURES = [
  ['overview', '#/projects', 'The shop and its tills', 1100, 540, SCHEMES],
  ['cloud', '#/projects/shop/stall', 'Waits for somebody', 1280, 1000, SCHEMES],
  ['many', '#/projects/shop/market', 'Waits for somebody', 1280, 860, ['light']],
  ['plan', '#/projects/shop/till/plan', 'spec.hard.pods', 1100, 480, ['light']],
  ['credentials', '#/projects/shop/till/credentials', 'keeper', 1100, 470, ['dark']],
  ['narrow', '#/projects/shop/market?reason=denied', 'Waits for somebody', 320, 1600, ['light']],
];

export async function takePictures(world) {
  const { browser, pictures } = world;
  for (const [name, place, sign, width, height, schemes] of PICTURES) {
    await browser.size(width, height);
    for (const scheme of schemes) {
      await browser.scheme(scheme);
      await open(world, place, sign);
      await pause(1500);
      const file = join(pictures, `${name}-${scheme}.png`);
      await browser.picture(file);
      assert.ok((await stat(file)).size < PICTURE_MAX, `${file} is larger than ${PICTURE_MAX} bytes`);
    }
  }
}
