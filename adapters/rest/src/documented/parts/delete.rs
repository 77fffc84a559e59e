//! `DELETE`: a part. A cluster reference may be named by its cluster, too, where that names one alone.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use dcm_core::service::{EditId, Edited, Error, Precondition};

use super::missing;
use crate::documented::objects::Part;
use crate::documented::openapi::{Answer, Operation};
use crate::documented::place::{Asked, At, Nothing, OfPart};
use crate::documented::problem::{Kind, Problem};
use crate::documented::route::Shared;
use crate::documented::tag::{If, etag};
use crate::request::Asking;

/// What the document says of it.
pub(super) fn describe<P: Part>(it: Operation) -> Operation {
    it.says(format!("Take away {}", P::ONE), P::DELETION)
        .answers(StatusCode::NO_CONTENT, Answer::empty("It is taken away.").tagged())
        .fails(&[Kind::WrongState, Kind::InUse])
}

pub(super) async fn handle<P: Part>(
    State(services): State<Shared>,
    At(of): At<OfPart<P::Name>>,
    Asked(Nothing {}): Asked<Nothing>,
    Asking(caller): Asking,
    when: If<EditId>,
) -> Result<impl IntoResponse, Problem> {
    let OfPart { project, cloud, name } = of;
    let delete = async |name: P::Name, condition: &Precondition<EditId>| -> Result<Edited, Error> {
        services.clouds.delete_part(&caller, &project, &cloud, &P::part_name(name), condition).await
    };
    let deleted = match delete(name.clone(), &when.condition).await {
        Err(Error::NotFound { kind, .. }) if kind == P::KIND => {
            let found = services.clouds.get(&project, &cloud).await?;
            let one =
                one_of::<P>(&name, P::aliased(&found.cloud, &name)).map_err(|problem| when.told(problem))?;
            // Only that one: it may go by another cluster meanwhile.
            // And only as the caller knows it.
            let is_known = |id: &EditId| when.condition.known.as_ref().is_none_or(|known| known.contains(id));
            let known = Some(found.id()).filter(is_known).into_iter().collect();
            let as_found = Precondition { known: Some(known), ..Precondition::default() };
            delete(one, &as_found).await
        }
        deleted => deleted,
    };
    let deleted = deleted.map_err(|error| when.told(without(error)))?;
    Ok((StatusCode::NO_CONTENT, [etag(deleted.id())]))
}

/// An error about what is left; a rule that it breaks is broken by no field of this request.
fn without(error: Error) -> Problem {
    match error {
        Error::Refused(refusals) => {
            Problem::new(Kind::InUse, format!("without it, the logical cloud breaks a rule: {refusals}"))
        }
        error => error.into(),
    }
}

/// The one that is meant.
fn one_of<P: Part>(name: &P::Name, mut candidates: Vec<P::Name>) -> Result<P::Name, Problem> {
    match (candidates.pop(), candidates.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(last), false) => {
            candidates.push(last);
            let names: Vec<&str> = candidates.iter().map(AsRef::as_ref).collect();
            let (kind, name) = (P::KIND, name.as_ref());
            let detail = format!(
                "there is no {kind} {name}; by that name of a cluster, name one of {}",
                names.join(", ")
            );
            Err(Problem::new(Kind::WrongState, detail))
        }
        (None, _) => Err(missing::<P>(name.as_ref()).into()),
    }
}
