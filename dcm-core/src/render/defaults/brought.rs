//! What LimitRanges that a logical cloud brings say of its containers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Figures;
use crate::manifest::Manifest;
use crate::quantity::Quantity;

/// What they give to containers that say nothing, and what they allow.
#[derive(Debug, Default)]
pub(super) struct Brought {
    /// Resources of which a container gets a limit.
    limits: BTreeSet<String>,
    /// Resources of which a container gets a request.
    requests: BTreeSet<String>,
    /// The least that is allowed of a resource.
    least: Figures,
    /// The most that is allowed of a resource.
    most: Figures,
}

impl Brought {
    pub(super) fn of(manifests: &[Manifest]) -> Self {
        let mut brought = Self::default();
        let ranges = manifests.iter().filter(|manifest| {
            let kind = manifest.kind();
            kind.group.is_empty() && &*kind.kind == "LimitRange"
        });
        for range in ranges {
            for item in range.body()["spec"]["limits"].as_array().into_iter().flatten() {
                brought.add(item);
            }
        }
        brought
    }

    /// Takes an item in. The API server completes one of containers: `default` from `max`, and `defaultRequest` from both and from `min`.
    fn add(&mut self, item: &Value) {
        let is_of_containers = item["type"] == "Container";
        if !is_of_containers && item["type"] != "Pod" {
            return;
        }
        let (least, most) = (amounts(&item["min"]), amounts(&item["max"]));
        if is_of_containers {
            let limits: BTreeSet<String> =
                amounts(&item["default"]).into_keys().chain(most.keys().cloned()).collect();
            let requests = amounts(&item["defaultRequest"]);
            self.requests.extend(limits.iter().chain(requests.keys()).chain(least.keys()).cloned());
            self.limits.extend(limits);
            // A limit of ours must not be below a request of theirs.
            raise(&mut self.least, requests);
        }
        raise(&mut self.least, least);
        for (resource, amount) in most {
            let lowest = self.most.entry(resource).or_insert(amount);
            *lowest = lowest.smaller(amount);
        }
    }

    /// The figures for limits and requests, without what is given already, and within what is allowed.
    pub(super) fn fit(&self, limits: &mut Figures, requests: &mut Figures) {
        limits.retain(|resource, _| !self.limits.contains(resource));
        requests.retain(|resource, _| !self.requests.contains(resource));
        for (resource, figure) in limits.iter_mut().chain(requests) {
            if let Some(least) = self.least.get(resource).filter(|least| least.is_above(figure)) {
                *figure = *least;
            }
            if let Some(most) = self.most.get(resource) {
                *figure = figure.smaller(*most);
            }
        }
    }
}

fn raise(all: &mut Figures, amounts: Figures) {
    for (resource, amount) in amounts {
        let highest = all.entry(resource).or_insert(amount);
        if amount.is_above(highest) {
            *highest = amount;
        }
    }
}

/// The quantities of a member of an item. The API server refuses what is none.
fn amounts(member: &Value) -> BTreeMap<String, Quantity> {
    let quantity = |value: &Value| match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    let members = member.as_object().into_iter().flatten();
    members.filter_map(|(resource, value)| Some((resource.clone(), quantity(value)?))).collect()
}
