//! Building bundles and app contexts from JSON values, for callers that render their own manifests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Action, AppContext, Bundle, Drift, Existing, InvalidBundle, Stage, Step};
use crate::manifest::Manifest;
use crate::name::{AppName, ClusterId, ContextId};
use crate::port::synchronizer::Removal;

/// Collects the objects of a bundle, stage by stage; begins with [`Bundle::builder`].
///
/// The first invalid object is reported by [`BundleBuilder::build`]. The policies of objects are those that were set last before
/// them: [`Existing::Refuse`] and [`Drift::default`] in the beginning.
#[derive(Debug, Clone)]
#[must_use]
pub struct BundleBuilder {
    app: AppName,
    stage: u16,
    existing: Existing,
    drift: Drift,
    steps: Result<Vec<Step>, InvalidBundle>,
}

impl BundleBuilder {
    /// Adds a Kubernetes object to the current stage.
    pub fn object(mut self, body: Value) -> Self {
        // After an invalid object, none counts.
        let Ok(steps) = &mut self.steps else { return self };
        match Manifest::new(body) {
            Ok(manifest) => {
                let action = Action::Apply { manifest, existing: self.existing, drift: self.drift.clone() };
                steps.push(Step { app: self.app.clone(), stage: Stage(self.stage), action });
            }
            Err(source) => {
                let position = steps.len() + 1;
                self.steps = Err(InvalidBundle::Object { position, source });
            }
        }
        self
    }

    /// Begins the next stage: its objects are applied when all objects before them are there, and removed before those. A stage without
    /// objects is skipped.
    pub fn then(mut self) -> Self {
        let last = self.steps.as_ref().ok().and_then(|steps| steps.last());
        if last.is_some_and(|last| last.stage.0 == self.stage) {
            // A bundle may have fewer steps than there are numbers of stages.
            self.stage = self.stage.saturating_add(1);
        }
        self
    }

    /// Sets the policy of the following objects for an object that already exists and is not managed by this app context.
    pub fn existing(mut self, existing: Existing) -> Self {
        self.existing = existing;
        self
    }

    /// Sets the policy of the following objects for changes that other clients make.
    pub fn drift(mut self, drift: Drift) -> Self {
        self.drift = drift;
        self
    }

    /// Returns the bundle.
    ///
    /// # Errors
    /// [`InvalidBundle`] for the first invalid object, for two objects with one key, and for more than
    /// [`STEPS_MAX`](super::STEPS_MAX) objects.
    pub fn build(self) -> Result<Bundle, InvalidBundle> {
        Bundle::new(self.steps?)
    }
}

impl Bundle {
    /// Begins a bundle of Kubernetes objects that belong to one app.
    ///
    /// ```
    /// use dcm_core::app_context::Bundle;
    /// use serde_json::json;
    ///
    /// let bundle = Bundle::builder("web".parse()?)
    ///     .object(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}}))
    ///     .then()
    ///     .object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "web"}}))
    ///     .build()?;
    /// assert_eq!(bundle.manifests().count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder(app: AppName) -> BundleBuilder {
        BundleBuilder {
            app,
            stage: 0,
            existing: Existing::default(),
            drift: Drift::default(),
            steps: Ok(Vec::new()),
        }
    }
}

impl AppContext {
    /// Returns an app context without clusters and labels, which is removed as [`Removal::default`] has it.
    #[must_use]
    pub fn new(id: ContextId) -> Self {
        Self { id, labels: BTreeMap::new(), removal: Removal::default(), placements: BTreeMap::new() }
    }

    /// Places a bundle on clusters, in place of what was placed there before. The clusters share one copy of it.
    #[must_use]
    pub fn place<'a>(
        mut self,
        clusters: impl IntoIterator<Item = &'a ClusterId>,
        bundle: impl Into<Arc<Bundle>>,
    ) -> Self {
        let bundle = bundle.into();
        self.placements.extend(clusters.into_iter().map(|cluster| (cluster.clone(), Arc::clone(&bundle))));
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::manifest::InvalidManifest;

    fn config_map(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "n"}})
    }

    fn builder() -> BundleBuilder {
        Bundle::builder("app".parse().unwrap())
    }

    #[test]
    fn objects_of_a_stage_come_after_those_before_and_an_empty_stage_is_skipped() {
        let bundle = builder()
            .then()
            .object(config_map("a"))
            .object(config_map("b"))
            .then()
            .then()
            .existing(Existing::Adopt)
            .object(config_map("c"))
            .build()
            .unwrap();
        let steps: Vec<_> = bundle
            .steps()
            .iter()
            .map(|step| match &step.action {
                Action::Apply { manifest, existing, .. } => {
                    (step.stage.0, manifest.key().name.to_string(), *existing)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [
            (0, "a".to_owned(), Existing::Refuse),
            (0, "b".to_owned(), Existing::Refuse),
            (1, "c".to_owned(), Existing::Adopt),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn the_first_invalid_object_is_named_by_its_position_and_field() {
        let built = builder().object(config_map("a")).object(json!({})).object(json!(1)).build();
        let Err(InvalidBundle::Object { position, source: InvalidManifest { path, .. } }) = built else {
            panic!("{built:?}");
        };
        assert_eq!((position, path), (2, "apiVersion"));
    }

    #[test]
    fn a_bundle_that_is_placed_again_replaces_the_one_before_and_is_shared() {
        let clusters: Vec<ClusterId> = ["p/a", "p/b"].iter().map(|id| id.parse().unwrap()).collect();
        let (first, second) = (builder().object(config_map("a")), builder().object(config_map("b")));
        let context = AppContext::new("one".parse().unwrap())
            .place(&clusters, first.build().unwrap())
            .place(&clusters[1..], second.build().unwrap());
        let names = |id: &str| {
            let bundle = &context.placements[&id.parse::<ClusterId>().unwrap()];
            bundle.manifests().map(|manifest| manifest.key().name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!((names("p/a"), names("p/b")), (vec!["a".to_owned()], vec!["b".to_owned()]));
        let shared = AppContext::new("two".parse().unwrap()).place(&clusters, builder().build().unwrap());
        let bundles: Vec<_> = shared.placements.values().collect();
        assert!(Arc::ptr_eq(bundles[0], bundles[1]));
    }
}
