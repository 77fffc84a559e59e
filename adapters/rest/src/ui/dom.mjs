// Elements. Whatever is shown is put in as a text; there is no way here to markup.

import { absolute, relative } from './words.mjs';
import { now } from './api.mjs';

/** An element with attributes, listeners (`onclick`) and children; what is null or false is left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...flat(children));
  return element;
}

const flat = (children) => children.flat(3).filter((child) => child !== null && child !== undefined && child !== false);

/** Puts others in the place of all children. */
export function fill(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

const drawn = new WeakMap();

/**
 * Fills an element with what is made of a value, unless that value is drawn there already. Whoever has the focus in it keeps it,
 * on what has the same key then: who goes through a page by keys is not to begin again with each change.
 */
export function redraw(element, value, make) {
  const text = JSON.stringify(value);
  if (drawn.get(element) === text) return;
  const focused = focusedIn(element);
  fill(element, make(value));
  drawn.set(element, text);
  if (!focused) return;
  const alike = withKey(element, focused.key);
  (alike[focused.at] ?? alike.at(-1))?.focus({ preventScroll: true });
}

/** What tells one thing that can have the focus from the others, also when it is made anew. */
const keyOf = (element) => element.dataset.key ?? (element.id || (element.getAttribute('href') ?? element.getAttribute('aria-label')));

const withKey = (element, key) => [...element.querySelectorAll('a, button, input, [tabindex]')].filter((one) => keyOf(one) === key);

/** The key of what has the focus in an element, and which of those with that key it is. */
function focusedIn(element) {
  const active = document.activeElement;
  if (active === element || !element.contains(active)) return undefined;
  const key = keyOf(active);
  return { key, at: withKey(element, key).indexOf(active) };
}

/** Changes a text where it is another one: what is unchanged is not told again to who listens. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
  return element;
}

/** A moment in words that go with the time; the moment itself is a title. */
export function time(at, form) {
  const moment = typeof at === 'number' ? at : Date.parse(at);
  const element = h('time', { datetime: new Date(moment).toISOString(), title: absolute(moment), 'data-form': form });
  element.moment = moment;
  return say(element, relative(moment, form, now()));
}

/** A moment in words, with the moment itself behind. */
export function fullTime(at, form) {
  return [time(at, form), ' ', h('span', { class: 'faint' }, absolute(typeof at === 'number' ? at : Date.parse(at)))];
}

function tick() {
  const at = now();
  for (const element of document.querySelectorAll('time[data-form]')) {
    say(element, relative(element.moment, element.dataset.form, at));
  }
}

setInterval(() => { if (!document.hidden) tick(); }, 1000);

/** A word with its mark; the mark says the same, and is not read. */
export function mark(tone, word, more = {}) {
  return h('span', { class: 'mark', 'data-tone': tone, ...more }, word);
}

/** A command, and a button that copies it. */
export function command(text) {
  const button = h('button', { type: 'button', class: 'quiet', 'aria-label': `Copy: ${text}` }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
      announce('The command is copied.');
    } catch {
      getSelection().selectAllChildren(button.previousSibling);
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  return h('span', { class: 'command' }, h('code', {}, text), button);
}

/** Names of clusters, the first few and how many more. */
export function some(names, max = 3) {
  const rest = names.length - max;
  return rest > 0 ? `${names.slice(0, max).join(', ')} and ${rest.toLocaleString('en')} more` : names.join(', ');
}

let announced = 0;
let waiting;

/** How long one announcement is after another at least: more would be a flood. */
const ANNOUNCE_PAUSE = 5000;

/** Tells those who listen to the page. What comes meanwhile takes the place of what waits. */
export function announce(text) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    announced = Date.now();
    say(document.querySelector('#announcer'), text);
  }, Math.max(50, announced + ANNOUNCE_PAUSE - Date.now()));
}
