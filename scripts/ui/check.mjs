// Drives the status page in Chromium, and reports what holds. Called by `scripts/check-ui`, which describes the environment variables.
//
//   node check.mjs FLEET CHROMEDRIVER CHROMIUM AXE [PICTURES]
//
// AXE is the file `axe.min.js` of axe-core, or empty; PICTURES is a folder that pictures of the page are put into.

import { readFile } from 'node:fs/promises';

import { Browser } from './browser.mjs';
import { Fleet } from './fleet.mjs';
import * as access from './access.mjs';
import * as looks from './looks.mjs';
import * as use from './use.mjs';

const [program, chromedriver, chromium, axe, pictures] = process.argv.slice(2);

/** Whether the whole proof is asked for, with what depends on the speed of the machine. */
const PROVES_ALL = process.env.DCM_PROVE === 'all';

/** How many clusters the largest logical cloud is on; the documentation shows a thousand. */
const CLUSTERS = Number(process.env.DCM_UI_CLUSTERS ?? (PROVES_ALL || pictures ? 1000 : 150));

const world = {
  clusters: CLUSTERS,
  provesAll: PROVES_ALL,
  axe: axe ? await readFile(axe, 'utf8') : undefined,
  pictures,
  failed: [],
  figures: {},
};

/** Runs one check; what fails is told in the end, and the others go on. */
async function check(title, act) {
  const began = Date.now();
  try {
    await act(world);
    console.log(`ok      ${title} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    world.failed.push(title);
    console.log(`FAILED  ${title}\n        ${error.stack.split('\n').slice(0, 12).join('\n        ')}`);
  }
}

async function all() {
  const began = Date.now();
  world.fleet = await Fleet.begin(program, CLUSTERS);
  await world.fleet.settled('shop', 'market');
  await world.fleet.settled('shop', 'stall');
  console.log(`a fleet of ${CLUSTERS} clusters is settled (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  world.browser = await Browser.begin(chromedriver, chromium);
  // Before anything is changed for a check.
  if (pictures) await check('pictures are taken', looks.takePictures);
  await check('a change is seen without a reload', use.changesAreSeen);
  await check(`${CLUSTERS} clusters are usable`, use.manyClustersAreUsable);
  await check('everything can be reached with keys alone', use.keysAlone);
  await check('whoever has the focus keeps it when something is drawn anew', use.focusStays);
  await check('whoever asks for more is where that begins', use.moreIsShown);
  await check('cells stand under their heads, whatever was filtered out', use.cellsStandUnderTheirHeads);
  await check('what fails hides no other', use.whatFailsHidesNoOther);
  await check('all requests that await approval are named', use.approvalsAreAskedFor);
  await check('days left and fields of a plan are told', use.figuresAreTold);
  await check('texts of others stay texts', use.textsStayTexts);
  await check('every view fits, in both schemes and when it is narrow', looks.everyViewFits);
  if (world.axe) await check('axe-core finds no violation, on each view in both schemes', looks.axeFindsNothing);
  await check('what is old is called old, and is live again', use.whatIsOldIsCalledOld);
  await check('the console tells of no error', use.consoleIsQuiet);
  const guarded = await Fleet.begin(program, 3, ['admin', 'viewer']);
  try {
    await check('a token is asked for, kept in the tab alone, and forgotten', () => access.tokensAreAskedFor(world, guarded));
  } finally {
    await guarded.end();
  }
}

try {
  await all();
} finally {
  await world.browser?.end();
  await world.fleet?.end();
}
console.log(JSON.stringify({ clusters: CLUSTERS, ...world.figures }));
if (world.failed.length > 0) {
  console.log(`${world.failed.length} failed`);
  process.exit(1);
}
