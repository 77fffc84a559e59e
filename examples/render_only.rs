//! Only the pure part: a document in, manifests out. No runtime, no store, no cluster; equal input gives equal bytes, so
//! the output can be kept in git and applied by other means.
//!
//! `cargo run -p dcm-examples --bin render_only`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use dcm_core::app_context::Action;
use dcm_core::document::{self, Limits};
use dcm_core::logical_cloud::{AccountSeed, Epoch, LogicalCloud, LogicalCloudUid, Serial};
use dcm_core::name::ProjectName;
use dcm_core::render::{self, Credential, Credentials};

const DOCUMENT: &str = include_str!("documents/payments.yaml");

fn main() -> anyhow::Result<()> {
    let documents = document::parse(DOCUMENT.as_bytes(), &ProjectName::new("default")?, &Limits::default())?;
    for document in documents {
        // Whoever keeps clouds keeps their UIDs; it is part of some names.
        let uid = LogicalCloudUid::from_random(1);
        let (cloud, warnings) = LogicalCloud::new(document.project, uid, document.draft)?;
        warnings.iter().for_each(|warning| println!("# {warning}"));
        // Rights are bound to names that follow from these; a request would be rendered to no manifest.
        let credentials: Credentials = cloud
            .users()
            .iter()
            .map(|user| {
                let accounts = AccountSeed::from_random(1);
                let credential = Credential { epoch: Epoch(1), serial: Serial(1), request: None, accounts };
                (user.metadata.name.clone(), credential)
            })
            .collect();
        for step in render::bundle(&cloud, &credentials)?.steps() {
            if let Action::Apply { manifest, .. } = &step.action {
                println!("--- # stage {}", step.stage.0);
                print!("{}", serde_saphyr::to_string(manifest.body())?);
            }
        }
    }
    Ok(())
}
