//! What is found out of each request before it is looked at: who asks.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use axum_server::tls::TlsInfo;
use dcm_identity::{Identity, Unproved, bearer};
use dcm_rest::access::{Admission, Asker, NotAdmitted};
use hyper::header::AUTHORIZATION;
use rustls::pki_types::CertificateDer;

use super::rate::Limiter;
use super::{Access, Known};
use crate::accepting::Origin;
use crate::host;

/// A request without its body, which nobody reads before it is known who asks.
type Head = hyper::Request<()>;

/// Whoever proved nothing, as the limit of requests counts them, with the address before it.
const UNKNOWN: &str = "system:anonymous";

/// Lets requests in at a listener.
pub(crate) struct Gate {
    known: Option<Arc<Known>>,
    limiter: Option<Limiter>,
    is_tls: bool,
}

impl Gate {
    pub(crate) fn new(access: &Access) -> Self {
        let limiter = access.known.as_ref().and_then(|known| known.rate).and_then(Limiter::new);
        Self { known: access.known.clone(), limiter, is_tls: access.tls.is_some() }
    }

    async fn admit(&self, request: &Head) -> Admission {
        // A name that resolves here is everybody's to give where nobody has to prove anything.
        if self.known.is_none()
            && let Some(refusal) = host::refusal(request)
        {
            return Err(refusal.into());
        }
        // Browsers show a client certificate to this server whichever page asks it.
        if let Some(refusal) = host::page_refusal(request, self.is_tls) {
            return Err(refusal.into());
        }
        let Some(known) = &self.known else { return Ok(Asker::anybody()) };
        let origin = request.extensions().get::<ConnectInfo<Origin>>();
        let address = origin.map(|ConnectInfo(Origin(address))| address.ip());
        match prove(known, request).await {
            Ok(identity) => {
                self.count(identity.user())?;
                let rights = known.roles.of(&identity);
                tracing::debug!(user = identity.user(), proof = %identity.proof(), "let in");
                Ok(Asker { name: identity.user().to_owned(), rights, until: identity.until() })
            }
            Err(refused) => {
                // Guessing is not to be cheap, and is nobody's right to ask.
                self.count(&address.map_or_else(|| UNKNOWN.to_owned(), |ip| format!("{UNKNOWN} {ip}")))?;
                Err(refused)
            }
        }
    }

    fn count(&self, caller: &str) -> Result<(), NotAdmitted> {
        let counted = self.limiter.as_ref().map_or(Ok(()), |limiter| limiter.count(caller));
        counted.map_err(|after| NotAdmitted::TooOften { after })
    }
}

/// Who asks: whoever has the token, where one is shown, and else the client certificate.
async fn prove(known: &Known, request: &Head) -> Result<Identity, NotAdmitted> {
    let mut headers = request.headers().get_all(AUTHORIZATION).iter();
    let proved = match (headers.next(), headers.next()) {
        (Some(_), Some(_)) => return Err(NotAdmitted::Refused("say once who you are".to_owned())),
        (Some(header), None) => match bearer::token_in(header.as_bytes()) {
            Some(token) => known.authenticator.bearer(token).await,
            None => return Err(NotAdmitted::Refused("only bearer tokens are taken".to_owned())),
        },
        (None, _) => {
            let info = request.extensions().get::<Arc<TlsInfo>>();
            let Some(shown) = info.and_then(|info| info.peer_certificates.first()) else {
                return Err(NotAdmitted::Anonymous);
            };
            known.authenticator.certificate(&CertificateDer::from(shown.as_slice())).map_err(Unproved::from)
        }
    };
    proved.map_err(|unproved| match unproved {
        Unproved::Refused(refused) => {
            tracing::info!(reason = %refused, "a credential is refused");
            NotAdmitted::Refused(refused.told().to_owned())
        }
        Unproved::Unavailable(unavailable) => {
            let error = &unavailable as &dyn std::error::Error;
            tracing::warn!(error, "a credential can't be checked");
            NotAdmitted::NotNow("who you are can't be checked now".to_owned())
        }
    })
}

/// Finds out who asks, and says so to what is behind.
pub(crate) async fn admit(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let mut head = Head::from_parts(parts, ());
    let admission = gate.admit(&head).await;
    head.extensions_mut().insert(admission);
    next.run(head.map(|()| body)).await
}
