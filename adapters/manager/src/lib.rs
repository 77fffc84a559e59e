//! Logical clouds over many Kubernetes clusters, as one value: [`Manager`].
//!
//! A manager has the use cases of `dcm-core` over a store and a source of clusters, an engine that does their work, and the two
//! duties that never end: credentials are renewed in time, and what arrives late of deleted logical clouds is removed. It does no I/O
//! of its own. Link it into a controller that gives its tenants logical clouds; for manifests of other kinds, `dcm-sync` alone is
//! enough.
//!
//! ```
//! use dcm_manager::prelude::*;
//! use serde_json::json;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let fleet = Fleet::simulated(2);
//!     let manager = Manager::builder(dcm_store::open("memory:").await?, fleet.clone()).spawn();
//!     let caller = Caller::new("my-controller").because("tenant shop signed up");
//!     for (cluster, kubeconfig) in fleet.kubeconfigs() {
//!         manager.clusters().add(&caller, Registration::new(cluster, kubeconfig)).await?;
//!     }
//!     let (project, shop) = (ProjectName::new("tenants")?, LogicalCloudName::new("shop")?);
//!     manager.projects().create(&caller, MetadataDraft::named(&project)).await?;
//!     let document = json!({"metadata": {"name": "shop"}, "spec": {"users": [{"name": "dev"}], "clusterSelector": {}}});
//!     manager.clouds().put(&caller, &project, serde_json::from_value(document)?).await?;
//!     manager.clouds().apply(&caller, &project, &shop).await?;
//!     let done = manager.clouds().wait_until_done(&project, &shop).await?;
//!     println!("{} on {} clusters", done.state, done.context.lanes.len());
//!     manager.shutdown().await;
//!     Ok(())
//! }
//! ```

mod manager;
pub mod prelude;
mod sweeping;
mod tending;

pub use manager::{Builder, Manager};
pub use sweeping::keep_swept;
pub use tending::keep_tended;

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
