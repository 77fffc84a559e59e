//! What the operations are sorted by: the collections that they are about.

use serde_json::{Value, json};

/// The segment of a path that names a collection, what it is called, and what is in it. The order is that of a page.
const COLLECTIONS: [(&str, &str, &str); 15] = [
    ("projects", "Projects", "Projects own logical clouds."),
    ("logical-clouds", "Logical clouds", "Tenants' slices of sets of clusters, and what is done with them."),
    ("cluster-references", "Cluster references", "Which clusters a logical cloud is in."),
    ("users", "Users", "Who works in a logical cloud, and their credentials."),
    ("user-permissions", "User permissions", "What users of a logical cloud may do."),
    ("quotas", "Quotas", "What a logical cloud may use on each cluster."),
    ("cluster-quotas", "Quotas", ""),
    ("kv-pairs", "Key-value pairs", "Notes that are kept with a logical cloud, and never rendered."),
    ("cluster-providers", "Cluster providers", "Where clusters come from."),
    ("clusters", "Clusters", "Registered clusters, and what is left on them."),
    ("controllers", "Controllers", "Records of external programs that may be called."),
    ("cluster-controllers", "Controllers", ""),
    ("audit", "Audit log", "Every decision: who asked for what, when and why, and what came of it."),
    ("metrics", "Metrics", "What the server does, in figures."),
    ("", "This API", "What describes it."),
];

/// The collection that a path is about: the last one in it.
pub(super) fn of(path: &str) -> &'static str {
    let named = |segment: &str| COLLECTIONS.iter().find(|(name, ..)| !name.is_empty() && *name == segment);
    let found = path.rsplit('/').find_map(named);
    found.or(COLLECTIONS.last()).map_or("", |(_, title, _)| title)
}

/// All of them.
pub(super) fn tags() -> Value {
    let told = COLLECTIONS.iter().filter(|(.., description)| !description.is_empty());
    told.map(|(_, name, description)| json!({"name": name, "description": description})).collect()
}
