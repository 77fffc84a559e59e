// Registered clusters of all providers, put together of one answer each. Nothing here knows of a page.

import { count } from './words.mjs';

/**
 * Of providers, and of each the list of its clusters or why there is none (`{error}`): the clusters, how many can't be read, and
 * the providers whose clusters nobody could tell. One that fails hides no other one.
 */
export function registeredOf(providers, lists) {
  const found = { items: [], providers: providers.items.length, broken: 0, brokenProviders: providers.broken.length, failed: [], isWhole: providers.isWhole };
  lists.forEach((list, index) => {
    const { name } = providers.items[index].metadata;
    if (list.error) {
      // One that is gone since the providers were listed has no clusters.
      if (list.error.status === 404) found.providers -= 1;
      else found.failed.push({ provider: name, why: list.error.message });
      return;
    }
    found.items.push(...list.items.map((item) => registered(name, item)));
    found.broken += list.broken.length;
    found.isWhole &&= list.isWhole;
  });
  return found;
}

function registered(provider, { metadata, spec, status }) {
  const id = `${provider}/${metadata.name}`;
  const labels = Object.entries(spec.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(', ');
  const text = [id, labels, spec.server ?? '', metadata.description ?? ''].join('\n').toLowerCase();
  return { id, labels, text, server: spec.server, description: metadata.description, isMoved: Boolean(status?.moved) };
}

/** How many there are, and what of them is not shown, in words. */
export function extentOf({ items, providers, broken, brokenProviders, isWhole }, matching) {
  const all = count(items.length, 'cluster');
  return [
    matching === items.length ? `${all}, in ${count(providers, 'provider')}` : `${matching.toLocaleString('en')} of ${all}`,
    broken > 0 && `${count(broken, 'more', 'more')} can't be read`,
    brokenProviders > 0 && `${count(brokenProviders, 'provider')} can't be read`,
    !isWhole && 'there are more than are shown',
  ].filter(Boolean).join('; ');
}
