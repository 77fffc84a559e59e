//! `PUT`: an owner, made or changed.

use axum::extract::State;

use super::{Served, body};
use crate::emco::answer::Answer;
use crate::emco::body::{Sent, checked, read};
use crate::emco::names::Names;
use crate::emco::objects::Named;
use crate::emco::problem::Problem;
use crate::request::Asking;
use crate::route::Shared;

pub(super) async fn handle<K: Served>(
    State(services): State<Shared>,
    names: Names,
    Asking(caller): Asking,
    Sent(bytes): Sent,
) -> Result<Answer<Named>, Problem> {
    let sent: Named = if K::PUT_IS_CHECKED { checked(&bytes)? } else { read(&bytes)? };
    if sent.metadata.name.is_empty() {
        return Err(Problem::bad_request("Missing name in PUT request"));
    }
    if sent.metadata.name != names.text(K::SEGMENT) {
        return Err(Problem::bad_request("Mismatched name in PUT request"));
    }
    let (put, _) = K::owners(&services).put(&caller, sent.metadata.into()).await?;
    Ok(Answer(K::PUT_STATUS, body(put)))
}
