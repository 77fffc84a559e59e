//! Calls to the members of an etcd: the next one is asked when one does not answer, and who we are is said anew when etcd has
//! forgotten it.

use std::fs;
use std::path::Path as FilePath;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dcm_core::port::store::{DOCUMENT_BYTES_MAX, Error, PAGE_MAX, PATH_BYTES_MAX};
use futures::{StreamExt as _, stream};
use http::uri::PathAndQuery;
use prost::Message;
use tonic::client::Grpc;
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::api::{AuthenticateRequest, AuthenticateResponse, method};
use super::failure::{
    Silent, asks_for_user, is_about_token, is_of_member, knows_no_users, of_status, was_not_sent,
};
use super::location::{Location, Tls, User};
use crate::lock::lock;
use crate::signed::MAC_BYTES_MAX;

/// The largest answer: a page of the largest documents, each with its MAC.
const ANSWER_BYTES_MAX: usize = PAGE_MAX * (DOCUMENT_BYTES_MAX + MAC_BYTES_MAX + 2 * PATH_BYTES_MAX);

/// How often a member that says nothing while it owes an answer, or is watched, is asked whether it is there. etcd closes the
/// connection of who asks more often than every 5 seconds, or while nothing is owed: then TCP asks in its stead.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// Reaching a member takes at most one part in so many of the time of an answer, and so does agreeing with it on TLS: who was not
/// reached was sent nothing, and another member can be asked.
const REACH_SHARE: u32 = 3;

/// How much a watch that nobody reads may keep of what is told, in bytes; it is etcd that waits then.
const WATCH_WINDOW: u32 = 2 * 1024 * 1024;

/// The same for all that goes on at once with a member, the most that HTTP/2 knows: what watches keep must not keep others from
/// their answers.
const CONNECTION_WINDOW: u32 = (1 << 31) - 1;

/// Where etcd looks for who we are.
const TOKEN_KEY: &str = "token";

/// Asks a member to refuse what it can't know for sure, as it has no leader.
const LEADER_KEY: &str = "hasleader";

/// Whether a call may be made again when nobody knows what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// It changes nothing.
    May,
    /// It may have happened.
    MayNot,
}

/// How a call says who we are.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Introduction {
    /// Not at all: etcd knows no users.
    Unasked,
    /// By what etcd gave us for it.
    Token(AsciiMetadataValue),
}

impl Introduction {
    fn token(&self) -> Option<AsciiMetadataValue> {
        match self {
            Self::Unasked => None,
            Self::Token(token) => Some(token.clone()),
        }
    }

    /// True when etcd does not take it any more.
    fn is_outdated(&self, status: &Status) -> bool {
        match self {
            Self::Unasked => asks_for_user(status),
            Self::Token(_) => is_about_token(status),
        }
    }
}

/// The members of one etcd.
pub(super) struct Connection {
    members: Vec<(Arc<str>, Channel)>,
    /// Which of them is asked; counted on when one does not answer.
    current: AtomicUsize,
    user: Option<User>,
    /// How we say who we are. It is found out anew when etcd does not take it any more.
    introduction: Mutex<Option<Introduction>>,
    /// Held by the one who says who we are. It costs etcd much: all others wait for what comes of it.
    authenticating: tokio::sync::Mutex<()>,
    timeout: Duration,
}

impl Connection {
    /// Connects when it is first used.
    pub(super) fn new(location: &Location) -> Result<Self, Error> {
        let reach_limit = location.timeout / REACH_SHARE;
        let tls = location.tls.as_ref().map(tls_config).transpose()?.map(|tls| tls.timeout(reach_limit));
        let scheme = if tls.is_some() { "https" } else { "http" };
        let member = |endpoint: &String| {
            let invalid =
                |error| Error::Failed { reason: format!("can't use {endpoint}: {error}"), source: None };
            let member = Endpoint::from_str(&format!("{scheme}://{endpoint}")).map_err(invalid)?;
            let member = match &tls {
                Some(tls) => member.tls_config(tls.clone()).map_err(invalid)?,
                None => member,
            };
            let member =
                member.connect_timeout(reach_limit).tcp_nodelay(true).tcp_keepalive(Some(KEEP_ALIVE));
            let member = member
                .initial_stream_window_size(WATCH_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW);
            let member = member.http2_keep_alive_interval(KEEP_ALIVE).keep_alive_timeout(location.timeout);
            Ok((endpoint.as_str().into(), member.connect_lazy()))
        };
        Ok(Self {
            members: location.endpoints.iter().map(member).collect::<Result<_, Error>>()?,
            current: AtomicUsize::new(0),
            user: location.user.clone(),
            introduction: Mutex::new(None),
            authenticating: tokio::sync::Mutex::default(),
            timeout: location.timeout,
        })
    }

    /// Calls a method with one answer.
    pub(super) async fn call<Q, A>(&self, method: &'static str, message: Q, again: Again) -> Result<A, Error>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let call = |client, token| self.unary(client, method, message.clone(), token);
        self.ask(again, call).await
    }

