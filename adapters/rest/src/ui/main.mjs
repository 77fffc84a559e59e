// The page: which view is shown, by the fragment of the address.

import { ApiError, token } from './api.mjs';
import { fill, h } from './dom.mjs';
import * as freshness from './freshness.mjs';
import { begin as beginKeys } from './keys.mjs';
import { parse } from './route.mjs';
import { CloudView } from './cloud.mjs';
import { ClustersView } from './clusters.mjs';
import { ProjectView } from './project.mjs';
import { ProjectsView } from './projects.mjs';
import { SignIn } from './sign_in.mjs';

const VIEWS = { projects: ProjectsView, project: ProjectView, cloud: CloudView, clusters: ClustersView };

const main = document.querySelector('main');
const forget = document.querySelector('#forget');
let view;
let wasShown = false;

/** What a view tells the page. */
const shell = {
  title: (text) => { document.title = `${text} – dcm`; },
  phase(state, retry) {
    if (state.phase === 'refused') return refused(state.error);
    return freshness.phase(state, retry);
  },
  still: freshness.still,
  reopen,
};

function show() {
  const place = parse(location.hash);
  for (const entry of document.querySelectorAll('header nav a')) {
    const isCurrent = (entry.hash === '#/clusters') === (place.view === 'clusters');
    if (isCurrent) entry.setAttribute('aria-current', entry.hash === location.hash ? 'page' : 'true');
    else entry.removeAttribute('aria-current');
  }
  forget.hidden = !token.get();
  if (view?.go?.(place)) return;
  mount(() => (VIEWS[place.view] ? new VIEWS[place.view](place, shell) : nothing('There is no such page.')));
}

function mount(make) {
  view?.close?.();
  freshness.still();
  view = make();
  fill(main, view.element);
  scrollTo(0, 0);
  // Whoever listens is to hear where they are; whoever has just opened the page begins at its top.
  if (wasShown) main.querySelector('h1')?.focus({ preventScroll: true });
  wasShown = true;
}

function nothing(text, ...more) {
  shell.title('Nothing here');
  return { element: h('section', {}, h('h1', { tabindex: '-1' }, text), more) };
}

function refused(error) {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 401) {
    const hadOne = Boolean(token.get());
    token.forget();
    return mount(() => new SignIn(shell, hadOne ? error.message : undefined, show));
  }
  const home = h('p', {}, h('a', { href: '#/projects' }, 'All projects'));
  if (error.status === 403) return mount(() => nothing('You may not see this.', h('p', {}, `The server says: ${error.message}.`), home));
  return mount(() => nothing('There is no such thing.', h('p', {}, `The server says: ${error.message}.`), home));
}

/** Begins the view anew, whatever the one before would make of it. */
function reopen() {
  view?.close?.();
  view = undefined;
  show();
}

forget.addEventListener('click', () => {
  token.forget();
  reopen();
});

document.querySelector('#skip').addEventListener('click', (event) => {
  // The fragment of the address says which view is shown.
  event.preventDefault();
  main.focus();
});

addEventListener('hashchange', show);
beginKeys();
show();
