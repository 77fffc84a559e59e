//! Which cluster of an app context is to hold which bundle, as it is stored.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use dcm_core::app_context::{
    Action, AppContext, Bundle, Drift, Edit, Existing, InvalidBundle, Request, Stage, Step,
};
use dcm_core::hash::ContentHash;
use dcm_core::manifest::Manifest;
use dcm_core::name::{AppName, ClusterId};
use serde::{Deserialize, Serialize, Serializer};

/// The bundles of an app context, with the clusters that are to hold each.
///
/// Where clusters differ in a few manifests, such as a Secret with a key of each cluster, the stored form names what they share once: 1,000
/// clusters with two manifests of their own each take less than 256 KiB.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<Outline<'static>>")]
pub(crate) struct Placements {
    bundles: BTreeMap<ContentHash, Placed>,
    /// The bundle of each cluster.
    of_clusters: BTreeMap<ClusterId, ContentHash>,
}

/// A bundle, and the clusters that are to hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    pub steps: Vec<StepRecord>,
    /// In order of their names.
    pub clusters: Vec<ClusterId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StepRecord {
    pub app: AppName,
    pub stage: Stage,
    #[serde(flatten)]
    pub action: ActionRecord,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ActionRecord {
    #[serde(rename_all = "camelCase")]
    Apply {
        manifest: ContentHash,
        #[serde(default)]
        existing: Existing,
        #[serde(default, skip_serializing_if = "Drift::is_default")]
        drift: Drift,
    },
    #[serde(rename_all = "camelCase")]
    Edit { edit: Edit },
    #[serde(rename_all = "camelCase")]
    Request { name: Arc<str>, request: Request },
}

/// Bundles that differ in manifests alone, as they are stored.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Outline<'a> {
    /// The steps of the first bundle.
    steps: Cow<'a, [StepRecord]>,
    /// The positions of those steps whose manifests differ from bundle to bundle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    differ: Vec<usize>,
    bundles: Vec<Variant<'a>>,
}

/// One of the bundles of an outline: its hash, its clusters, and its manifests at the positions that differ. An outline may have thousands, so
/// the members have no names.
type Variant<'a> = (ContentHash, Cow<'a, [ClusterId]>, Vec<ContentHash>);

/// Why stored placements can't be read.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("bundle {0} does not have one manifest for each position that differs")]
    Manifests(ContentHash),
    #[error("the bundles differ at {0}, where no manifest is applied")]
    Position(usize),
    #[error("cluster {0} is to hold two bundles")]
    Cluster(ClusterId),
    #[error("bundle {0} stands there twice")]
    Bundle(ContentHash),
}

/// Why stored steps don't make a bundle.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BundleError {
    #[error("manifest {0} is not stored")]
    ManifestMissing(ContentHash),
    #[error(transparent)]
    Invalid(#[from] InvalidBundle),
}

impl Placements {
    /// Those of an app context.
    pub(crate) fn of(context: &AppContext) -> Self {
        let mut placements = Self::default();
        for (cluster, bundle) in &context.placements {
            let placed = placements.bundles.entry(bundle.hash());
            let placed =
                placed.or_insert_with(|| Placed { steps: StepRecord::all(bundle), clusters: Vec::new() });
            placed.clusters.push(cluster.clone());
            placements.of_clusters.insert(cluster.clone(), bundle.hash());
        }
        placements
    }

    /// The bundle that a cluster is named with.
    pub(crate) fn of_cluster(&self, cluster: &ClusterId) -> Option<ContentHash> {
        self.of_clusters.get(cluster).copied()
    }

    /// All clusters.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &ClusterId> {
        self.of_clusters.keys()
    }

    /// The bundles, each once.
    pub(crate) fn bundles(&self) -> impl Iterator<Item = (ContentHash, &Placed)> {
        self.bundles.iter().map(|(hash, placed)| (*hash, placed))
    }

    /// The steps of a bundle; none of one that is not here.
    pub(crate) fn steps_of(&self, bundle: &ContentHash) -> &[StepRecord] {
        self.bundles.get(bundle).map_or(&[], |placed| &placed.steps)
    }

    /// The steps of all bundles.
    #[cfg(feature = "sim")]
    pub(crate) fn steps(&self) -> impl Iterator<Item = &StepRecord> {
        self.bundles.values().flat_map(|placed| &placed.steps)
    }
}

impl Placed {
    /// The manifests that its steps apply.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = ContentHash> {
        self.steps.iter().filter_map(StepRecord::manifest)
    }
}

impl Serialize for Placements {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Outlines are few, however many bundles have each.
        let mut groups: Vec<Vec<(ContentHash, &Placed)>> = Vec::new();
        for (hash, placed) in self.bundles() {
            match groups.iter_mut().find(|group| differ_in_manifests(&group[0].1.steps, &placed.steps)) {
                Some(group) => group.push((hash, placed)),
                None => groups.push(vec![(hash, placed)]),
            }
        }
        serializer.collect_seq(groups.iter().map(|group| Outline::of(group)))
    }
}

