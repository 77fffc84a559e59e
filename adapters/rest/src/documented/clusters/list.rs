//! `GET /v2/cluster-providers/{provider}/clusters`

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::IntoResponse;
use dcm_core::name::ClusterName;

use crate::access::Asker;
use crate::documented::objects::ClusterAnswer;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::page::LABELLED;
use crate::documented::page::{self, Labelled, Page};
use crate::documented::place::{Asked, At, OfProvider};
use crate::documented::problem::Problem;
use crate::documented::route::Shared;

/// What the document says of it.
pub(in crate::documented) fn describe(it: Operation) -> Operation {
    it.says("List the clusters of a provider", LABELLED)
        .answers(StatusCode::OK, Answer::json::<Page<ClusterAnswer>>("A page, in the order of names."))
}

pub(in crate::documented) async fn handle(
    State(services): State<Shared>,
    asker: Asker,
    At(OfProvider { provider }): At<OfProvider>,
    Asked(wanted): Asked<Labelled<ClusterName>>,
    uri: Uri,
) -> Result<impl IntoResponse, Problem> {
    let (limit, selector) = (page::checked(wanted.limit)?, wanted.selector()?);
    let page = services.registered.list_of(&provider, wanted.after.as_ref(), Some(limit)).await?;
    let selected = page.clusters.into_iter().filter(|one| selector.matches(&one.registration.labels));
    let stopped = services.registered.stopped().await?;
    let items = selected
        .map(|one| {
            let is_stopped = stopped.contains(&one.registration.id);
            ClusterAnswer::of(one, is_stopped, &asker)
        })
        .collect();
    let next = page.next.map(|next| next.cluster);
    Ok(Json(Page::new(items, page.broken, next, limit, &uri)))
}
