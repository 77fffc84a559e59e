// Whether what is shown is so now. What is not is never shown as if it were.

import { announce, fill, h, say } from './dom.mjs';
import { between, clock } from './words.mjs';

const WORDS = { connecting: 'Connecting', live: 'Live', lost: 'Not live', hidden: 'Paused', gone: 'Gone', refused: 'Refused', still: 'Not live' };

const indicator = () => document.querySelector('#freshness');
const banner = () => document.querySelector('#stale');

let state = { phase: 'still' };
let asOf;
let again = () => {};

/** How long a connection may take before what is shown is called old. */
const GRACE = 2000;

/** Nothing is shown that changes. */
export function still() {
  [state, asOf, again] = [{ phase: 'still' }, undefined, () => {}];
  draw();
}

/** Tells what a connection is doing; `retry` has it tried at once. */
export function phase(next, retry) {
  const before = state.phase;
  if (before === 'live' && next.phase !== 'live') asOf = state.every ? state.at : Date.now();
  state = { ...next, at: Date.now(), since: next.phase === before ? state.since : Date.now() };
  again = retry;
  if (next.phase === 'lost' && before !== 'lost') announce('The connection is lost. What is shown may be out of date.');
  if (next.phase === 'live' && asOf !== undefined && before !== 'live') announce('What is shown is live again.');
  if (next.phase === 'live') asOf = undefined;
  draw();
}

function draw() {
  const { phase: now, every, at } = state;
  indicator().dataset.phase = now;
  indicator().hidden = now === 'still';
  say(indicator(), now === 'live' && every ? `Read ${between(at, Date.now())} ago` : WORDS[now]);
  const isOld = asOf !== undefined && now !== 'live' && (now !== 'connecting' || Date.now() - asOf > GRACE);
  document.querySelector('main').toggleAttribute('data-stale', isOld);
  banner().hidden = !isOld && now !== 'lost';
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
  const old = asOf === undefined ? '' : ` What is shown is from ${clock(asOf)}, ${between(asOf, Date.now())} ago, and may be out of date.`;
  const word = state.phase === 'connecting' ? 'Connecting again.' : `Not connected${why}.`;
  say(text, `${word}${old}`);
  say(tries, state.phase === 'lost' ? `Next try in ${between(Date.now(), state.nextTry + 999)}.` : '');
  button.hidden = state.phase !== 'lost';
}

setInterval(() => { if (!document.hidden) draw(); }, 1000);
