//! The logical cloud itself: all of its parts, which hold together.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::manifest::Manifest;
use crate::name::{ClusterId, LogicalCloudName, Namespace, ProjectName, UserName};
use crate::port::synchronizer::Removal;
use crate::refusal::{Refusals, Warning};

use super::container_defaults::ContainerDefaults;
use super::draft::{Draft, MetadataDraft, ReferenceDraft, SpecDraft};
use super::key_values::KeyValues;
use super::level::Level;
use super::metadata::Metadata;
use super::permission::Permission;
use super::policies::ObjectPolicies;
use super::quota::Quota;
use super::random_bits::LogicalCloudUid;
use super::reference::ClusterReference;
use super::selector::LabelSelector;
use super::service_mesh::ServiceMesh;
use super::user::User;
use super::{check, checked, removal, warnings};

/// A logical cloud that follows all rules. Its lists are in the order of their names, whatever the draft's order was,
/// so equal clouds are equal and render to equal bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct LogicalCloud {
    pub(super) project: ProjectName,
    pub(super) uid: LogicalCloudUid,
    pub(super) metadata: Metadata<LogicalCloudName>,
    pub(super) level: Level,
    pub(super) namespace: Option<Namespace>,
    pub(super) object_policies: ObjectPolicies,
    pub(super) removal: Removal,
    pub(super) container_defaults: ContainerDefaults,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) users: Vec<User>,
    pub(super) permissions: Vec<Permission>,
    pub(super) quotas: Vec<Quota>,
    pub(super) references: Vec<ClusterReference>,
    pub(super) cluster_selector: Option<LabelSelector>,
    pub(super) key_values: Vec<KeyValues>,
    pub(super) manifests: Vec<Manifest>,
    pub(super) service_mesh: Option<ServiceMesh>,
}

impl LogicalCloud {
    /// Checks a draft, all of it, and takes it as a logical cloud; also tells what is accepted and perhaps not meant.
    ///
    /// The UID is random and made once, when the cloud is made; later changes of its draft keep it.
    ///
    /// # Errors
    /// All refusals at once, each with the path of its field.
    pub fn new(
        project: ProjectName,
        uid: LogicalCloudUid,
        draft: Draft,
    ) -> Result<(Self, Vec<Warning>), Refusals> {
        // What is refused for its size is not looked through for warnings; the check takes its draft apart.
        let as_written = draft.clone();
        let cloud = Self::without_warnings(project, uid, draft)?;
        Ok((cloud, warnings::of(&as_written)))
    }

    /// What is accepted and perhaps not meant.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        warnings::of(&self.to_draft())
    }

    /// Checks a draft that somebody was warned about already, such as a stored one.
    pub(crate) fn without_warnings(
        project: ProjectName,
        uid: LogicalCloudUid,
        draft: Draft,
    ) -> Result<Self, Refusals> {
        checked(|checks| check::whole(project, uid, draft, checks))
    }

    /// The project that owns it.
    #[must_use]
    pub fn project(&self) -> &ProjectName {
        &self.project
    }

    /// What tells it from another one of its name.
    #[must_use]
    pub fn uid(&self) -> LogicalCloudUid {
        self.uid
    }

    /// Its name, unique in the project.
    #[must_use]
    pub fn name(&self) -> &LogicalCloudName {
        &self.metadata.name
    }

    /// Its name and what people wrote about it.
    #[must_use]
    pub fn metadata(&self) -> &Metadata<LogicalCloudName> {
        &self.metadata
    }

    /// How much it may do.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Its namespace; none for an admin cloud, which takes its clusters' own.
    #[must_use]
    pub fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }

    /// What is done about objects that others made, change or delete.
    #[must_use]
    pub fn object_policies(&self) -> &ObjectPolicies {
        &self.object_policies
    }

    /// How it is taken off clusters, where whoever does it says nothing else.
    #[must_use]
    pub fn removal(&self) -> Removal {
        self.removal
    }

    /// What containers get that do not say what they need.
    #[must_use]
    pub fn container_defaults(&self) -> &ContainerDefaults {
        &self.container_defaults
    }

    /// Labels of the namespace.
    #[must_use]
    pub fn labels(&self) -> &BTreeMap<String, String> {
        &self.labels
    }

    /// Its users, by name.
    #[must_use]
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// One user.
    #[must_use]
    pub fn user(&self, name: &UserName) -> Option<&User> {
        self.users.iter().find(|user| user.metadata.name == *name)
    }

    /// Its permissions, by name.
    #[must_use]
    pub fn permissions(&self) -> &[Permission] {
        &self.permissions
    }

    /// Its quotas, by name.
    #[must_use]
    pub fn quotas(&self) -> &[Quota] {
        &self.quotas
    }

    /// Its cluster references, by name.
    #[must_use]
    pub fn references(&self) -> &[ClusterReference] {
        &self.references
    }

    /// Which registered clusters it is in besides the referenced ones.
    #[must_use]
    pub fn cluster_selector(&self) -> Option<&LabelSelector> {
        self.cluster_selector.as_ref()
    }

    /// This cloud with a reference to each registered cluster that its selector selects, given with its labels. The
    /// new references have no load balancer and the default name; those it had stay as they are.
    ///
    /// # Errors
    /// [`Refusals`] when there are too many references, or one's default name is another one's name.
    pub fn with_selected<'a>(
        &self,
        registered: impl IntoIterator<Item = (&'a ClusterId, &'a BTreeMap<String, String>)>,
    ) -> Result<Self, Refusals> {
        let mut draft = self.to_draft();
        let referenced: BTreeSet<&ClusterId> =
            self.references.iter().map(|reference| &reference.cluster).collect();
        let selector = self.cluster_selector.as_ref();
        for (id, labels) in registered {
            if !referenced.contains(id) && selector.is_some_and(|selector| selector.matches(labels)) {
                let (provider, cluster) = (id.provider.to_string(), id.cluster.to_string());
                draft.spec.clusters.push(ReferenceDraft { provider, cluster, ..ReferenceDraft::default() });
            }
        }
        Self::without_warnings(self.project.clone(), self.uid, draft)
    }

    /// Its key-value pairs, by name.
    #[must_use]
    pub fn key_values(&self) -> &[KeyValues] {
        &self.key_values
    }

    /// Its extra manifests, by key, each in the cloud's namespace.
    #[must_use]
    pub fn manifests(&self) -> &[Manifest] {
        &self.manifests
    }

    /// Its service mesh; none where it has none.
    #[must_use]
    pub fn service_mesh(&self) -> Option<&ServiceMesh> {
        self.service_mesh.as_ref()
    }

    /// The draft that makes this cloud for callers to whom a standard and a privileged cloud are one level: a standard one becomes
    /// privileged where its permissions need that.
    #[must_use]
    pub fn to_draft_of_one_level(&self) -> Draft {
        let mut draft = self.to_draft();
        if self.level == Level::Standard {
            draft.spec.level = Some(Level::STANDARD_OR_PRIVILEGED.to_owned());
        }
        draft
    }

    /// The draft that makes this cloud, in canonical form: where an edit begins.
    #[must_use]
    pub fn to_draft(&self) -> Draft {
        let Stored { metadata, spec, .. } = self.clone().into();
        Draft { metadata, spec }
    }
}