    /// Calls a method with many answers. The call stays open while anybody reads them, whatever becomes of what is sent.
    pub(super) async fn follow<Q, A>(&self, method: &'static str, message: Q) -> Result<Streaming<A>, Error>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let call = |mut client: Grpc<Channel>, token| {
            // Whoever has nothing more to say would end the call.
            let messages = stream::iter([message.clone()]).chain(stream::pending());
            let mut request = with_token(Request::new(messages), token);
            request.metadata_mut().insert(LEADER_KEY, AsciiMetadataValue::from_static("true"));
            async move {
                let opening = async {
                    ready(&mut client).await?;
                    client.streaming(request, PathAndQuery::from_static(method), ProstCodec::default()).await
                };
                Ok(self.in_time(opening).await??.into_inner())
            }
        };
        self.ask(Again::May, call).await
    }

    /// Asks one member after the other, beginning with the one that answered last.
    async fn ask<A, F>(
        &self,
        again: Again,
        call: impl Fn(Grpc<Channel>, Option<AsciiMetadataValue>) -> F,
    ) -> Result<A, Error>
    where
        F: Future<Output = Result<A, Status>>,
    {
        let (mut tried, mut silent) = (0, Silent::default());
        loop {
            let current = self.current.load(Ordering::Relaxed);
            let status = match self.ask_as_user(current, &call).await {
                Ok(answer) => return Ok(answer),
                Err(status) => status,
            };
            tried += 1;
            let is_last = tried == self.members.len() || !is_of_member(&status);
            if is_of_member(&status) {
                let next = (current + 1) % self.members.len();
                let _ = self.current.compare_exchange(current, next, Ordering::Relaxed, Ordering::Relaxed);
            }
            let endpoint = &self.members[current].0;
            if is_last || (again == Again::MayNot && !was_not_sent(&status)) {
                return Err(of_status(silent, endpoint, status));
            }
            silent.add(endpoint, status);
        }
    }

    /// Says who we are; once more when etcd does not know it any more.
    async fn ask_as_user<A, F>(
        &self,
        member: usize,
        call: impl Fn(Grpc<Channel>, Option<AsciiMetadataValue>) -> F,
    ) -> Result<A, Status>
    where
        F: Future<Output = Result<A, Status>>,
    {
        let client = self.client(member);
        let Some(user) = &self.user else { return call(client, None).await };
        let introduction = self.introduction(user, &client).await?;
        match call(client.clone(), introduction.token()).await {
            Err(status) if introduction.is_outdated(&status) => {
                self.forget(&introduction);
                let introduction = self.introduction(user, &client).await?;
                call(client, introduction.token()).await
            }
            answered => answered,
        }
    }

    fn client(&self, member: usize) -> Grpc<Channel> {
        Grpc::new(self.members[member].1.clone()).max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    async fn introduction(&self, user: &User, client: &Grpc<Channel>) -> Result<Introduction, Status> {
        let known = || lock(&self.introduction).clone();
        if let Some(introduction) = known() {
            return Ok(introduction);
        }
        let _turn = self.in_time(self.authenticating.lock()).await?;
        // Somebody else was faster.
        if let Some(introduction) = known() {
            return Ok(introduction);
        }
        let message = AuthenticateRequest { name: user.name.clone(), password: user.password.clone() };
        let answer = self.unary(client.clone(), method::AUTHENTICATE, message, None).await;
        let introduction = match answer {
            Err(status) if knows_no_users(&status) => Introduction::Unasked,
            answer => {
                let AuthenticateResponse { token } = answer?;
                let token = AsciiMetadataValue::try_from(token);
                let mut token = token.map_err(|_| Status::data_loss("a token that is no text"))?;
                token.set_sensitive(true);
                Introduction::Token(token)
            }
        };
        *lock(&self.introduction) = Some(introduction.clone());
        Ok(introduction)
    }

    /// Forgets how we say who we are, unless something else has taken its place.
    fn forget(&self, introduction: &Introduction) {
        let mut known = lock(&self.introduction);
        if known.as_ref() == Some(introduction) {
            *known = None;
        }
    }

    async fn unary<Q, A>(
        &self,
        mut client: Grpc<Channel>,
        method: &'static str,
        message: Q,
        token: Option<AsciiMetadataValue>,
    ) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let request = with_token(Request::new(message), token);
        let call = async {
            ready(&mut client).await?;
            client.unary(request, PathAndQuery::from_static(method), ProstCodec::default()).await
        };
        Ok(self.in_time(call).await??.into_inner())
    }

    async fn in_time<T>(&self, what: impl Future<Output = T>) -> Result<T, Status> {
        let done = tokio::time::timeout(self.timeout, what).await;
        done.map_err(|_| Status::deadline_exceeded("no answer in time"))
    }
}

async fn ready(client: &mut Grpc<Channel>) -> Result<(), Status> {
    client.ready().await.map_err(|error| Status::from_error(error.into()))
}

fn with_token<T>(mut request: Request<T>, token: Option<AsciiMetadataValue>) -> Request<T> {
    if let Some(token) = token {
        request.metadata_mut().insert(TOKEN_KEY, token);
    }
    request
}

fn tls_config(tls: &Tls) -> Result<ClientTlsConfig, Error> {
    let mut config = ClientTlsConfig::new();
    config = match &tls.authorities {
        Some(file) => config.ca_certificate(Certificate::from_pem(read(file)?)),
        None => config.with_native_roots(),
    };
    if let Some((certificate, key)) = &tls.identity {
        config = config.identity(Identity::from_pem(read(certificate)?, read(key)?));
    }
    Ok(config)
}

fn read(file: &FilePath) -> Result<Vec<u8>, Error> {
    let failed = |error| Error::Failed {
        reason: format!("can't read {}", file.display()),
        source: Some(Arc::new(error)),
    };
    fs::read(file).map_err(failed)
}
