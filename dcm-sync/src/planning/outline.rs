//! What a plan is in the words in which it is shown.

use std::collections::BTreeMap;

use dcm_core::causes::Reader;
use dcm_core::effect::WithoutEffect;
use dcm_core::manifest::{Manifest, ObjectKey};
use dcm_core::name::ClusterId;
use dcm_core::plan::{Act, LineChange, Outline, OutlinedStep, Rehearsal, Step, Why, Work, named_fields};
use dcm_core::port::answer::clean;
use dcm_core::port::cluster::{Contents, Error};
use dcm_core::status::Cause;
use serde_json::Value;

use super::{LivePlan, PlanError, Planned};

/// Why nothing is done on a cluster that is not the one that was there before.
const REPLACED: &str =
    "it is another cluster than the one that was reached before; accept it with dcm cluster accept";

impl Planned {
    /// What would be done, cluster by cluster, for a reader.
    #[must_use]
    pub fn outline(&self, reader: Reader) -> BTreeMap<ClusterId, Outline> {
        let looked = self.clusters.iter();
        looked.map(|(cluster, found)| (cluster.clone(), outline(cluster, found, reader))).collect()
    }
}

fn outline(cluster: &ClusterId, found: &Result<LivePlan, PlanError>, reader: Reader) -> Outline {
    match found {
        Err(error) => Outline::Unknown(error.words_for(reader)),
        Ok(live) if live.is_replaced => {
            let (object, why) = (cluster.to_string(), REPLACED.to_owned());
            Outline::Steps(vec![OutlinedStep { action: Act::Blocked, object, why, rehearsal: None }])
        }
        Ok(live) => Outline::Steps(steps(live, reader)),
    }
}

fn steps(live: &LivePlan, reader: Reader) -> Vec<OutlinedStep> {
    let outlined = |step: &Step| {
        let action = act(step)?;
        let object = match &step.work {
            Work::Request { name, .. } => name.to_string(),
            _ => step.key.to_string(),
        };
        let rehearsal = match &step.work {
            Work::Edit { member, .. } => live.lines.get(&(step.key.clone(), member.clone())).map(lines),
            _ => live.rehearsals.get(&step.key).map(|rehearsed| shown(rehearsed, reader)),
        };
        let mut why = why(step, reader);
        if let Some(contents) = live.contents.get(&step.key) {
            why.push_str(&held(contents));
        }
        if let Work::Create { manifest } | Work::Update { manifest, .. } = &step.work {
            why.push_str(&given(manifest));
        }
        Some(OutlinedStep { action, object, why, rehearsal })
    };
    let reported = |cause: &Cause| OutlinedStep {
        action: Act::Report,
        object: cause.object.as_ref().map(ToString::to_string).unwrap_or_default(),
        why: cause.words_for(reader).to_string(),
        rehearsal: None,
    };
    let warned = |(key, found): &(ObjectKey, WithoutEffect)| OutlinedStep {
        action: Act::Warn,
        object: key.to_string(),
        why: match reader {
            Reader::Member => clean(&found.sentence),
            Reader::PlatformAdmin => clean(&found.to_string()),
        },
        rehearsal: None,
    };
    let steps = live.plan.steps().iter().filter_map(outlined);
    let reported = live.plan.drift().iter().map(reported);
    steps.chain(reported).chain(live.without_effect.iter().map(warned)).collect()
}

/// Lines of a text of other clients, without what a terminal obeys.
fn lines(change: &LineChange) -> Rehearsal {
    let cleaned = |lines: &[String]| lines.iter().map(|line| clean(line)).collect();
    let (removed, added) = (cleaned(&change.removed), cleaned(&change.added));
    Rehearsal::Lines(LineChange { removed, added, ..change.clone() })
}

/// What a dry run gave, for a reader: it is a write of an object of the app context.
fn shown(rehearsed: &Result<Rehearsal, Error>, reader: Reader) -> Rehearsal {
    match rehearsed {
        Ok(rehearsal) => rehearsal.clone(),
        Err(error) if error.is_retryable() => {
            Rehearsal::Unchecked(format!("can't be checked: {}", error.words_of_write_for(reader)))
        }
        Err(error) => Rehearsal::Refused(error.words_of_write_for(reader)),
    }
}

