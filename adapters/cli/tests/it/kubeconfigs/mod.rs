//! Kubeconfigs as people have them: read as kubectl reads them, and written as it writes them.

mod beside_kubectl;
mod cluster_fields;
mod files;
mod kit;
mod listed;
mod merging;
mod page;
mod user_fields;
mod warned;
