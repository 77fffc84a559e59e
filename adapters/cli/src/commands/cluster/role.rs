//! `dcm cluster role`: the least rights, to prepare a cluster with, and the guard that restricts what they let the engine write.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use dcm_core::app_context::Generation;
use dcm_core::port::cluster::{Call, Cluster as _, Fence};
use dcm_core::port::resources::Resources;
use dcm_core::preflight::{self, Guarded, Guess, Needs, PodSecurityLevel};
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{EnvironmentProxies, KubeCluster, Proxy};
use dcm_sync::engine::Options;
use serde::Serialize;
use serde_json::{Value, json};

use super::check::{Purpose, Wanted};
use crate::arguments::Global;
use crate::exit::Exit;
use crate::output::{self, NEXT_DOCUMENT, Notation};
use crate::own_kubeconfig;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    wanted: Wanted,
    /// Name of the ClusterRole and of the policy.
    #[arg(long, default_value = "dcm", value_name = "NAME")]
    name: String,
    /// Kubeconfig of a cluster that knows the resources of the kinds in the documents.
    ///
    /// Without it, the resources of custom kinds are guessed as Kubernetes does, and an annotation of the role lists the guesses.
    #[arg(long, requires = "documents", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current context.
    #[arg(long, requires = "kubeconfig", value_name = "NAME")]
    kube_context: Option<String>,
    /// Adds a ValidatingAdmissionPolicy that restricts the writes of the engine's user to its own namespaces and requests.
    ///
    /// SECURITY.md lists its known gaps.
    #[arg(long, requires = "user")]
    guard: bool,
    /// With --guard: user of the cluster's kubeconfig, for example system:serviceaccount:dcm-system:dcm.
    #[arg(long, requires = "guard", value_name = "NAME")]
    user: Option<String>,
    /// With --guard: lowest Pod Security level that the engine may set on a namespace. Default: baseline, or the lowest one in the
    /// documents of --for.
    #[arg(long, requires = "guard", value_name = "LEVEL", value_parser = levels_of_pod_security())]
    pod_security: Option<PodSecurityLevel>,
}

fn levels_of_pod_security() -> impl TypedValueParser<Value = PodSecurityLevel> {
    PossibleValuesParser::new(PodSecurityLevel::ALL.map(PodSecurityLevel::as_str))
        .try_map(|text| text.parse())
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let purpose = arguments.wanted.purpose(global)?;
    let needs = match &arguments.kubeconfig {
        Some(file) => purpose.needs().on(&resources(file, arguments.kube_context.as_deref()).await?),
        None => purpose.needs(),
    };
    note_guesses(&needs, arguments.kubeconfig.is_some());
    let mut objects = vec![value(&preflight::least_role(&arguments.name, &needs))?];
    if needs.has_namespaces() {
        objects.push(value(&preflight::namespace_role())?);
    }
    if let Some(user) = arguments.user.as_deref().filter(|_| arguments.guard) {
        objects.extend(guard(&purpose, user, arguments)?);
    }
    output::print(&written(global.output.for_programs().unwrap_or(Notation::Yaml), &objects)?)?;
    Ok(Exit::Done)
}

/// What the cluster of a kubeconfig serves.
async fn resources(file: &Path, context: Option<&str>) -> anyhow::Result<Resources> {
    let kubeconfig = own_kubeconfig::read(Some(file), context)?;
    let options = dcm_kube::Options {
        allowed: Allowed::everything(),
        proxy: Proxy::Environment(EnvironmentProxies::of_process()),
        ..dcm_kube::Options::default()
    };
    let call = Call {
        owner: Options::default().owner,
        context: None,
        generation: Generation::default(),
        fence: Fence::default(),
    };
    let unasked = || format!("the cluster of {} can't be asked what it serves", file.display());
    let cluster = KubeCluster::connect(&kubeconfig, &options).await.with_context(unasked)?;
    cluster.resources(&call).await.with_context(unasked)
}

/// Names the resources that were guessed.
fn note_guesses(needs: &Needs, was_asked: bool) {
    let hint = if was_asked {
        "which the cluster is not known to serve"
    } else {
        "--kubeconfig FILE asks a cluster"
    };
    for Guess { kind, resource } in needs.guesses() {
        output::note(format_args!("{resource} is guessed of {kind}: {hint}"));
    }
}

/// The policy that confines a user, and its binding.
fn guard(purpose: &Purpose, user: &str, arguments: &Arguments) -> anyhow::Result<[Value; 2]> {
    let owner = Options::default().owner;
    let level = purpose.highest_level();
    let pod_security = arguments.pod_security.unwrap_or_else(|| purpose.lowest_pod_security());
    let has_mesh_names = purpose.has_mesh_names();
    let guarded = Guarded { user, owner: &owner, level, pod_security, has_mesh_names };
    let (policy, binding) = guarded.policy(&arguments.name);
    Ok([value(&policy)?, value(&binding)?])
}

fn value(object: &impl Serialize) -> serde_json::Result<Value> {
    serde_json::to_value(object)
}

/// One object as it is; several as documents of YAML, or as a list in JSON. `kubectl apply` takes each.
fn written(notation: Notation, objects: &[Value]) -> anyhow::Result<String> {
    match (notation, objects) {
        (notation, [object]) => notation.write(object),
        (Notation::Json, objects) => {
            notation.write(&json!({"apiVersion": "v1", "kind": "List", "items": objects}))
        }
        (Notation::Yaml, objects) => {
            let documents: Vec<String> =
                objects.iter().map(|object| notation.write(object)).collect::<anyhow::Result<_>>()?;
            Ok(documents.join(NEXT_DOCUMENT))
        }
    }
}