/// What is done, in a word; none for what touches no cluster.
fn act(step: &Step) -> Option<Act> {
    Some(match (&step.work, step.why) {
        // It is made as soon as its record is cleared.
        (Work::Create { .. } | Work::Unrecord, _) => Act::Create,
        (Work::Update { .. }, Why::Adopted) => Act::Adopt,
        (Work::Update { .. }, Why::Overwritten) => Act::Overwrite,
        (Work::Update { .. }, Why::Drifted) => Act::Correct,
        (Work::Update { .. }, _) => Act::Update,
        (Work::Delete { .. }, _) => Act::Delete,
        (Work::Count { .. }, Why::Kept) => Act::Release,
        (Work::Count { .. }, _) => Act::DeleteIfEmpty,
        (Work::Release { .. }, _) => Act::Release,
        (Work::Edit { .. }, Why::Drifted) => Act::Correct,
        (Work::Edit { .. }, _) => Act::Edit,
        (Work::Request { .. }, _) => Act::Request,
        (Work::Await(_), _) => Act::Wait,
        (Work::Blocked(_), _) => Act::Blocked,
        (Work::Look | Work::Forget | Work::RecordEdit { .. }, _) => return None,
    })
}

/// What a namespace that may go holds: what of it counts, and what does not. Names of a tenant's own namespace.
fn held(contents: &Contents) -> String {
    let named = |keys: &[ObjectKey]| {
        let names = keys.iter().map(|key| format!("{} {}", key.kind, key.name));
        // What a cluster calls its objects.
        clean(&names.collect::<Vec<_>>().join(", "))
    };
    let mut held = match contents.count {
        0 => String::new(),
        1 => format!("; it stays, as it holds an object of others: {}", named(&contents.sample)),
        count => format!("; it stays, as it holds {count} objects of others: {}", named(&contents.sample)),
    };
    if !contents.ignored.is_empty() {
        held.push_str(&format!("; not counted: {}", named(&contents.ignored)));
    }
    held
}

/// What a LimitRange gives to containers that say nothing.
fn given(manifest: &Manifest) -> String {
    let kind = manifest.kind();
    if !kind.group.is_empty() || &*kind.kind != "LimitRange" {
        return String::new();
    }
    let items = manifest.body()["spec"]["limits"].as_array().into_iter().flatten();
    let of_containers = items.filter(|item| item["type"] == "Container");
    let amounts = |item: &Value, member: &str| {
        let amounts = item[member].as_object().into_iter().flatten();
        let written = amounts.map(|(resource, amount)| match amount.as_str() {
            Some(amount) => format!("{resource} {amount}"),
            None => format!("{resource} {amount}"),
        });
        written.collect::<Vec<_>>().join(", ")
    };
    let mut given = String::new();
    for item in of_containers {
        for (member, what) in [("default", "limits"), ("defaultRequest", "requests")] {
            let amounts = amounts(item, member);
            if !amounts.is_empty() {
                given.push_str(&format!("; containers without {what} get {amounts}"));
            }
        }
    }
    given
}

/// Why it is done, and which fields change hands.
fn why(step: &Step, reader: Reader) -> String {
    match &step.work {
        Work::Await(cause) | Work::Blocked(cause) => cause.words_for(reader).to_string(),
        Work::Update { terms, .. } if !terms.taken.is_empty() => {
            format!("{}: {}", step.why, named_fields(terms.taken.iter()))
        }
        _ => step.why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_containers_get_by_a_limit_range_is_told() {
        let range = |kind: &str, limits: Value| {
            let body = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "r", "namespace": "n"}, "spec": {"limits": limits}});
            given(&Manifest::new(body).unwrap())
        };
        let container = json!({"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"}, "defaultRequest": {"cpu": "50m"}});
        let told =
            "; containers without limits get cpu 500m, memory 1Gi; containers without requests get cpu 50m";
        assert_eq!(range("LimitRange", json!([container])), told);
        assert_eq!(range("LimitRange", json!([{"type": "Pod", "max": {"cpu": "1"}}])), "");
        assert_eq!(range("ConfigMap", json!([container])), "");
    }

    #[test]
    fn what_a_namespace_holds_is_told_without_what_a_terminal_obeys() {
        let key = |name: &str| ObjectKey::new("".into(), "ConfigMap".into(), Some("n".into()), name.into());
        let contents = Contents {
            count: 1,
            sample: vec![key("a\u{1b}[2J")],
            ignored: vec![key("istio-ca-root-cert")],
            ..Contents::default()
        };
        let told = "; it stays, as it holds an object of others: ConfigMap a [2J; not counted: ConfigMap istio-ca-root-cert";
        assert_eq!(held(&contents), told);
        assert_eq!(held(&Contents::default()), "");
    }
}
