//! What people do by hand: `kubectl apply --server-side` of the same manifests, one process a cluster, all clusters in
//! parallel; then `certificate approve`, `create token`, and reading the certificate until it is there.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use dcm_core::app_context::{Action, AppContext, Request};
use dcm_core::plan::certificate_manifest;
use dcm_testenv::Cluster;
use futures::future::try_join_all;
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::process::Command;

use super::servers::Servers;

pub(crate) struct Kubectl<'a>(pub(crate) &'a Servers);

/// A logical cloud as a file of manifests, with what is to be done after they are applied.
pub(crate) struct Prepared {
    file: NamedTempFile,
    requests: Vec<Request>,
}

impl Prepared {
    pub(crate) fn new(context: &AppContext) -> Result<Self> {
        let bundle = context.placements.values().next().context("a cloud on some cluster")?;
        let mut items = Vec::new();
        let mut requests = Vec::new();
        for step in bundle.steps() {
            match &step.action {
                Action::Apply { manifest, .. } => items.push(manifest.body().clone()),
                Action::Edit { .. } => {}
                Action::Request { request, .. } => requests.push(request.clone()),
            }
        }
        for request in &requests {
            if let Request::Certificate(request) = request {
                items.push(certificate_manifest(request)?.body().clone());
            }
        }
        let file = NamedTempFile::with_suffix(".json")?;
        serde_json::to_writer(file.as_file(), &json!({"apiVersion": "v1", "kind": "List", "items": items}))?;
        Ok(Self { file, requests })
    }
}

impl Kubectl<'_> {
    /// Makes logical clouds on all clusters, all at once, until every certificate and token was read.
    pub(crate) async fn instantiate(&self, clouds: &[Prepared]) -> Result<()> {
        let everywhere =
            clouds.iter().flat_map(|cloud| self.0.clusters().iter().map(move |cluster| (cluster, cloud)));
        try_join_all(everywhere.map(|(cluster, cloud)| on_cluster(cluster, cloud))).await?;
        Ok(())
    }
}

async fn on_cluster(cluster: &Cluster, cloud: &Prepared) -> Result<()> {
    let file = cloud.file.path().to_str().context("a path in UTF-8")?;
    run(cluster, &["apply", "--server-side", "-f", file]).await?;
    try_join_all(cloud.requests.iter().map(|request| credential(cluster, request))).await?;
    Ok(())
}

async fn credential(cluster: &Cluster, request: &Request) -> Result<String> {
    match request {
        Request::Token(request) => {
            run(cluster, &["create", "token", &request.service_account, "--namespace", &request.namespace])
                .await
        }
        Request::Certificate(request) => {
            run(cluster, &["certificate", "approve", &request.object_name]).await?;
            loop {
                let read = ["get", "csr", &request.object_name, "-o", "jsonpath={.status.certificate}"];
                let certificate = run(cluster, &read).await?;
                if !certificate.is_empty() {
                    return Ok(certificate);
                }
            }
        }
    }
}

async fn run(cluster: &Cluster, arguments: &[&str]) -> Result<String> {
    let mut command = Command::from(cluster.kubectl());
    let output = command.args(arguments).stdin(Stdio::null()).output().await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "kubectl {arguments:?}: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}
