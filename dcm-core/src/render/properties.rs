//! Properties of rendering that hold for every logical cloud.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, btree_set};
use proptest::prelude::*;
use serde_json::json;

use super::naming::{self, Identity};
use super::{Credential, Credentials, RequestToSend, bundle};
use crate::app_context::{Action, Request};
use crate::logical_cloud::{
    AccountSeed, Draft, Epoch, LogicalCloud, LogicalCloudUid, PermissionDraft, QuotaDraft, RequestNonce,
    RequestPem, Serial, UserDraft,
};
use crate::manifest::Manifest;
use crate::name::{
    LogicalCloudName, PermissionName, ProjectName, QuotaName, UserName, is_dns_subdomain, is_label_value,
};

/// A request in form; what it says is read elsewhere.
const CSR: &str = "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----";

/// API names: short ones that are alike, so that joins and changes meet; long ones; and ones that look like our own.
fn api_name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[aA1]([-._aA1]{0,3}[aA1])?",
        1 => "[a-zA-Z0-9]([-a-zA-Z0-9_.]{0,126}[a-zA-Z0-9])?",
        1 => "[aA]([-_]a){0,1}".prop_map(|name| naming::role(&PermissionName::new(name).unwrap())),
        1 => "dcm-[a1](-[a1]){0,2}-[0-9a-f]{16}",
        1 => "a-e[0-9]",
        1 => Just("system".to_owned()),
    ]
}

fn uid() -> impl Strategy<Value = LogicalCloudUid> {
    prop_oneof![0..3_u64, any::<u64>()].prop_map(LogicalCloudUid::from_random)
}

/// Everything that a name on a cluster is made of.
type Parts = (String, String, LogicalCloudUid, String, u32, u32);

fn parts() -> impl Strategy<Value = Parts> {
    (api_name(), api_name(), uid(), api_name(), 0..3_u32, 0..3_u32)
}

/// All names made of these parts, each with the parts that it must tell apart.
fn names((project, cloud, uid, name, epoch, serial): &Parts) -> Vec<(&'static str, String, String)> {
    let project_name = ProjectName::new(project).unwrap();
    let cloud_name = LogicalCloudName::new(cloud).unwrap();
    let user = UserName::new(name).unwrap();
    let permission = PermissionName::new(name).unwrap();
    let identity = Identity { project: &project_name, cloud: &cloud_name, uid: *uid };
    let (of_epoch, of_serial) = (Epoch(*epoch), Serial(*serial));
    let whole = json!([project, cloud, uid]);
    vec![
        ("role", naming::role(&permission), json!([name]).to_string()),
        ("quota", naming::resource_quota(&QuotaName::new(name).unwrap()), json!([name]).to_string()),
        (
            "account",
            naming::service_account(&user, of_epoch, AccountSeed::from_random(1)),
            json!([name, epoch]).to_string(),
        ),
        ("role outside", identity.role_outside(&permission), json!([whole, name]).to_string()),
        (
            "certificate request",
            identity.certificate_request(&user, of_epoch, of_serial, RequestNonce::from_random(1)),
            json!([whole, name, epoch, serial]).to_string(),
        ),
        ("context", identity.context_id().to_string(), whole.to_string()),
        ("common name", identity.common_name(&user, of_epoch), json!([whole, name, epoch]).to_string()),
        ("label", naming::label_value(name), json!([name]).to_string()),
    ]
}

fn permission(name: String, seed: u8, users: &[String]) -> PermissionDraft {
    let mut verbs: Vec<String> = ["get", "list", "create"].map(str::to_owned).to_vec();
    verbs.rotate_left(usize::from(seed) % 3);
    PermissionDraft {
        name,
        users: (seed.is_multiple_of(2) && !users.is_empty()).then(|| users.to_vec()),
        namespace: (seed % 5 == 1).then(|| "other".to_owned()),
        cluster_wide: seed % 5 == 2,
        api_groups: vec![String::new(), "apps".to_owned()],
        resources: vec!["pods".to_owned()],
        verbs,
        ..PermissionDraft::default()
    }
}

prop_compose! {
    fn drafts()(
        name in api_name(),
        users in btree_map(api_name(), any::<bool>(), 0..4),
        permissions in btree_map(api_name(), any::<u8>(), 0..4),
        quotas in btree_set(api_name(), 0..3),
        cpu in 1..10_000_u32,
    ) -> Draft {
        let mut draft = Draft::default();
        draft.metadata.name = name;
        draft.spec.namespace = Some("own".to_owned());
        draft.spec.level = Some("privileged".to_owned());
        let user_names: Vec<String> = users.keys().cloned().collect();
        for (name, token) in users {
            let kind = Some(if token { "token" } else { "certificate" }.to_owned());
            draft.spec.users.push(UserDraft { name, kind, ..UserDraft::default() });
        }
        for (name, seed) in permissions {
            draft.spec.permissions.push(permission(name, seed, &user_names));
        }
        for name in quotas {
            let hard = BTreeMap::from([("limits.cpu".to_owned(), format!("{cpu}m").into())]);
            draft.spec.quotas.push(QuotaDraft { name, hard, ..QuotaDraft::default() });
        }
        draft
    }
}