impl<'a> Outline<'a> {
    fn of(group: &[(ContentHash, &'a Placed)]) -> Self {
        let steps = &group[0].1.steps;
        let differs = |at: &usize| group.iter().any(|(_, placed)| placed.steps[*at] != steps[*at]);
        let differ: Vec<usize> = (0..steps.len()).filter(differs).collect();
        let variant = |(hash, placed): &(ContentHash, &'a Placed)| {
            let manifests = differ.iter().filter_map(|at| placed.steps[*at].manifest()).collect();
            (*hash, Cow::from(&placed.clusters), manifests)
        };
        let bundles = group.iter().map(variant).collect();
        Self { steps: Cow::from(steps), differ, bundles }
    }

    /// The steps of one of its bundles.
    fn steps_of(&self, (hash, _, manifests): &Variant<'_>) -> Result<Vec<StepRecord>, Unreadable> {
        if manifests.len() != self.differ.len() {
            return Err(Unreadable::Manifests(*hash));
        }
        let mut steps = self.steps.to_vec();
        for (at, own) in iter::zip(&self.differ, manifests) {
            let manifest = steps.get_mut(*at).and_then(StepRecord::manifest_mut);
            *manifest.ok_or(Unreadable::Position(*at))? = *own;
        }
        Ok(steps)
    }
}

impl TryFrom<Vec<Outline<'_>>> for Placements {
    type Error = Unreadable;

    fn try_from(outlines: Vec<Outline<'_>>) -> Result<Self, Unreadable> {
        let mut placements = Self::default();
        for outline in outlines {
            for variant in &outline.bundles {
                let (hash, clusters, _) = variant;
                for cluster in clusters.iter() {
                    if placements.of_clusters.insert(cluster.clone(), *hash).is_some() {
                        return Err(Unreadable::Cluster(cluster.clone()));
                    }
                }
                let placed = Placed { steps: outline.steps_of(variant)?, clusters: clusters.to_vec() };
                if placements.bundles.insert(*hash, placed).is_some() {
                    return Err(Unreadable::Bundle(*hash));
                }
            }
        }
        Ok(placements)
    }
}

/// True when the steps are the same but for which manifests they apply.
fn differ_in_manifests(one: &[StepRecord], other: &[StepRecord]) -> bool {
    let same = |(one, other): (&StepRecord, &StepRecord)| {
        use ActionRecord::Apply;
        let actions = match (&one.action, &other.action) {
            (Apply { existing, drift, .. }, Apply { existing: others, drift: other, .. }) => {
                existing == others && drift == other
            }
            (one, other) => one == other,
        };
        actions && one.app == other.app && one.stage == other.stage
    };
    one.len() == other.len() && iter::zip(one, other).all(same)
}

impl StepRecord {
    /// The steps of a bundle.
    pub(super) fn all(bundle: &Bundle) -> Vec<Self> {
        bundle.steps().iter().map(Self::of).collect()
    }

    fn of(step: &Step) -> Self {
        let action = match &step.action {
            Action::Apply { manifest, existing, drift } => {
                ActionRecord::Apply { manifest: manifest.hash(), existing: *existing, drift: drift.clone() }
            }
            Action::Edit { edit } => ActionRecord::Edit { edit: edit.clone() },
            Action::Request { name, request } => {
                ActionRecord::Request { name: name.clone(), request: request.clone() }
            }
        };
        Self { app: step.app.clone(), stage: step.stage, action }
    }

    /// The manifest that it applies.
    pub(crate) fn manifest(&self) -> Option<ContentHash> {
        match &self.action {
            ActionRecord::Apply { manifest, .. } => Some(*manifest),
            ActionRecord::Edit { .. } | ActionRecord::Request { .. } => None,
        }
    }

    fn manifest_mut(&mut self) -> Option<&mut ContentHash> {
        match &mut self.action {
            ActionRecord::Apply { manifest, .. } => Some(manifest),
            ActionRecord::Edit { .. } | ActionRecord::Request { .. } => None,
        }
    }
}

/// Puts stored steps and manifests together again.
pub(crate) fn bundle(
    steps: &[StepRecord],
    manifests: &BTreeMap<ContentHash, Manifest>,
) -> Result<Bundle, BundleError> {
    let steps = steps.iter().map(|step| {
        let action = match &step.action {
            ActionRecord::Apply { manifest, existing, drift } => Action::Apply {
                manifest: manifests.get(manifest).ok_or(BundleError::ManifestMissing(*manifest))?.clone(),
                existing: *existing,
                drift: drift.clone(),
            },
            ActionRecord::Edit { edit } => Action::Edit { edit: edit.clone() },
            ActionRecord::Request { name, request } => {
                Action::Request { name: name.clone(), request: request.clone() }
            }
        };
        Ok(Step { app: step.app.clone(), stage: step.stage, action })
    });
    Ok(Bundle::new(steps.collect::<Result<_, BundleError>>()?)?)
}

#[cfg(test)]
mod tests {
    use dcm_core::app_context::Generation;
    use dcm_core::name::ContextId;
    use dcm_core::port::store::Document;
    use dcm_core::port::synchronizer::Removal;
    use serde_json::{Value, json};

