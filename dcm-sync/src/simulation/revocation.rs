//! Taking rights away, while people on clusters do what they can against it.

use serde::{Deserialize, Serialize};

use super::scenario::{Draw, Meddling, Scenario};
use super::wish::{Variant, Wish};
use crate::sim::Seeded;

/// Rights are taken away from a user, while people on clusters do what they can against it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Revocation {
    /// What is wanted of each app context before, and with the withdrawal.
    pub variants: Vec<(Variant, Variant)>,
    /// Numbers of app contexts that are removed instead, and whether with what others put into their namespaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<(usize, bool)>,
    /// What is done before to bindings: on which cluster, what, and a number that decides which one it hits.
    pub deeds: Vec<(usize, Meddling, u64)>,
    /// What is held back before, a binding or not: on which cluster, and a number that decides which object it is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<(usize, u64)>,
    /// All clusters refuse to make or change objects of these kinds.
    pub refused: Vec<HinderedKind>,
    /// All clusters refuse to delete objects of these kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undeletable: Vec<HinderedKind>,
    /// No cluster serves these kinds any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undefined: Vec<HinderedKind>,
}

/// A kind that clusters hinder: by an admission webhook, by a policy, or as its definition was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HinderedKind {
    /// ResourceQuota.
    ResourceQuota,
    /// Role.
    Role,
    /// ServiceAccount.
    ServiceAccount,
}

impl HinderedKind {
    pub(super) const ALL: [Self; 3] = [Self::ResourceQuota, Self::Role, Self::ServiceAccount];

    /// The name of the kind.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::ResourceQuota => "ResourceQuota",
            Self::Role => "Role",
            Self::ServiceAccount => "ServiceAccount",
        }
    }
}

impl Revocation {
    /// What is asked for of an app context, so that the user loses its rights.
    #[must_use]
    pub fn wish(&self, context: usize, then: Variant) -> Wish {
        match self.removed.iter().find(|(number, _)| *number == context) {
            Some((_, delete_contents)) => Wish::Remove { delete_contents: *delete_contents, deadline: None },
            None => Wish::Withdraw(then),
        }
    }
}

/// In some scenarios rights are taken away, against what people on clusters do.
pub(super) fn let_revoke(seed: u64, scenario: &mut Scenario) {
    let draw = Draw { random: Seeded::named(seed, "revocations"), restless: false };
    if !draw.one_in(3) {
        return;
    }
    let clusters = u64::try_from(scenario.clusters).unwrap_or(1);
    let deeds = [
        Meddling::Hold,
        Meddling::ForgeMarks,
        Meddling::EditAsUs,
        Meddling::Edit,
        Meddling::Unmark,
        Meddling::Delete,
        Meddling::Copy,
        Meddling::EditUnnoted,
    ];
    let count = u64::try_from(deeds.len()).unwrap_or(1);
    let deed = |_| {
        let deed = deeds.get(usize::try_from(draw.below(count)).unwrap_or(0)).copied();
        (draw.count(1, clusters), deed.unwrap_or(Meddling::Hold), draw.random_number())
    };
    let hindered = |times: u64| HinderedKind::ALL.into_iter().filter(|_| draw.one_in(times)).collect();
    let variants = (0..scenario.contexts).map(|_| (draw.variant(), draw.variant())).collect();
    let deeds = (0..draw.count(0, 6)).map(deed).collect();
    let refused = hindered(3);
    let removed = (1..=scenario.contexts).filter(|_| draw.one_in(3)).map(|number| (number, draw.one_in(2)));
    let removed = removed.collect();
    let held = (0..draw.count(0, 4)).map(|_| (draw.count(1, clusters), draw.random_number())).collect();
    let (undeletable, undefined) = (hindered(4), hindered(8));
    scenario.revocation =
        Some(Revocation { variants, removed, deeds, held, refused, undeletable, undefined });
}
