// What the phases of a connection mean for what is shown: since when it may be out of date, and what is told aloud of that.

/** How long a connection may take before what is shown is called old. */
const GRACE = 2000;

/** Nothing is shown that changes. */
export const STILL = { phase: 'still' };

/** In these, what is shown is so: now, or for ever. */
const TRUE = new Set(['live', 'gone', 'still']);

/** What is told aloud when it begins, once: each try that fails is another phase, and no other news. */
const LOSSES = {
  lost: 'The connection is lost. What is shown may be out of date.',
  broken: 'What was read can not be shown. What is shown may be out of date.',
};

/** The state that follows another one, by what a connection tells; `asOf` is when what is shown was true, where it may be no more. */
export function following(before, next, now) {
  const isTrue = TRUE.has(next.phase);
  // What is asked for again and again was true when it was read.
  const last = before.phase === 'live' ? (before.every ? before.at : now) : before.asOf;
  const isLossTold = next.phase in LOSSES || (!isTrue && Boolean(before.isLossTold));
  return { ...next, at: now, asOf: isTrue ? undefined : last, isLossTold };
}

/** What those who listen to the page are told of a change of states; the end of a loss only where they were told of the loss. */
export function aloud(before, after) {
  if (after.phase === 'live') return before.isLossTold ? 'What is shown is live again.' : undefined;
  return before.isLossTold ? undefined : LOSSES[after.phase];
}

/** Whether what is shown is to be called old. */
export function isOld({ phase, asOf }, now) {
  return asOf !== undefined && (phase !== 'connecting' || now - asOf > GRACE);
}

/** Whether there is something to be said about the connection beside the one word in the head. */
export function isWarned(state, now) {
  return isOld(state, now) || state.phase in LOSSES;
}

/**
 * Draws, and gives the phase of one that has failed: that is a fault of the page, which no other connection mends. It is told in
 * the console, too, where somebody can see in which place.
 */
export function drawing(draw) {
  try {
    draw();
    return undefined;
  } catch (error) {
    console.error(error);
    return { phase: 'broken', why: error.message };
  }
}
