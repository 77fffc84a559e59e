//! Credentials are tried at their cluster before they count as issued.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use dcm_core::name::ContextId;
use dcm_core::port::store::Error;
use dcm_core::port::synchronizer::{Issued, Synchronizer as _};
use dcm_core::port::trial::PrivateKeys;
use dcm_core::secret::Secret;
use dcm_core::status::{Cause, ContextStatus, Progress, Reason, RequestState};
use dcm_sync::engine::metrics::{Code, Verb as Asked};
use dcm_sync::engine::{Engine, What};
use dcm_sync::sim::{Authority, Link, Server, Verb, cluster_id};

use crate::fixture::*;

/// How often credentials are tried again, by default.
const INTERVAL: Duration = Duration::from_secs(3600);

/// A key for each request, or a store that does not answer.
#[derive(Default)]
struct Keys {
    is_away: AtomicBool,
}

#[async_trait]
impl PrivateKeys for Keys {
    async fn private_key(&self, context: &ContextId, request: &str) -> Result<Option<Secret>, Error> {
        assert_eq!((context, request), (&context_id(), "developer"));
        match self.is_away.load(Ordering::Relaxed) {
            true => Err(Error::Failed { reason: "away".to_owned(), source: None }),
            false => Ok(Some(Secret::new("key"))),
        }
    }
}

impl World {
    fn keys_engine(&self) -> Engine {
        self.engine_with_keys(Arc::new(Keys::default()))
    }

    fn trials(&self) -> u64 {
        self.requests(|log| log.count(Verb::TryCredential))
    }

    fn change(&self, change: impl FnOnce(&mut Server)) {
        self.fleet.cluster(&cluster_id(1)).unwrap().server(change);
    }
}

/// A cluster that has issued a certificate and a token.
async fn all_issued() -> (World, Engine) {
    let world = World::new(1);
    let engine = world.keys_engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    (world, engine)
}

/// Why a request is not answered.
fn cause(status: &ContextStatus, name: &str) -> Option<Cause> {
    let lane = &status.lanes[&cluster_id(1)];
    lane.requests.iter().find(|request| &*request.name == name)?.cause.clone()
}

fn state(status: &ContextStatus, name: &str) -> RequestState {
    let lane = &status.lanes[&cluster_id(1)];
    lane.requests.iter().find(|request| &*request.name == name).unwrap().state
}

/// What is stored for the token and for the certificate.
async fn issued(engine: &Engine) -> Vec<String> {
    let results = engine.contexts().results(&context_id()).await.unwrap();
    let text = |issued: &Issued| match issued {
        Issued::Certificate { pem, .. } => pem.to_string(),
        Issued::Token { token, .. } => token.expose().to_owned(),
    };
    results[&cluster_id(1)].values().map(text).collect()
}

async fn tried(engine: &Engine, name: &str) -> Option<bool> {
    let results = engine.contexts().results(&context_id()).await.unwrap();
    results.get(&cluster_id(1)).and_then(|results| results.get(name)).map(|issued| match issued {
        Issued::Certificate { tried, .. } | Issued::Token { tried, .. } => *tried,
    })
}

