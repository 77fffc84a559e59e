// The matrix: a row for each cluster, a column for each object.
//
// All rows are in the page, so that a search, a printer and a screen reader find them; they are in groups, and the browser lays
// out and paints only the groups that are to be seen. A change makes anew only the rows that it is about.

import { cellsOf } from './board.mjs';
import { fill, h, mark, time } from './dom.mjs';
import { count, helpOf } from './words.mjs';
import { clusterLink } from './route.mjs';

/** Rows of a group: a screen or two of them. */
const GROUP = 50;

export class Matrix {
  #cloud; #rows = new Map(); #groups = []; #columns = []; #order = []; #hint;

  constructor(cloud) {
    this.#cloud = cloud;
    this.head = h('thead', { role: 'rowgroup' });
    this.caption = h('caption', {});
    this.table = h('table', { class: 'matrix', role: 'table' }, this.caption, this.head);
    this.#hint = h('p', { class: 'faint hint' }, 'Arrow keys go from cluster to cluster, Enter opens one.');
    this.region = h(
      'div',
      { class: 'scroll', role: 'region', tabindex: '0', 'aria-label': 'Clusters and objects, can be scrolled' },
      this.table,
    );
    this.table.addEventListener('keydown', (event) => this.#key(event));
    this.element = h('div', {}, this.region, this.#hint);
  }

  /** Shows rows of all that there are, in this order, with these columns. */
  show(rows, columns, all) {
    if (JSON.stringify(columns) !== JSON.stringify(this.#columns)) this.#setColumns(columns);
    this.#forget(all);
    this.#place(rows.map((row) => this.#element(row)));
    const total = all.length;
    const shown = rows.length === total ? count(total, 'cluster') : `${rows.length.toLocaleString('en')} of ${count(total, 'cluster')}`;
    this.caption.textContent = `Clusters of ${this.#cloud.name}: ${shown}, problems first`;
  }

  /** The element of a row. One that was not shown when the columns became others still has the cells of before. */
  #element(row) {
    const known = this.#rows.get(row.id);
    if (known?.row === row && known.columns === this.#columns) return known.element;
    const element = known?.element ?? h('tr', { role: 'row' });
    this.#fillRow(element, row);
    this.#rows.set(row.id, { row, columns: this.#columns, element });
    return element;
  }

  /** Leaves nothing behind of clusters that are gone. */
  #forget(all) {
    const ids = new Set(all.map(({ id }) => id));
    for (const id of this.#rows.keys()) {
      if (!ids.has(id)) this.#rows.delete(id);
    }
  }

  /** True while somebody is in the table: rows are not moved then. */
  get isEntered() {
    return this.table.contains(document.activeElement);
  }

  #setColumns(columns) {
    this.#columns = columns;
    this.table.style.setProperty('--count', String(columns.length));
    const title = ({ kind, name }) => [h('span', { class: 'kind' }, kind), ' ', name && h('span', { class: 'name' }, name)];
    const cells = columns.map((column) => h(
      'th',
      { role: 'columnheader', scope: 'col', title: `${column.kind} ${column.name}`.trim() },
      title(column),
    ));
    const head = (text) => h('th', { role: 'columnheader', scope: 'col' }, text);
    const causes = h('th', { role: 'columnheader', scope: 'col', class: 'unseen' }, 'Causes');
    fill(this.head, h('tr', { role: 'row' }, head('Cluster'), head('State'), cells, causes));
  }

  #fillRow(element, row) {
    element.dataset.severity = row.severity;
    const hasFocus = element.contains(document.activeElement);
    const { project, name } = this.#cloud;
    const open = h('a', { href: clusterLink(project, name, row.id), tabindex: '-1' }, row.id);
    const since = row.lane && Date.parse(row.lane.since);
    const reference = row.reference ?? 'no longer referred to';
    const cells = cellsOf(row, this.#columns).map((cell, index) => this.#cell(cell, this.#columns[index]));
    fill(
      element,
      h('th', { role: 'rowheader', scope: 'row' }, open, reference !== row.id.split('/')[1] && h('span', { class: 'faint' }, reference)),
      h('td', { role: 'cell', class: 'state' }, mark(row.severity, row.state), since > 0 && time(since, 'for')),
      cells,
      h('td', { role: 'cell', class: 'causes' }, row.causes.map(cause)),
    );
    if (hasFocus) open.focus();
  }

  #cell(cell, { kind, name }) {
    const label = `${kind} ${name}`.trim();
    if (!cell) return h('td', { role: 'cell', class: 'cell', 'data-label': label }, h('span', { class: 'faint' }, '–'));
    const isHindered = cell.word !== cell.state && !/\d/.test(cell.word);
    return h(
      'td',
      { role: 'cell', class: 'cell', 'data-tone': cell.tone, 'data-label': label },
      isHindered && h('span', { class: 'unseen' }, `${cell.state}: `),
      cell.word,
    );
  }

  /** Puts rows into their groups; groups that are as before are left alone. */
  #place(elements) {
    const groups = Math.ceil(elements.length / GROUP);
    while (this.#groups.length < groups) {
      const group = { element: h('tbody', { role: 'rowgroup' }), rows: [] };
      this.#groups.push(group);
      this.table.append(group.element);
    }
    while (this.#groups.length > groups) this.#groups.pop().element.remove();
    const active = document.activeElement;
    this.#groups.forEach((group, index) => {
      const rows = elements.slice(index * GROUP, (index + 1) * GROUP);
      const isSame = rows.length === group.rows.length && rows.every((row, at) => row === group.rows[at]);
      if (isSame) return;
      group.rows = rows;
      group.element.style.setProperty('--rows', String(rows.length));
      group.element.replaceChildren(...rows);
    });
    this.#order = elements;
    if (active?.isConnected && active !== document.activeElement) active.focus({ preventScroll: true });
    this.#rove();
  }

  /** One row's link can be tabbed to; from there keys go on. */
  #rove(chosen) {
    const current = chosen ?? this.#order.find((row) => link(row)?.tabIndex === 0) ?? this.#order[0];
    for (const row of this.table.querySelectorAll('tbody a[tabindex="0"]')) row.tabIndex = -1;
    if (current) link(current).tabIndex = 0;
  }

  #key(event) {
    const row = event.target.closest('tbody tr');
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.#order.indexOf(row);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
    if (step === undefined || at < 0) return;
    event.preventDefault();
    const next = this.#order[Math.max(0, Math.min(this.#order.length - 1, at + step))];
    this.#rove(next);
    link(next).focus();
    next.scrollIntoView({ block: 'nearest' });
  }
}

const link = (row) => row.querySelector('a');

/** A cause in words, as `dcm status` tells it. */
export function cause({ cause: one, subject }) {
  const help = helpOf(one.reason);
  return h(
    'p',
    { class: 'cause' },
    subject && h('span', { class: 'subject' }, subject),
    h('b', {}, one.reason),
    `: ${one.message}`,
    help && `; ${help}`,
    one.nextTry && ['; ', time(one.nextTry, 'try')],
  );
}
