//! What a cluster is registered by: a form with its document and its kubeconfig.

use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::StatusCode;
use dcm_core::kubeconfig;
use dcm_core::secret::Secret;

use crate::emco::BODY_BYTES_MAX;
use crate::emco::problem::Problem;
use crate::limits::{self, Broken};

/// The parts of a form that are known; others are passed over, and so are later ones of the same name.
pub(in crate::emco) struct Form {
    /// The document, as it was sent.
    pub(super) metadata: Vec<u8>,
    /// The kubeconfig; none where no file was sent.
    pub(super) file: Option<Secret>,
}

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let unprocessable = |text: String| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text);
        if limits::is_said_to_exceed(request.headers(), BODY_BYTES_MAX) {
            return Err(Problem::too_large());
        }
        let parts = Multipart::from_request(request, state).await;
        let mut parts =
            parts.map_err(|_| unprocessable("request Content-Type isn't multipart/form-data".to_owned()))?;
        let (mut metadata, mut file) = (None, None);
        while let Some(part) = parts.next_field().await.map_err(|error| unread(&error))? {
            match (part.name(), part.file_name()) {
                (Some("metadata"), None) if metadata.is_none() => metadata = Some(content(part).await?),
                (Some("file"), Some(_)) if file.is_none() => {
                    let text = kubeconfig::decode(content(part).await?);
                    file = Some(text.map_err(|invalid| Problem::invalid([format!("file: {invalid}")]))?);
                }
                _ => {}
            }
        }
        Ok(Self { metadata: metadata.unwrap_or_default(), file })
    }
}

async fn content(part: Field<'_>) -> Result<Vec<u8>, Problem> {
    Ok(part.bytes().await.map_err(|error| unread(&error))?.to_vec())
}

fn unread(error: &MultipartError) -> Problem {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Problem::too_large();
    }
    let broken_off =
        || Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "multipart: the form could not be read to its end");
    Broken::of(error).map_or_else(broken_off, Problem::of_body)
}