#[tokio::test(start_paused = true)]
async fn each_credential_is_tried_once_and_not_again_by_a_repeat_a_look_or_another_worker() {
    let world = World::new(1);
    let engine = world.keys_engine();
    let wanted = context(steps(), [1]);
    engine.contexts().apply(&wanted).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!(world.trials(), 2, "a certificate and a token");
    assert_eq!((tried(&engine, "developer").await, tried(&engine, "ci").await), (Some(true), Some(true)));

    engine.contexts().apply(&wanted).await.unwrap();
    engine.contexts().reconcile(&context_id()).await.unwrap();
    done(&engine, &context_id()).await;
    engine.shutdown().await;
    let next = world.keys_engine();
    next.contexts().apply(&wanted).await.unwrap();
    next.contexts().reconcile(&context_id()).await.unwrap();
    done(&next, &context_id()).await;
    assert_eq!(world.trials(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_issued_is_tried_again_until_it_ends_and_writes_nothing_while_it_is_accepted() {
    let (world, engine) = all_issued().await;
    tidied(&engine).await;
    let before = world.store_state().await;
    // It begins at a random time; what is issued is good for an hour, too.
    for _ in 0..3 {
        tokio::time::sleep(INTERVAL).await;
        assert_eq!(world.trials(), 4);
    }
    assert_eq!(world.store_state().await, before);
    assert_eq!(state(&done(&engine, &context_id()).await, "ci"), RequestState::Issued);
}

#[tokio::test(start_paused = true)]
async fn what_is_accepted_no_more_is_deleted_and_asked_for_again() {
    let (world, engine) = all_issued().await;
    let before = issued(&engine).await;
    let mut events = std::pin::pin!(engine.events());
    world.change(|server| {
        server.set_signer(Some(Arc::new(Authority::new("another"))));
        server.replace_token_key();
    });
    for _ in 0..2 {
        event(&mut events, |what| matches!(what, What::Lapsed(_))).await;
    }
    done(&engine, &context_id()).await;
    let after = issued(&engine).await;
    assert!(after[0] != before[0] && after[1] != before[1]);
    let accepts = |server: &Server| {
        server.identify_certificate(&after[1]).is_some()
            && server.identify_token(&Secret::new(&after[0])).is_some()
    };
    world.change(|server| assert!(accepts(server)));
}

#[tokio::test(start_paused = true)]
async fn until_another_one_is_issued_the_status_says_that_a_credential_lapsed() {
    let (world, engine) = all_issued().await;
    world.change(|server| server.refuse_tokens(true));
    until(&engine, |status| cause(status, "ci").is_some_and(|cause| cause.reason == Reason::Lapsed)).await;
    assert_eq!((tried(&engine, "ci").await, tried(&engine, "developer").await), (None, Some(true)));
    let status = until(&engine, |status| status.progress == Progress::Stuck).await;
    assert_eq!(cause(&status, "ci").unwrap().reason, Reason::NotAccepted);
    world.change(|server| server.refuse_tokens(false));
    until(&engine, |status| status.progress == Progress::Done).await;
    assert_eq!(tried(&engine, "ci").await, Some(true));
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_only_once_stays() {
    let (world, engine) = all_issued().await;
    let before = issued(&engine).await;
    world.change(|server| server.refuse_tokens(true));
    until_so(|| world.trials() == 4).await;
    world.change(|server| server.refuse_tokens(false));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((world.trials(), issued(&engine).await), (6, before), "once more, half a minute later");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_was_lost_is_tried_as_soon_as_it_is_reached_again() {
    let (world, _engine) = all_issued().await;
    let cluster = world.fleet.cluster(&cluster_id(1)).unwrap();
    for trials in [4, 4] {
        cluster.set_link(Link::Cut);
        tokio::time::sleep(Duration::from_secs(5)).await;
        cluster.set_link(Link::Up);
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(world.trials(), trials, "not each time that it is reached");
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_its_cluster_refuses_is_not_issued_until_the_authority_is_mended() {
    let world = World::new(1);
    world.change(|server| server.set_client_authority(Some(Arc::new(Authority::new("another")))));
    let engine = world.keys_engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let stuck = until(&engine, |status| status.progress == Progress::Stuck).await;
    let refused = cause(&stuck, "developer").unwrap();
    assert_eq!(refused.reason, Reason::NotAccepted);
    assert!(refused.message.contains("--client-ca-file") && refused.next_try.is_some(), "{refused:?}");
    assert_eq!(
        (state(&stuck, "developer"), state(&stuck, "ci")),
        (RequestState::Pending, RequestState::Issued)
    );
    assert_eq!(tried(&engine, "developer").await, None, "nothing is there to be handed out");

    tokio::time::sleep(Duration::from_secs(45 * 60)).await;
    let (trials, approved) = (world.trials(), world.requests(|log| log.count(Verb::Approve)));
    assert!((3..20).contains(&trials), "another one is tried, and not in haste: {trials}");
    assert!((3..20).contains(&approved), "each time another certificate: {approved}");

    world.change(|server| server.set_client_authority(None));
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let status = until(&engine, |status| status.progress == Progress::Done).await;
    assert_eq!(state(&status, "developer"), RequestState::Issued);
    assert_eq!(tried(&engine, "developer").await, Some(true));
    let metrics = engine.metrics().await.unwrap();
    let asked = &metrics.requests[&cluster_id(1)];
    let (accepted, refused) = (asked[&(Asked::Try, Code::Success)], asked[&(Asked::Try, Code::Status(401))]);
    assert_eq!(accepted + refused, world.trials(), "{asked:?}");
    assert!(accepted >= 2 && refused >= approved, "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_its_cluster_refuses_is_not_issued_and_another_one_is_asked_for() {
    let world = World::new(1);
    world.change(|server| server.refuse_tokens(true));
    let engine = world.keys_engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let stuck = until(&engine, |status| status.progress == Progress::Stuck).await;
    let refused = cause(&stuck, "ci").unwrap();
    assert_eq!(refused.reason, Reason::NotAccepted);
    assert!(refused.message.contains("--service-account-key-file"), "{refused:?}");
    assert_eq!(tried(&engine, "ci").await, None);
    world.change(|server| server.refuse_tokens(false));
    until(&engine, |status| status.progress == Progress::Done).await;
    assert_eq!(tried(&engine, "ci").await, Some(true));
    assert!(world.requests(|log| log.count(Verb::IssueToken)) < 20);
}

#[tokio::test(start_paused = true)]
async fn a_certificate_whose_key_the_user_keeps_is_issued_untried() {
    let world = World::new(1);
    let engine = world.engine();
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    done(&engine, &context_id()).await;
    assert_eq!((tried(&engine, "developer").await, tried(&engine, "ci").await), (Some(false), Some(true)));
    assert_eq!(world.trials(), 1, "the token");
    let metrics = engine.metrics().await.unwrap();
    assert_eq!(metrics.requests[&cluster_id(1)][&(Asked::Try, Code::Unasked)], 1);
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_not_issued_untried_because_its_key_can_not_be_read() {
    let world = World::new(1);
    let keys = Arc::new(Keys { is_away: AtomicBool::new(true) });
    let engine = world.engine_with_keys(keys.clone());
    engine.contexts().apply(&context(steps(), [1])).await.unwrap();
    let status = until(&engine, |status| cause(status, "developer").is_some()).await;
    let unread = cause(&status, "developer").unwrap();
    assert_eq!(unread.reason, Reason::Retrying);
    assert!(unread.message.contains("private key"), "{unread:?}");
    assert_eq!(tried(&engine, "developer").await, None);
    keys.is_away.store(false, Ordering::Relaxed);
    done(&engine, &context_id()).await;
    assert_eq!(tried(&engine, "developer").await, Some(true));
}