fn cloud(project: &str, uid: LogicalCloudUid, draft: Draft) -> LogicalCloud {
    LogicalCloud::new(ProjectName::new(project).unwrap(), uid, draft).unwrap().0
}

fn credentials(cloud: &LogicalCloud) -> Credentials {
    let credential = Credential {
        epoch: Epoch(1),
        serial: Serial(1),
        request: Some(RequestToSend {
            pem: RequestPem::new(CSR).unwrap(),
            nonce: RequestNonce::from_random(1),
        }),
        accounts: AccountSeed::from_random(1),
    };
    cloud.users().iter().map(|user| (user.metadata.name.clone(), credential.clone())).collect()
}

/// The names of what a bundle has outside the cloud's namespace.
fn outside(cloud: &LogicalCloud) -> BTreeSet<String> {
    let bundle = bundle(cloud, &credentials(cloud)).unwrap();
    let names = bundle.steps().iter().filter_map(|step| match &step.action {
        Action::Apply { manifest, .. } if manifest.kind().is_namespace() => None,
        Action::Apply { manifest, .. } => {
            (manifest.key().namespace.as_deref() != Some("own")).then(|| manifest.key().to_string())
        }
        Action::Edit { edit } => Some(edit.target.key().to_string()),
        Action::Request { request: Request::Certificate(request), .. } => {
            Some(request.object_name.to_string())
        }
        Action::Request { request: Request::Token(request), .. } => {
            assert_eq!(&*request.namespace, "own");
            None
        }
    });
    names.collect()
}

proptest! {
    #[test]
    fn names_are_legal(parts in parts()) {
        for (kind, name, _) in names(&parts) {
            match kind {
                "common name" => prop_assert!(name.len() <= 64 && name.starts_with("dcm:"), "{kind} {name}"),
                "context" | "label" => prop_assert!(is_label_value(&name), "{kind} {name}"),
                _ => prop_assert!(is_dns_subdomain(&name), "{kind} {name}"),
            }
        }
    }

    #[test]
    fn names_never_collide(all in btree_set(parts(), 2..40)) {
        let mut seen: BTreeMap<(&str, String), String> = BTreeMap::new();
        for (kind, name, told_apart) in all.iter().flat_map(names) {
            let before = seen.insert((kind, name.clone()), told_apart.clone());
            prop_assert!(before.as_ref().is_none_or(|before| *before == told_apart), "{kind} {name}: {before:?} {told_apart}");
        }
    }

    #[test]
    fn what_is_outside_the_namespace_is_told_apart_from_every_other_clouds(
        draft in drafts(),
        uids in (uid(), uid()),
        projects in ("[ab]", "[ab]"),
    ) {
        let one = cloud(&projects.0, uids.0, draft.clone());
        let other = cloud(&projects.1, uids.1, draft);
        let (one_names, other_names) = (outside(&one), outside(&other));
        if one == other {
            prop_assert_eq!(one_names, other_names);
        } else {
            prop_assert!(one_names.is_disjoint(&other_names), "{one_names:?} {other_names:?}");
        }
    }

    #[test]
    fn the_order_of_lists_changes_nothing_and_rendering_again_gives_the_same(draft in drafts()) {
        let uid = LogicalCloudUid::from_random(9);
        let one = cloud("p", uid, draft.clone());
        let rendered = bundle(&one, &credentials(&one)).unwrap();
        let mut turned = draft;
        turned.spec.users.reverse();
        turned.spec.permissions.reverse();
        turned.spec.quotas.reverse();
        for permission in &mut turned.spec.permissions {
            permission.verbs.reverse();
            permission.api_groups.reverse();
            if let Some(users) = &mut permission.users {
                users.reverse();
            }
        }
        let other = cloud("p", uid, turned);
        let again = bundle(&other, &credentials(&other)).unwrap();
        prop_assert_eq!(&rendered, &again);
        prop_assert_eq!(rendered.hash(), again.hash());
        for step in rendered.steps() {
            if let Action::Apply { manifest, .. } = &step.action {
                let text = manifest.body().to_string();
                let parsed = Manifest::new(serde_json::from_str(&text).unwrap()).unwrap();
                prop_assert_eq!(&parsed, manifest);
            }
        }
    }
}