/// How a logical cloud is stored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    project: ProjectName,
    uid: LogicalCloudUid,
    metadata: MetadataDraft,
    spec: SpecDraft,
}

impl TryFrom<Stored> for LogicalCloud {
    type Error = Refusals;

    fn try_from(stored: Stored) -> Result<Self, Refusals> {
        let draft = Draft { metadata: stored.metadata, spec: stored.spec };
        Self::without_warnings(stored.project, stored.uid, draft)
    }
}

impl From<LogicalCloud> for Stored {
    fn from(cloud: LogicalCloud) -> Self {
        let spec = SpecDraft {
            namespace: cloud.namespace.map(Into::into),
            object_policies: cloud.object_policies.into(),
            removal: removal::draft(cloud.removal),
            container_defaults: cloud.container_defaults.draft(),
            level: Some(cloud.level.as_str().to_owned()),
            labels: cloud.labels,
            users: cloud.users.into_iter().map(Into::into).collect(),
            permissions: cloud.permissions.into_iter().map(Into::into).collect(),
            quotas: cloud.quotas.into_iter().map(Into::into).collect(),
            clusters: cloud.references.into_iter().map(Into::into).collect(),
            cluster_selector: cloud.cluster_selector.map(Into::into),
            key_values: cloud.key_values.into_iter().map(Into::into).collect(),
            manifests: cloud.manifests.iter().map(|manifest| manifest.body().clone()).collect(),
            service_mesh: cloud.service_mesh.map(Into::into),
        };
        Self { project: cloud.project, uid: cloud.uid, metadata: cloud.metadata.into(), spec }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[allow(clippy::needless_pass_by_value, reason = "specifications are written in place")]
    fn cloud(spec: serde_json::Value) -> LogicalCloud {
        let draft = serde_json::from_value(json!({"metadata": {"name": "lc"}, "spec": spec})).unwrap();
        LogicalCloud::new(ProjectName::new("p").unwrap(), LogicalCloudUid::from_random(1), draft).unwrap().0
    }

    #[test]
    fn selected_clusters_become_references_beside_those_that_are_there() {
        let registered: Vec<(ClusterId, BTreeMap<String, String>)> =
            [("aws/a", "edge"), ("aws/b", "edge"), ("aws/c", "core"), ("gcp/b", "edge")]
                .map(|(id, site)| (id.parse().unwrap(), BTreeMap::from([("site".into(), site.into())])))
                .into();
        let selected = |cloud: &LogicalCloud| -> Vec<String> {
            let resolved = cloud.with_selected(registered.iter().map(|(id, labels)| (id, labels))).unwrap();
            assert_eq!(resolved.cluster_selector(), cloud.cluster_selector());
            let show =
                |reference: &ClusterReference| format!("{}={}", reference.metadata.name, reference.cluster);
            resolved.references().iter().map(show).collect()
        };
        let clusters = json!([{"name": "first", "provider": "aws", "cluster": "a"}]);
        let selector = json!({"matchLabels": {"site": "edge"}});
        let both = cloud(json!({"clusters": clusters, "clusterSelector": selector}));
        assert_eq!(selected(&both), ["aws-b=aws/b", "first=aws/a", "gcp-b=gcp/b"]);
        assert_eq!(selected(&cloud(json!({"clusters": clusters}))), ["first=aws/a"]);
        assert_eq!(selected(&cloud(json!({"clusterSelector": {}}))).len(), registered.len());
    }

    #[test]
    fn a_selector_is_stored_and_comes_back() {
        for selector in
            [json!({}), json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]})]
        {
            let cloud = cloud(json!({"clusterSelector": selector}));
            let text = serde_json::to_string(&cloud).unwrap();
            assert_eq!(serde_json::from_str::<LogicalCloud>(&text).unwrap(), cloud, "{text}");
        }
    }
}
