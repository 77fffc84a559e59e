// Whether what is shown is so now. What is not is never shown as if it were.

import { announce, fill, h, say } from './dom.mjs';
import { STILL, aloud, following, isOld, isWarned } from './phases.mjs';
import { between, clock } from './words.mjs';

const WORDS = {
  connecting: 'Connecting', live: 'Live', lost: 'Not live', broken: 'Not shown', hidden: 'Paused', gone: 'Gone', refused: 'Refused', still: 'Not live',
};

const indicator = () => document.querySelector('#freshness');
const banner = () => document.querySelector('#stale');

let state = STILL;
let again = () => {};

/** Nothing is shown that changes. */
export function still() {
  [state, again] = [STILL, () => {}];
  draw();
}

/** Tells what a connection is doing; `retry` has it tried at once. */
export function phase(next, retry) {
  const before = state;
  state = following(before, next, Date.now());
  again = retry;
  const text = aloud(before, state);
  if (text) announce(text);
  draw();
}

function draw() {
  const { phase: now, every, at } = state;
  indicator().dataset.phase = now;
  indicator().hidden = now === 'still';
  say(indicator(), now === 'live' && every ? `Read ${between(at, Date.now())} ago` : WORDS[now]);
  document.querySelector('main').toggleAttribute('data-stale', isOld(state, Date.now()));
  banner().hidden = !isWarned(state, Date.now());
  if (!banner().hidden) warn();
}

function warn() {
  const [text, tries, button] = banner().children.length ? banner().children : fill(
    banner(),
    h('span', {}),
    h('span', { class: 'faint' }),
    h('button', { type: 'button', onclick: () => again() }, 'Try now'),
  ).children;
  const why = state.why ? ` (${state.why})` : '';
  const { asOf } = state;
  const old = asOf === undefined ? '' : ` What is shown is from ${clock(asOf)}, ${between(asOf, Date.now())} ago, and may be out of date.`;
  const words = { connecting: 'Connecting again.', broken: `What was read can't be shown${why}.` };
  say(text, `${words[state.phase] ?? `Not connected${why}.`}${old}`);
  say(tries, state.phase === 'lost' ? `Next try in ${between(Date.now(), state.nextTry + 999)}.` : '');
  button.hidden = state.phase !== 'lost';
}

setInterval(() => { if (!document.hidden) draw(); }, 1000);