    use super::*;
    use crate::record::Root;

    /// Largest record of an app context on 1,000 clusters that differ in two manifests, as those of a service mesh do.
    const ROOT_BYTES_MAX: usize = 256 << 10;

    fn step(stage: u16, kind: &str, name: &str, value: &str) -> Step {
        let body = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "n"},
            "data": {"key": value}});
        let action = Action::Apply {
            manifest: Manifest::new(body).unwrap(),
            existing: Existing::default(),
            drift: Drift::default(),
        };
        Step { app: AppName::new("app").unwrap(), stage: Stage(stage), action }
    }

    /// A context whose bundles share so many objects, beside two of each cluster.
    fn context(clusters: usize, shared: usize) -> AppContext {
        let shared: Vec<Step> = (0..shared).map(|map| step(0, "ConfigMap", &format!("m{map}"), "")).collect();
        let bundle = |cluster: usize| {
            let own = ["Namespace", "Secret"].map(|kind| step(1, kind, "own", &format!("a{cluster}a=")));
            let cluster = ClusterId::new("provider-1", format!("cluster-{cluster:04}")).unwrap();
            (cluster, Arc::new(Bundle::new(shared.iter().cloned().chain(own).collect()).unwrap()))
        };
        let placements = (0..clusters).map(bundle).collect();
        let id = ContextId::new("lc-1").unwrap();
        AppContext { id, labels: BTreeMap::new(), removal: Removal::default(), placements }
    }

    fn stored(placements: &Placements) -> Value {
        serde_json::to_value(placements).unwrap()
    }

    fn error(value: Value) -> String {
        serde_json::from_value::<Placements>(value).unwrap_err().to_string()
    }

    #[test]
    fn the_root_of_a_thousand_clusters_that_differ_stays_small_and_comes_back() {
        let root = Root::of(&context(1_000, 30), Generation(1));
        let text = serde_json::to_string(&root).unwrap();
        assert!(text.len() < ROOT_BYTES_MAX, "{}", text.len());
        // Four times as many fit into one document.
        Document::from_value(&Root::of(&context(4_000, 30), Generation(1))).unwrap();
        assert_eq!(serde_json::from_str::<Root>(&text).unwrap(), root);
        let value = stored(&root.placements);
        assert_eq!((value.as_array().unwrap().len(), &value[0]["differ"]), (1, &json!([30, 31])));
    }

    #[test]
    fn clusters_of_one_bundle_share_it_and_bundles_of_other_steps_stand_apart() {
        let mut mixed = context(3, 1);
        let bundles: Vec<_> = mixed.placements.values().cloned().collect();
        let last = mixed.placements.last_entry().unwrap().key().clone();
        mixed.placements.insert(last.clone(), bundles[0].clone());
        let other = Bundle::new(vec![step(2, "ConfigMap", "m", "")]).unwrap();
        let more = ClusterId::new("z", "z").unwrap();
        mixed.placements.insert(more.clone(), Arc::new(other));
        let placements = Placements::of(&mixed);
        assert_eq!(placements.of_cluster(&last), Some(bundles[0].hash()));
        assert_eq!(placements.steps_of(&placements.of_cluster(&more).unwrap()).len(), 1);
        let value = stored(&placements);
        assert_eq!(value.as_array().unwrap().len(), 2);
        assert_eq!(serde_json::from_value::<Placements>(value).unwrap(), placements);
    }

    #[test]
    fn what_does_not_fit_together_is_refused_with_its_reason() {
        let value = stored(&Placements::of(&context(2, 1)));
        let with = |change: fn(&mut Value)| {
            let mut value = value.clone();
            change(&mut value);
            error(value)
        };
        let short = with(|value| value[0]["bundles"][0][2] = json!([]));
        assert!(short.contains("one manifest for each position that differs"), "{short}");
        assert_eq!(
            with(|value| value[0]["differ"] = json!([9, 9])),
            "the bundles differ at 9, where no manifest is applied"
        );
        let twice = with(|value| value[0]["bundles"][1][1] = value[0]["bundles"][0][1].clone());
        assert!(
            twice.starts_with("cluster provider-1/cluster-") && twice.ends_with("two bundles"),
            "{twice}"
        );
        let same = with(|value| value[0]["bundles"][1][0] = value[0]["bundles"][0][0].clone());
        assert!(same.ends_with("stands there twice"), "{same}");
    }
}
