// One logical cloud: its head, which is always live, and what is below each of its tabs.

import { ask, path } from './api.mjs';
import { announce, fill, h, mark, time } from './dom.mjs';
import { Following } from './events.mjs';
import { link } from './route.mjs';
import { stateOf, toneOf } from './words.mjs';
import { AuditTab } from './audit.mjs';
import { ClusterTab } from './cluster.mjs';
import { CredentialsTab } from './credentials.mjs';
import { MatrixTab } from './overview.mjs';
import { PlanTab } from './plan.mjs';

const TABS = { clusters: MatrixTab, cluster: ClusterTab, credentials: CredentialsTab, plan: PlanTab, audit: AuditTab };

const NAMES = [['clusters', 'Clusters'], ['credentials', 'Credentials'], ['plan', 'Plan'], ['audit', 'Audit log']];

export class CloudView {
  #place; #shell; #tab; #status; #isGone = false;

  constructor(place, shell) {
    [this.#place, this.#shell] = [place, shell];
    const { project, cloud } = place;
    this.title = h('h1', { tabindex: '-1' }, cloud);
    this.facts = h('p', { class: 'facts' }, 'Reading…');
    this.path = h('nav', { class: 'path', 'aria-label': 'Path' });
    this.tabs = h('ul', {});
    this.body = h('div', { class: 'body' });
    this.element = h('section', {}, this.path, h('div', { class: 'title' }, this.title, this.facts), h('nav', { class: 'tabs', 'aria-label': `Parts of ${cloud}` }, this.tabs), this.body);
    this.#open(place);
    const events = path('projects', project, 'logical-clouds', cloud, 'events');
    this.following = new Following({
      open: (signal) => ask(events, { signal, accept: 'text/event-stream' }),
      told: (status, change) => this.#tell(status, change),
      phase: (state) => this.#phase(state),
    });
  }

  /** Another part of the same cloud needs no other connection. */
  go(place) {
    const { project, cloud } = this.#place;
    // What has the name of one that is gone is another one.
    if (this.#isGone) return false;
    if (place.view !== 'cloud' || place.project !== project || place.cloud !== cloud) return false;
    if (this.#tab.go?.(place)) return true;
    this.#open(place);
    this.title.focus({ preventScroll: true });
    return true;
  }

  #open(place) {
    this.#tab?.close?.();
    this.#place = place;
    const { project, cloud, tab } = place;
    this.#shell.title([place.cluster, NAMES.find(([name]) => name === tab && name !== 'clusters')?.[1], cloud].filter(Boolean).join(', '));
    fill(this.path, h('a', { href: '#/projects' }, 'Projects'), h('a', { href: link(['projects', project]) }, project),
      tab === 'cluster' && h('a', { href: link(['projects', project, cloud]) }, cloud));
    this.title.textContent = place.cluster ?? cloud;
    // What is said of the cloud is not to be taken for what is said of one cluster.
    this.facts.hidden = tab === 'cluster';
    fill(this.tabs, NAMES.map(([name, text]) => {
      const names = name === 'clusters' ? ['projects', project, cloud] : ['projects', project, cloud, name];
      const current = name === tab ? 'page' : name === 'clusters' && tab === 'cluster' && 'true';
      return h('li', {}, h('a', { href: link(names), 'aria-current': current }, text));
    }));
    this.#tab = new TABS[tab](place, { tell: () => this.#status });
    fill(this.body, this.#tab.element);
    if (this.#status) this.#tab.show?.(this.#status);
  }

  #tell(status, change) {
    this.#status = status;
    performance.mark('dcm-begin');
    this.#head(status);
    this.#tab.show?.(status, change);
    performance.measure(change === undefined ? 'dcm-status' : 'dcm-change', 'dcm-begin');
  }

  #phase(state) {
    if (state.phase === 'gone') this.#end();
    this.#shell.phase(state, this.following?.again);
  }

  /** It is gone, and nothing here changes any more; somebody may look whether there is another one of its name. */
  #end() {
    this.#isGone = true;
    this.#tab.close?.();
    const hadFocus = this.body.contains(document.activeElement);
    const text = 'This logical cloud was deleted.';
    fill(this.facts, mark('none', 'deleted'));
    fill(
      this.body,
      h('p', {}, text),
      h('p', { class: 'line' }, h('button', { type: 'button', onclick: () => this.#shell.reopen() }, 'Look again'),
        h('a', { href: link(['projects', this.#place.project]) }, 'The others of the project')),
    );
    announce(text);
    if (hadFocus) this.title.focus({ preventScroll: true });
  }

  #head(status) {
    const { applied } = status;
    const facts = [
      mark(toneOf(status.state), stateOf(status), { class: 'mark strong' }),
      status.namespace && ['namespace ', h('b', {}, status.namespace)],
      applied && ['applied ', time(applied.applied.at, 'ago'), ` by ${applied.applied.by}`],
      applied && status.isEdited && 'edited since',
      status.isInterrupted && 'an apply was cut off: apply again or terminate',
      status.stopped && ['stopped ', time(status.stopped.at, 'ago'), ` by ${status.stopped.by}`],
      status.leaving && 'deleted when it is off its clusters',
    ].filter(Boolean);
    fill(this.facts, facts.map((fact) => h('span', {}, fact)));
  }

  close() {
    this.#tab.close?.();
    this.following.stop();
  }
}
