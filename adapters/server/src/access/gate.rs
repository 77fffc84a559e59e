//! What is found out of each request before it is looked at: who asks.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{ConnectInfo, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use axum_server::tls::TlsInfo;
use dcm_identity::{Identity, Unproved, bearer};
use dcm_rest::access::{Admission, Asker, NotAdmitted};
use hyper::header::AUTHORIZATION;
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;

use super::guesses::Guesses;
use super::proved::Proved;
use super::rate::Limiter;
use super::{Access, Known};
use crate::accepting::Origin;
use crate::host;
use crate::network::Network;

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
    proved: Proved,
    is_tls: bool,
}

impl Gate {
    pub(crate) fn new(access: &Access) -> Self {
        let limiter = access.known.as_ref().and_then(|known| known.rate).and_then(Limiter::new);
        Self {
            known: access.known.clone(),
            limiter,
            guesses: Guesses::default(),
            proved: Proved::default(),
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
        let place = place_of(origin.and_then(|ConnectInfo(Origin(address))| Some(address.as_ref()?.ip())));
        let shown = Shown::in_head(request);
        if let Shown::Token(token) = &shown
            && let Some(after) = self.wait(&place, token, known.clock.now())
        {
            return Err(NotAdmitted::TooOften { after });
        }
        match shown.prove(known).await {
            Ok(identity) => {
                if let Shown::Token(token) = &shown {
                    self.proved.remember(token, known.clock.now());
                }
                self.let_in(known, &identity)
            }
            Err(unknown) => Err(self.turn_away(known, &shown, unknown, place)),
        }
    }

    /// How long a token has to wait before it is looked at: where many were shown from a place that proved nothing, and looking costs something.
    /// One that proved something a short while ago is no guess, and need not wait.
    fn wait(&self, place: &str, token: &str, now: Timestamp) -> Option<Duration> {
        let wait = self.guesses.wait(place, now).filter(|_| bearer::is_web_token(token))?;
        (!self.proved.is_known(token, now)).then_some(wait)
    }

    fn let_in(&self, known: &Known, identity: &Identity) -> Admission {
        self.count(identity.user())?;
        let rights = known.roles.of(identity);
        tracing::debug!(user = identity.user(), proof = %identity.proof(), "let in");
        let left = identity.until().map(|until| until.duration_since(known.wall.now()));
        let left = left.map_or(ANSWER_MAX, |left| left.min(ANSWER_MAX));
        let until = known.clock.now() + left;
        let (name, limits) = (identity.user().to_owned(), known.limits.clone());
        Ok(Asker { name, rights, limits, until: Some(until) })
    }

    /// Why somebody is not let in who has proved nothing. Only what costs something to look at puts a place off: who shows nothing has nothing looked at.
    fn turn_away(&self, known: &Known, shown: &Shown<'_>, unknown: Unknown, place: String) -> NotAdmitted {
        if let Err(NotAdmitted::TooOften { after }) = self.count(&place) {
            if matches!(shown, Shown::Token(token) if bearer::is_web_token(token)) {
                self.guesses.put_off(place, known.clock.now(), after);
            }
            return NotAdmitted::TooOften { after };
        }
        unknown.log();
        unknown.into()
    }

    fn count(&self, caller: &str) -> Result<(), NotAdmitted> {
        let counted = self.limiter.as_ref().map_or(Ok(()), |limiter| limiter.count(caller));
        counted.map_err(|after| NotAdmitted::TooOften { after })
    }
}

/// Where somebody asks from, as the limit of requests counts those who proved nothing.
fn place_of(address: Option<IpAddr>) -> String {
    match address.map(Network::of) {
        None => UNKNOWN.to_owned(),
        Some(network) => format!("{UNKNOWN} {network}"),
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

/// By what a request shows who asks: a token, where there is one, and else the client certificate.
enum Shown<'a> {
    Nothing,
    /// Nothing that can be looked at.
    Form(&'static str),
    Token(&'a str),
    Certificate(CertificateDer<'a>),
}

impl<'a> Shown<'a> {
    fn in_head(request: &'a Head) -> Self {
        let mut headers = request.headers().get_all(AUTHORIZATION).iter();
        match (headers.next(), headers.next()) {
            (Some(_), Some(_)) => Self::Form("say once who you are"),
            (Some(header), None) => bearer::token_in(header.as_bytes())
                .map_or(Self::Form("only bearer tokens are taken"), Self::Token),
            (None, _) => {
                let info = request.extensions().get::<Arc<TlsInfo>>();
                let shown = info.and_then(|info| info.peer_certificates.first());
                shown.map_or(Self::Nothing, |shown| Self::Certificate(CertificateDer::from(shown.as_slice())))
            }
        }
    }

    async fn prove(&self, known: &Known) -> Result<Identity, Unknown> {
        let proved = match self {
            Self::Nothing => return Err(Unknown::Nothing),
            Self::Form(why) => return Err(Unknown::Form(why)),
            Self::Token(token) => known.authenticator.bearer(token).await,
            Self::Certificate(shown) => known.authenticator.certificate(shown).map_err(Unproved::from),
        };
        proved.map_err(Unknown::Unproved)
    }
}

/// Finds out who asks, and says so to what is behind.
pub(crate) async fn admit(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let mut head = Head::from_parts(parts, ());
    let admission = gate.admit(&head).await;
    head.extensions_mut().insert(admission);
    next.run(head.map(|()| body)).await
}
