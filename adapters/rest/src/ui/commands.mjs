// Commands that help where something waits for somebody.

/** A word as a shell takes it. */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const command = (...words) => ['dcm', ...words.map(quoted)].join(' ');

/** The command that does something with a logical cloud. */
export function ofCloud({ project, name }, ...words) {
  return `${command(...words, name)} -p ${quoted(project)}`;
}

/** The names of the requests for certificates that a cause is about, and that nobody but a person may approve. */
function requestsOf({ reason, objects }) {
  if (reason !== 'denied') return [];
  return objects.filter(({ kind }) => kind === 'CertificateSigningRequest').map(({ name }) => name);
}

/** True when a cause is about such requests. */
export function awaitsApproval(cause) {
  return requestsOf(cause).length > 0;
}

/** The one command that approves all of them on a cluster. */
export function approval(cause) {
  return ['kubectl certificate approve', ...requestsOf(cause).map(quoted)].join(' ');
}

/**
 * The commands that approve all requests that a hindrance is about, each with the clusters to run it on: requests of one name on
 * many clusters are one command.
 */
export function approvals({ reason, clusters, objects }) {
  const found = new Map();
  for (const id of clusters) {
    const cause = { reason, objects: objects[id] };
    if (!awaitsApproval(cause)) continue;
    const text = approval(cause);
    if (!found.has(text)) found.set(text, { text, clusters: [] });
    found.get(text).clusters.push(id);
  }
  return [...found.values()];
}

/** What may help against a cause on a cluster. */
export function against(cause, cluster, cloud) {
  if (awaitsApproval(cause)) return [approval(cause), command('cluster', 'check', cluster)];
  switch (cause.reason) {
    case 'denied': return [command('cluster', 'check', cluster)];
    case 'unauthorized': return [`${command('cluster', 'update', cluster)} --kubeconfig FILE`];
    case 'unreachable': return [command('cluster', 'check', cluster)];
    case 'cluster-changed': return [command('cluster', 'check', cluster), command('cluster', 'accept', cluster)];
    case 'same-cluster': return [command('cluster', 'remove', cluster)];
    case 'store-behind': return [ofCloud(cloud, 'reconcile')];
    case 'paused': return [cloud.isStopped ? ofCloud(cloud, 'resume') : command('cluster', 'resume', cluster)];
    case 'foreign': case 'field-conflict': case 'drifted': case 'tampered': case 'invalid': case 'unknown-kind': case 'plan-stale':
      return [`${ofCloud(cloud, 'get')} -o yaml > ${quoted(cloud.name)}.yaml`, `dcm plan -f ${quoted(cloud.name)}.yaml`];
    case 'namespace-gone': return [ofCloud(cloud, 'terminate'), ofCloud(cloud, 'status')];
    case 'has-contents': return [`${ofCloud(cloud, 'terminate')} --delete-contents`];
    default: return [];
  }
}
