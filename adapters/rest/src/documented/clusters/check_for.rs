//! `POST /v2/cluster-providers/{provider}/clusters/{cluster}/check`: whether a cluster is ready that is not registered yet, or for certain
//! logical clouds.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::document::{self, Limits};
use dcm_core::logical_cloud::{Level, LogicalCloud, LogicalCloudUid};
use dcm_core::name::ProjectName;
use dcm_core::preflight::Needs;
use dcm_core::secret::Secret;
use dcm_core::service::{self, Registration};
use schemars::JsonSchema;
use serde::Deserialize;

use super::check::{Found, registered};
use super::{OneCluster, of_inspection, of_what_was_sent};
use crate::access::Asker;
use crate::documented::body::{Body, Shaped, schema_of};
use crate::documented::clouds::text::refused;
use crate::documented::openapi::{Answer, Operation, Rules};
use crate::documented::place::{Asked, At, Nothing};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;

/// Most accesses that a cluster is asked about: one request for each. Each kind of manifest needs one for
/// each of 7 verbs.
const ACCESSES_MAX: usize = 2_000;

/// What is looked at, and for what.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ClusterCheck")]
pub(in crate::documented) struct Wanted {
    /// The administrator's kubeconfig, YAML or JSON, as a text; absent: the one that is registered.
    kubeconfig: Option<String>,
    /// The highest level of logical clouds that will be on it.
    level: Level,
    /// Declarative documents of logical clouds, YAML or JSON, as one text: it is looked whether the cluster grants what they need, too.
    documents: String,
}

impl Shaped for Wanted {
    const RULES: Rules = &[];

    schema_of!(Wanted);
}

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says(
        "Check whether a cluster would be ready",
        "With another kubeconfig than the one that is registered, or before it is registered, or for certain logical clouds. Nothing is \
         registered, and no document stored.",
    )
    .answers(StatusCode::OK, Answer::json::<Found>("What was found."))
    .fails(&[Kind::NotReady])
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    At(cluster): At<OneCluster>,
    Asked(Nothing {}): Asked<Nothing>,
    asker: Asker,
    Body { read, .. }: Body<Wanted>,
) -> Result<impl IntoResponse, Problem> {
    let (id, needs) = (cluster.id(), read.needs()?);
    let Some(kubeconfig) = read.kubeconfig else {
        return registered(&services, &asker, &id, &needs).await;
    };
    let registration = Registration::new(id, Secret::new(kubeconfig));
    let checked = services.registered.check(&registration);
    checked.map_err(|error| Problem::from(error).of_fields(of_kubeconfig))?;
    let inspected = services.look(&asker)?.inspect(&registration, &needs).await;
    let inspected = inspected
        .map_err(|error| of_inspection(error, |error| of_what_was_sent(&registration, "kubeconfig", error)));
    Ok(Json(Found::from(inspected?)))
}

/// What the kubeconfig says is in no field of the body.
fn of_kubeconfig(path: &str) -> String {
    if path == "kubeconfig" { path.to_owned() } else { format!("kubeconfig: {path}") }
}

impl Wanted {
    pub(in crate::documented) fn needs(&self) -> Result<Needs, Problem> {
        let needs = Needs::of_level(self.level);
        if self.documents.is_empty() {
            return Ok(needs);
        }
        // What a document needs is the same in any project.
        let project = ProjectName::new("default").map_err(|_| Problem::unexpected())?;
        let documents = document::parse(self.documents.as_bytes(), &project, &Limits::default());
        let documents = documents.map_err(|text| refused(&text).of_fields(of_documents))?;
        let needs = documents.into_iter().try_fold(needs, |needs, document| {
            let uid = LogicalCloudUid::from_random(0);
            let made = LogicalCloud::new(document.project, uid, document.draft).map_err(service::Error::from);
            let (cloud, _) = made.map_err(|error| Problem::from(error).of_fields(of_documents))?;
            Ok::<_, Problem>(needs.and(Needs::of_cloud(&cloud)))
        })?;
        if needs.accesses().count() > ACCESSES_MAX {
            return Err(Problem::field("documents", format!("must need at most {ACCESSES_MAX} accesses")));
        }
        Ok(needs)
    }
}

/// What a document says is in no field of the body.
fn of_documents(path: &str) -> String {
    if path.is_empty() { "documents".to_owned() } else { format!("documents: {path}") }
}
