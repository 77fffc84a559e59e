//! What the issued credentials may do, asked of each simulated API server: whom it takes the credential for, and what
//! its own roles and bindings give to that identity.

use std::collections::BTreeMap;

use dcm_core::kubeconfig::Credential;
use dcm_core::name::{ClusterId, UserName};
use dcm_core::port::cluster::Access;
use dcm_core::service::CloudStatus;
use dcm_sync::sim::{Identity, Server};

use super::world::World;
use crate::output;

/// A namespace that no logical cloud may have.
const ANOTHER_NAMESPACE: &str = "default";

/// What is asked: verb, API group, resource.
const QUESTIONS: [(&str, &str, &str); 5] = [
    ("list", "", "pods"),
    ("create", "apps", "deployments"),
    ("delete", "", "pods"),
    ("delete", "", "resourcequotas"),
    ("create", "rbac.authorization.k8s.io", "rolebindings"),
];

/// How many of them are asked outside the cloud's own namespace: those that somebody may do inside.
const QUESTIONS_ELSEWHERE: usize = 3;

/// What one user was given, by cluster.
type Credentials = BTreeMap<ClusterId, Credential>;

/// Asks and shows it; true when every credential is worth something in its own namespace and cluster, and nothing
/// anywhere else.
pub(super) async fn show(world: &World, status: &CloudStatus) -> anyhow::Result<bool> {
    let Some(namespace) = &status.namespace else { return Ok(false) };
    let users = credentials(world, status).await?;
    let mut rows = Vec::new();
    let mut useful = vec![false; users.len()];
    let mut confined = true;
    for place in [Some(namespace.as_str()), Some(ANOTHER_NAMESPACE), None] {
        let own = place == Some(namespace.as_str());
        let count = if own { QUESTIONS.len() } else { QUESTIONS_ELSEWHERE };
        for (verb, group, resource) in QUESTIONS.into_iter().take(count) {
            let access = access(verb, group, resource, place);
            let counts: Vec<usize> = users.values().map(|one| count_allowed(world, one, &access)).collect();
            useful.iter_mut().zip(&counts).for_each(|(useful, count)| *useful |= own && *count > 0);
            confined &= own || counts.iter().all(|count| *count == 0);
            let shown = users.values().zip(counts).map(|(one, count)| in_words(count, one.len()));
            rows.push((question(verb, group, resource, place), shown.collect::<Vec<_>>()));
        }
    }
    if status.clusters.len() > 1 {
        let elsewhere: Vec<usize> = users.values().map(|one| count_known_elsewhere(world, one)).collect();
        confined &= elsewhere.iter().all(|count| *count == 0);
        let shown = users.values().zip(elsewhere).map(|(one, count)| in_words(count, one.len()));
        rows.push(("be known to another cluster".to_owned(), shown.collect()));
    }
    output::print(&format!("\nwho may, by the issued credentials on {} clusters\n", status.clusters.len()))?;
    output::print(&table(users.keys(), &rows))?;
    Ok(confined && !useful.is_empty() && useful.iter().all(|useful| *useful))
}

async fn credentials(world: &World, status: &CloudStatus) -> anyhow::Result<BTreeMap<UserName, Credentials>> {
    let references: BTreeMap<_, _> = status
        .clusters
        .iter()
        .filter_map(|(id, cluster)| Some((cluster.reference.clone()?, id.clone())))
        .collect();
    let mut users = BTreeMap::new();
    for user in status.credentials.keys() {
        let clouds = world.session.here()?.clouds();
        let found = clouds.kubeconfigs(&status.project, &status.name, Some(user), None).await?;
        let credentials =
            found.access.clusters.into_iter().filter_map(|(reference, access)| {
                Some((references.get(&reference)?.clone(), access.credential))
            });
        users.insert(user.clone(), credentials.collect());
    }
    Ok(users)
}

fn identify(server: &Server, credential: &Credential) -> Option<Identity> {
    match credential {
        Credential::Certificate { certificate, .. } => server.identify_certificate(certificate),
        Credential::Token(token) => server.identify_token(token),
        Credential::Plugin(_) => None,
    }
}

/// On how many clusters the credential for it gives an access.
fn count_allowed(world: &World, credentials: &Credentials, access: &Access) -> usize {
    let may = |server: &mut Server, credential| {
        identify(server, credential).is_some_and(|identity| server.may(&identity, access))
    };
    let allowed = credentials
        .iter()
        .filter(|(id, credential)| world.look(id, |server| may(server, credential)) == Some(true));
    allowed.count()
}

/// How many of the credentials the next cluster takes for somebody, too.
fn count_known_elsewhere(world: &World, credentials: &Credentials) -> usize {
    let next = credentials.keys().cycle().skip(1);
    let pairs = credentials.iter().zip(next).filter(|((id, _), other)| id != other);
    let known = pairs.filter(|((_, credential), other)| {
        world.look(other, |server| identify(server, credential).is_some()) == Some(true)
    });
    known.count()
}

fn access(verb: &str, group: &str, resource: &str, namespace: Option<&str>) -> Access {
    Access {
        verb: verb.into(),
        group: group.into(),
        resource: resource.into(),
        subresource: "".into(),
        name: "".into(),
        namespace: namespace.map(Into::into),
    }
}

fn question(verb: &str, group: &str, resource: &str, namespace: Option<&str>) -> String {
    let group = group.split('.').next().filter(|group| !group.is_empty());
    let resource = group.map_or(resource.to_owned(), |group| format!("{resource}.{group}"));
    match namespace {
        Some(namespace) => format!("{verb} {resource} in {namespace}"),
        None => format!("{verb} {resource} in all namespaces"),
    }
}

fn in_words(count: usize, all: usize) -> String {
    match count {
        0 => "-".to_owned(),
        count if count == all => "yes".to_owned(),
        count => format!("on {count} of {all}"),
    }
}

fn table<'a>(users: impl Iterator<Item = &'a UserName>, rows: &[(String, Vec<String>)]) -> String {
    let head = std::iter::once(String::new()).chain(users.map(ToString::to_string));
    let rows = rows.iter().map(|(question, cells)| std::iter::once(question.clone()).chain(cells.clone()));
    output::table(head, rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_reads_as_a_sentence() {
        assert_eq!(question("list", "", "pods", Some("n")), "list pods in n");
        assert_eq!(
            question("create", "rbac.authorization.k8s.io", "rolebindings", None),
            "create rolebindings.rbac in all namespaces"
        );
    }

    #[test]
    fn a_cell_tells_none_all_or_how_many() {
        assert_eq!([in_words(0, 3), in_words(3, 3), in_words(2, 3)], ["-", "yes", "on 2 of 3"]);
    }
}
