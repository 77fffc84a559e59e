//! What is found out of each request before it is looked at: who asks.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use axum_server::tls::TlsInfo;
use dcm_identity::{Identity, Unproved, bearer};
use dcm_rest::access::{Admission, Asker, NotAdmitted};
use hyper::header::AUTHORIZATION;
use jiff::SignedDuration;
use rustls::pki_types::CertificateDer;

use super::guesses::Guesses;
use super::rate::Limiter;
use super::{Access, Known};
use crate::accepting::Origin;
use crate::host;

/// A request without its body, which nobody reads before it is known who asks.
type Head = hyper::Request<()>;

/// Whoever proved nothing, as the limit of requests counts them, with where they are behind it. Nobody has such a name.
const UNKNOWN: &str = "system:anonymous";

/// How long an answer may go on until it is to be asked for again: by then a token may have been taken back, or a role.
pub(crate) const ANSWER_MAX: SignedDuration = SignedDuration::from_mins(5);

/// Lets requests in at a listener.
pub(crate) struct Gate {
    known: Option<Arc<Known>>,
    limiter: Option<Limiter>,
    guesses: Guesses,
    is_tls: bool,
}

impl Gate {
    pub(crate) fn new(access: &Access) -> Self {
        let limiter = access.known.as_ref().and_then(|known| known.rate).and_then(Limiter::new);
        Self {
            known: access.known.clone(),
            limiter,
            guesses: Guesses::default(),
            is_tls: access.tls.is_some(),
        }
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
        let place = place_of(origin.map(|ConnectInfo(Origin(address))| address.ip()));
        // What is guessed from there is not looked at before its time. Certificates were, in the handshake.
        if request.headers().contains_key(AUTHORIZATION)
            && let Some(after) = self.guesses.wait(&place, known.clock.now())
        {
            return Err(NotAdmitted::TooOften { after });
        }
        match prove(known, request).await {
            Ok(identity) => {
                self.count(identity.user())?;
                let rights = known.roles.of(&identity);
                tracing::debug!(user = identity.user(), proof = %identity.proof(), "let in");
                let looked_at_again = known.clock.now() + ANSWER_MAX;
                let until = identity.until().map_or(looked_at_again, |until| until.min(looked_at_again));
                let (name, limits) = (identity.user().to_owned(), known.limits.clone());
                Ok(Asker { name, rights, limits, until: Some(until) })
            }
            Err(refused) => {
                if let Err(NotAdmitted::TooOften { after }) = self.count(&place) {
                    self.guesses.put_off(place, known.clock.now(), after);
                    return Err(NotAdmitted::TooOften { after });
                }
                refused.log();
                Err(refused.into())
            }
        }
    }

    fn count(&self, caller: &str) -> Result<(), NotAdmitted> {
        let counted = self.limiter.as_ref().map_or(Ok(()), |limiter| limiter.count(caller));
        counted.map_err(|after| NotAdmitted::TooOften { after })
    }
}

/// Where somebody asks from, as the limit of requests counts those who proved nothing: an address, or of IPv6 the network that
/// one customer of a provider has.
fn place_of(address: Option<IpAddr>) -> String {
    match address.map(|address| address.to_canonical()) {
        None => UNKNOWN.to_owned(),
        Some(IpAddr::V4(address)) => format!("{UNKNOWN} {address}"),
        Some(IpAddr::V6(address)) => {
            let [first, second, third, fourth, ..] = address.segments();
            format!("{UNKNOWN} {first:x}:{second:x}:{third:x}:{fourth:x}::/64")
        }
    }
}

/// Why nobody was proved to ask.
enum Unknown {
    /// Nothing was shown.
    Nothing,
    /// What was shown is nothing that can be looked at.
    Form(&'static str),
    /// What was shown proves nothing, or nobody can tell now.
    Unproved(Unproved),
}

impl Unknown {
    fn log(&self) {
        match self {
            Self::Unproved(Unproved::Refused(refused)) => {
                tracing::info!(reason = %refused, "a credential is refused");
            }
            Self::Unproved(Unproved::Unavailable(unavailable)) => {
                let error = unavailable as &dyn std::error::Error;
                tracing::warn!(error, "a credential can't be checked");
            }
            Self::Nothing | Self::Form(_) => {}
        }
    }
}

impl From<Unknown> for NotAdmitted {
    fn from(unknown: Unknown) -> Self {
        match unknown {
            Unknown::Nothing => Self::Anonymous,
            Unknown::Form(why) => Self::Refused(why.to_owned()),
            Unknown::Unproved(Unproved::Refused(refused)) => Self::Refused(refused.told().to_owned()),
            Unknown::Unproved(Unproved::Unavailable(_)) => {
                Self::NotNow("who you are can't be checked now".to_owned())
            }
        }
    }
}

/// Who asks: whoever has the token, where one is shown, and else the client certificate.
async fn prove(known: &Known, request: &Head) -> Result<Identity, Unknown> {
    let mut headers = request.headers().get_all(AUTHORIZATION).iter();
    let proved = match (headers.next(), headers.next()) {
        (Some(_), Some(_)) => return Err(Unknown::Form("say once who you are")),
        (Some(header), None) => match bearer::token_in(header.as_bytes()) {
            Some(token) => known.authenticator.bearer(token).await,
            None => return Err(Unknown::Form("only bearer tokens are taken")),
        },
        (None, _) => {
            let info = request.extensions().get::<Arc<TlsInfo>>();
            let shown = info.and_then(|info| info.peer_certificates.first()).ok_or(Unknown::Nothing)?;
            known.authenticator.certificate(&CertificateDer::from(shown.as_slice())).map_err(Unproved::from)
        }
    };
    proved.map_err(Unknown::Unproved)
}

/// Finds out who asks, and says so to what is behind.
pub(crate) async fn admit(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let mut head = Head::from_parts(parts, ());
    let admission = gate.admit(&head).await;
    head.extensions_mut().insert(admission);
    next.run(head.map(|()| body)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_proves_nothing_is_counted_by_where_they_are() {
        let place = |address: &str| place_of(Some(address.parse().unwrap()));
        assert_eq!(place("192.0.2.1"), "system:anonymous 192.0.2.1");
        assert_eq!(place("::ffff:192.0.2.1"), place("192.0.2.1"));
        assert_eq!(place("2001:db8:1:2::3"), "system:anonymous 2001:db8:1:2::/64");
        assert_eq!(place("2001:db8:1:2:ffff::"), place("2001:db8:1:2::3"));
    }
}
