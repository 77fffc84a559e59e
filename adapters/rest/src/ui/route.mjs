// Where in the page somebody is: the fragment of the address. It can be linked to, and the way back works.

/** The place that a fragment names: `{view, names, query}`. */
export function parse(fragment) {
  const [path, query = ''] = fragment.replace(/^#?\/?/, '').split('?', 2);
  const names = path.split('/').filter((part) => part !== '').map(decoded);
  return { ...placeOf(names), query: new URLSearchParams(query) };
}

function placeOf(names) {
  const [first, ...rest] = names;
  if (first === undefined || (first === 'projects' && rest.length === 0)) return { view: 'projects' };
  if (first === 'clusters') return { view: 'clusters' };
  if (first !== 'projects') return { view: 'nowhere' };
  const [project, cloud, tab, provider, cluster] = rest;
  if (cloud === undefined) return { view: 'project', project };
  if (tab === undefined) return { view: 'cloud', project, cloud, tab: 'clusters' };
  if (tab === 'clusters' && cluster !== undefined) {
    return { view: 'cloud', project, cloud, tab: 'cluster', cluster: `${provider}/${cluster}` };
  }
  if (['credentials', 'plan', 'audit'].includes(tab)) return { view: 'cloud', project, cloud, tab };
  return { view: 'nowhere' };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The fragment of a place. */
export function link(names, query = {}) {
  const path = names.map(encodeURIComponent).join('/');
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value));
  return `#/${path}${asked.size > 0 ? `?${asked}` : ''}`;
}

/** The fragment of a cluster in a logical cloud. */
export function clusterLink(project, cloud, id) {
  return link(['projects', project, cloud, 'clusters', ...id.split('/')]);
}
