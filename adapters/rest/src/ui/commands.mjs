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

/** True when a cause is about a request for a certificate that nobody but a person may approve. */
export function awaitsApproval({ reason, object }) {
  return reason === 'denied' && object?.kind === 'CertificateSigningRequest';
}

/** What may help against a cause on a cluster. */
export function against({ reason, object }, cluster, cloud) {
  if (awaitsApproval({ reason, object })) return [`kubectl certificate approve ${quoted(object.name)}`, command('cluster', 'check', cluster)];
  switch (reason) {
    case 'denied': return [command('cluster', 'check', cluster)];
    case 'unauthorized': return [`${command('cluster', 'update', cluster)} --kubeconfig FILE`];
    case 'unreachable': return [command('cluster', 'check', cluster)];
    case 'cluster-changed': return [command('cluster', 'check', cluster), command('cluster', 'accept', cluster)];
    case 'store-behind': return [ofCloud(cloud, 'reconcile')];
    case 'paused': return [cloud.isStopped ? ofCloud(cloud, 'resume') : command('cluster', 'resume', cluster)];
    case 'foreign': case 'field-conflict': case 'drifted': case 'invalid': case 'unknown-kind': case 'plan-stale':
      return [`${ofCloud(cloud, 'get')} -o yaml > ${quoted(cloud.name)}.yaml`, `dcm plan -f ${quoted(cloud.name)}.yaml`];
    case 'namespace-gone': return [ofCloud(cloud, 'terminate'), ofCloud(cloud, 'status')];
    case 'has-contents': return [`${ofCloud(cloud, 'terminate')} --delete-contents`];
    default: return [];
  }
}
