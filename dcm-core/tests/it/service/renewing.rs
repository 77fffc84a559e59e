//! Renewing credentials.

use std::collections::BTreeMap;

use dcm_core::kubeconfig::Credential;
use dcm_core::logical_cloud::Serial;
use dcm_core::manifest::ObjectKey;
use dcm_core::name::UserName;
use dcm_core::pki::SystemKeys;
use dcm_core::port::clock::{Clock as _, Random as _};
use dcm_core::port::key_source::KeySource as _;
use dcm_core::port::synchronizer::{Error as Failure, STOP_LIMIT};
use dcm_core::service::{Agenda, ApplyOutcome, Error, News, Renewed};
use dcm_core::status::{Cause, Reason};
use futures::future::join;
use serde_json::json;

use crate::service::support::{World, cluster, draft, name, permission, seconds_from_now, user};

/// The usual cloud, with certificates and tokens that were issued in the first moment and live for 600 seconds.
async fn short_lived() -> World {
    World::with_credentials(600, 600).await
}

fn steps(world: &World, cluster_name: &str) -> Vec<String> {
    let requests = world.engine.only().requests(&cluster(cluster_name));
    requests.into_iter().map(|(name, _)| name.to_string()).collect()
}

async fn renew(world: &World) -> BTreeMap<UserName, Serial> {
    world.clouds.renew(&world.caller, &world.project, &name("shop"), None).await.unwrap().users
}

fn both(serial: u32) -> BTreeMap<UserName, Serial> {
    BTreeMap::from([(name("ann"), Serial(serial)), (name("bot"), Serial(serial))])
}

/// What a user shows to a cluster.
async fn shown(world: &World, user: &str, reference: &str) -> Credential {
    let (user, reference) = (name(user), name(reference));
    let clouds = &world.clouds;
    let found = clouds.kubeconfigs(&world.project, &name("shop"), Some(&user), Some(&reference)).await;
    found.unwrap().access.clusters[&reference].credential.clone()
}

async fn token(world: &World, reference: &str) -> String {
    let Credential::Token(token) = shown(world, "bot", reference).await else {
        panic!("a token is expected")
    };
    token.expose().to_owned()
}

/// The certificate of ann, and which of the keys that were made goes with it.
async fn certificate(world: &World, reference: &str) -> (String, usize) {
    let Credential::Certificate { certificate, key: Some(key) } = shown(world, "ann", reference).await else {
        panic!("a certificate with its key is expected")
    };
    let made = world.keys.made.lock().unwrap();
    (certificate, made.iter().position(|(_, made)| made.key == key).unwrap())
}

/// What one round of all clouds tells, and how many seconds later the next one is to be.
async fn round(world: &World, agenda: &mut Agenda) -> (Vec<String>, u64) {
    let round = world.clouds.tend(&world.caller, agenda).await.unwrap();
    let told = round.events.into_iter().map(|event| match event.what {
        News::Renewed(Renewed { users, .. }) => format!("{} renewed", users.len()),
        News::Ending(user, ending) => format!("{user} ends at {} on {}", ending.at, ending.clusters),
        News::Deleted => "deleted".to_owned(),
        News::Failed(error) => format!("failed: {error}"),
    });
    let wait = round.next.duration_since(world.clock.now()).as_secs();
    (told.collect(), u64::try_from(wait).unwrap())
}

/// Rounds as they are asked for, until one tells something; and when that was.
async fn until_told(world: &World, agenda: &mut Agenda, mut second: u64) -> (Vec<String>, u64) {
    loop {
        assert!(second < 100_000, "nothing is told");
        world.at_second(second);
        let (told, wait) = round(world, agenda).await;
        if !told.is_empty() {
            return (told, second);
        }
        second += wait;
    }
}

#[tokio::test]
async fn credentials_are_renewed_when_two_thirds_of_their_life_are_over_and_not_before() {
    let world = short_lived().await;
    world.at_second(399);
    assert_eq!(renew(&world).await, BTreeMap::new());
    // They are put off by a twelfth of the life at most.
    world.at_second(450);
    assert_eq!(renew(&world).await, both(2));
    assert_eq!(steps(&world, "one"), ["certificate/ann/1/2", "token/bot/1/2"]);
    let keys = world.keys.made.lock().unwrap();
    assert_eq!(keys[0].0, keys[1].0, "rights stay bound to the same name");
    assert_ne!(keys[0].1.key, keys[1].1.key);
}

#[tokio::test]
async fn a_renewal_brings_no_edit_to_clusters() {
    let world = short_lived().await;
    let before = world.engine.only().objects();
    let mut edited = draft();
    edited["spec"]["permissions"] = json!([permission("other")]);
    edited["spec"]["users"] = json!([user("eve")]);
    world.put(edited).await.unwrap();
    world.at_second(450);
    assert_eq!(renew(&world).await, both(2));
    assert_eq!(world.engine.only().objects(), before, "the frozen documents are applied again");
    let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
    assert!(status.is_edited);
}

#[tokio::test]
async fn an_apply_after_a_renewal_keeps_the_renewed_credentials() {
    let world = short_lived().await;
    world.at_second(450);
    renew(&world).await;
    assert_eq!(world.apply("shop").await.unwrap().outcome, ApplyOutcome::Unchanged);
    assert_eq!(steps(&world, "one"), ["certificate/ann/1/2", "token/bot/1/2"]);
}

#[tokio::test]
async fn each_cluster_gives_the_newer_credential_as_soon_as_it_has_it_and_the_earlier_one_until_then() {
    let world = short_lived().await;
    let (first, _) = certificate(&world, "r2").await;
    world.at_second(450);
    renew(&world).await;
    assert_eq!(certificate(&world, "r1").await.1, 0, "with the key that belongs to it");
    world.engine.issue_for(450..1050);
    world.engine.finish_in(&cluster("one"));
    assert_eq!(certificate(&world, "r1").await.1, 1);
    assert_eq!(certificate(&world, "r2").await, (first, 0));
    assert_eq!(token(&world, "r1").await, "token-of-token/bot/1/2");
    assert_eq!(token(&world, "r2").await, "token-of-token/bot/1/1");
}

#[tokio::test]
async fn a_cluster_that_issues_nothing_holds_up_no_renewal_elsewhere() {
    let world = short_lived().await;
    for serial in 2..7 {
        let time = u64::from(serial - 1) * 450;
        world.at_second(time);
        assert_eq!(renew(&world).await, both(serial));
        assert_eq!(renew(&world).await, BTreeMap::new(), "it is under way");
        world.engine.issue_for(time..time + 600);
        world.engine.finish_in(&cluster("one"));
        assert_eq!(certificate(&world, "r1").await.1, serial as usize - 1);
    }
    world.engine.finish_in(&cluster("two"));
    assert_eq!(certificate(&world, "r2").await.1, 5, "it comes back to the newest");
}

#[tokio::test]
async fn what_ended_before_it_was_renewed_is_renewed() {
    let world = short_lived().await;
    world.at_second(100_000);
    assert_eq!(renew(&world).await, both(2));
}

#[tokio::test]
async fn a_cluster_whose_clock_is_behind_is_not_asked_again_and_again() {
    let world = short_lived().await;
    world.at_second(450);
    assert_eq!(renew(&world).await, both(2));
    // What it issues now ends in a moment, by our clock.
    world.engine.issue_for(450..460);
    world.engine.finish();
    world.at_second(459);
    assert_eq!(renew(&world).await, BTreeMap::new());
    world.at_second(450 + 120);
    assert_eq!(renew(&world).await, both(3));
}

#[tokio::test]
async fn a_user_who_keeps_the_key_is_not_renewed_and_told_in_time() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let subject = world.clouds.subject(&world.project, &name("shop"), &name("ann")).await.unwrap();
    let mut own = draft();
    let request = SystemKeys.issue(&subject).unwrap().request;
    own["spec"]["users"] = json!([{"name": "ann", "csr": request, "lifetimeSeconds": 600}]);
    world.put(own).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.issue_for(0..600);
    world.engine.finish();
    world.at_second(450);
    assert_eq!(renew(&world).await, BTreeMap::new());
    let ann = name("ann");
    let renewed = world.clouds.renew(&world.caller, &world.project, &name("shop"), Some(&ann)).await;
    assert!(matches!(renewed, Err(Error::NeedsUser { user }) if user == ann));
    let (told, _) = round(&world, &mut Agenda::default()).await;
    assert_eq!(told, ["ann ends at 2026-06-01T00:10:00Z on 2"]);
}

#[tokio::test]
async fn one_user_is_renewed_on_demand() {
    let world = World::new(true).await;
    world.instantiated().await;
    let of = async |user: &str| {
        world.clouds.renew(&world.caller, &world.project, &name("shop"), Some(&name(user))).await
    };
    assert_eq!(of("bot").await.unwrap().users, BTreeMap::from([(name("bot"), Serial(2))]));
    assert_eq!(steps(&world, "one"), ["certificate/ann/1/1", "token/bot/1/2"]);
    assert_eq!(of("eve").await.unwrap_err().to_string(), "there is no user eve");
}

#[tokio::test]
async fn what_is_paused_or_being_taken_off_stays_so() {
    let world = short_lived().await;
    let mut edited = draft();
    edited["spec"]["quotas"] = json!([]);
    world.put(edited).await.unwrap();
    world.apply("shop").await.unwrap();
    world.clouds.stop(&world.caller, &world.project, &name("shop"), STOP_LIMIT).await.unwrap();
    world.at_second(450);
    world.engine.calls();
    assert_eq!(renew(&world).await, BTreeMap::new());
    world.terminate("shop").await.unwrap();
    assert_eq!(renew(&world).await, BTreeMap::new());
    assert_eq!(world.engine.calls(), ["look_again", "remove", "resume"]);
}

#[tokio::test]
async fn a_cloud_at_rest_is_not_looked_at_before_something_is_due() {
    let world = short_lived().await;
    let mut agenda = Agenda::default();
    assert_eq!(round(&world, &mut agenda).await, (vec![], 60));
    world.engine.reads();
    for second in [60, 120, 180, 240, 300, 360] {
        world.at_second(second);
        round(&world, &mut agenda).await;
    }
    assert_eq!(world.engine.reads(), Vec::<&str>::new());
    let (_, at) = until_told(&world, &mut agenda, 361).await;
    assert!((400..=450).contains(&at), "{at}");
}

#[tokio::test]
async fn a_round_sees_what_was_applied_since_and_what_was_issued_late() {
    let world = World::new(true).await;
    let mut agenda = Agenda::default();
    round(&world, &mut agenda).await;
    let mut draft = draft();
    draft["spec"]["users"][0]["lifetimeSeconds"] = 600.into();
    world.put(draft).await.unwrap();
    world.apply("shop").await.unwrap();
    round(&world, &mut agenda).await;
    world.engine.issue_for(30..630);
    world.engine.finish();
    let (_, at) = until_told(&world, &mut agenda, 60).await;
    assert!((430..=480).contains(&at), "{at}");
}

#[tokio::test]
async fn an_end_that_nothing_newer_comes_before_is_told_once() {
    let world = short_lived().await;
    let mut agenda = Agenda::default();
    world.at_second(450);
    round(&world, &mut agenda).await;
    let (told, at) = until_told(&world, &mut agenda, 455).await;
    let end = seconds_from_now(600);
    assert_eq!(told, [format!("ann ends at {end} on 2"), format!("bot ends at {end} on 2")]);
    assert!((500..600).contains(&at), "{at}");
    world.at_second(590);
    assert_eq!(round(&world, &mut agenda).await.0, Vec::<String>::new());
}

#[tokio::test]
async fn two_processes_renew_once() {
    let world = short_lived().await;
    world.at_second(450);
    let mut agendas = [Agenda::default(), Agenda::default()];
    let [one, other] = &mut agendas;
    let (one, other) = join(round(&world, one), round(&world, other)).await;
    assert_eq!([one.0, other.0].concat(), ["2 renewed"]);
    assert_eq!(steps(&world, "one"), ["certificate/ann/1/2", "token/bot/1/2"]);
}

#[tokio::test]
async fn a_renewal_that_the_synchronizer_never_took_is_finished_and_told_when_it_is_asked_for_again() {
    let world = short_lived().await;
    world.at_second(450);
    world.engine.fail_next(Failure::Contended { id: name("any") });
    let renewed = world.clouds.renew(&world.caller, &world.project, &name("shop"), None).await;
    assert!(renewed.unwrap_err().is_retryable());
    assert_eq!(renew(&world).await, both(2));
    assert_eq!(steps(&world, "one"), ["certificate/ann/1/2", "token/bot/1/2"]);
    assert_eq!(renew(&world).await, BTreeMap::new(), "it is under way");
}

#[tokio::test]
async fn the_status_tells_when_credentials_are_renewed_what_is_on_its_way_and_what_ends() {
    let world = short_lived().await;
    let ann = async || {
        let status = world.clouds.status(&world.project, &name("shop")).await.unwrap();
        serde_json::to_value(&status.credentials[&name("ann")]).unwrap()
    };
    let fresh = ann().await;
    let renewal: jiff::Timestamp = fresh["renewal"].as_str().unwrap().parse().unwrap();
    assert!((seconds_from_now(400)..=seconds_from_now(450)).contains(&renewal), "{fresh}");
    assert!(fresh["ending"].is_null(), "{fresh}");
    world.at_second(450);
    renew(&world).await;
    let on_its_way = ann().await;
    assert_eq!(on_its_way["serial"], 2);
    let one = &on_its_way["clusters"]["sim/one"];
    assert_eq!(
        (&one["state"], &one["serial"], &one["newer"]),
        (&json!("issued"), &json!(1), &json!("it is not issued yet"))
    );
    world.at_second(590);
    let ending =
        json!({"at": seconds_from_now(600), "cluster": "sim/one", "clusters": 2, "needsUser": false});
    assert_eq!(ann().await["ending"], ending);
}

#[tokio::test]
async fn another_type_of_key_is_another_credential_of_the_same_person_and_stays_over_renewals() {
    let world = short_lived().await;
    let key_type = async || {
        let documents = world.documents().await;
        documents["credentials/retail/shop/0000000000000001/ann"]["keyType"].clone()
    };
    assert_eq!(key_type().await, "ecdsa-p256");
    let mut with_rsa = draft();
    with_rsa["spec"]["users"][0]["key"] = "rsa-2048".into();
    world.put(with_rsa).await.unwrap();
    world.apply("shop").await.unwrap();
    assert_eq!(steps(&world, "one")[0], "certificate/ann/1/2");
    world.clouds.renew(&world.caller, &world.project, &name("shop"), Some(&name("ann"))).await.unwrap();
    assert_eq!((key_type().await, &*steps(&world, "one")[0]), (json!("rsa-2048"), "certificate/ann/1/3"));
    let keys = world.keys.made.lock().unwrap();
    let bytes: Vec<usize> = keys.iter().map(|(_, made)| made.key.expose().len()).collect();
    assert!(bytes[0] < 300 && bytes[1] > 1600 && bytes[2] > 1600, "{bytes:?}");
}

/// The name under which a user's certificate is asked for on clusters.
fn request_name(world: &World, step: &str) -> ObjectKey {
    let requests = world.engine.only().requests(&cluster("one"));
    let found = requests.into_iter().find(|(name, _)| &**name == step);
    found.unwrap_or_else(|| panic!("no step {step}")).1.object()
}

/// A cluster has an object of another client in the place of a request.
fn take_name(world: &World, object: &ObjectKey) {
    let message = "it asks for something else";
    let cause = Cause { object: Some(object.clone()), ..Cause::new(Reason::Foreign, message) };
    world.engine.blame(&cluster("one"), &cause);
}

#[tokio::test]
async fn a_request_whose_name_is_taken_on_a_cluster_is_made_again_under_another_name() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish_in(&cluster("two"));
    let first = request_name(&world, "certificate/ann/1/1");
    take_name(&world, &first);
    assert_eq!(renew(&world).await, BTreeMap::new(), "two renewals are not made at once");
    world.wait(120);
    assert_eq!(renew(&world).await, BTreeMap::from([(name("ann"), Serial(2))]));
    assert_ne!(request_name(&world, "certificate/ann/1/2"), first);
    assert_eq!(certificate(&world, "r2").await.1, 0, "what another cluster issued before is good");
}

/// What `ann`, who keeps the key, has on the second cluster.
async fn own_certificate(world: &World) -> String {
    let Credential::Certificate { certificate, key: None } = shown(world, "ann", "r2").await else {
        panic!("a certificate without its key is expected")
    };
    certificate
}

#[tokio::test]
async fn a_request_that_the_user_brought_gets_another_name_where_its_name_is_taken() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    let subject = world.clouds.subject(&world.project, &name("shop"), &name("ann")).await.unwrap();
    let mut own = draft();
    own["spec"]["users"][0]["csr"] = SystemKeys.issue(&subject).unwrap().request.into();
    world.put(own).await.unwrap();
    world.apply("shop").await.unwrap();
    world.engine.finish_in(&cluster("two"));
    let before = own_certificate(&world).await;
    let first = request_name(&world, "certificate/ann/1/1");
    take_name(&world, &first);
    world.wait(120);
    assert_eq!(renew(&world).await, BTreeMap::from([(name("ann"), Serial(2))]));
    assert_ne!(request_name(&world, "certificate/ann/1/2"), first);
    assert_eq!(own_certificate(&world).await, before);
}

#[tokio::test]
async fn an_object_of_another_client_that_is_no_request_renews_nothing() {
    let world = World::new(true).await;
    world.put(draft()).await.unwrap();
    world.apply("shop").await.unwrap();
    take_name(&world, &ObjectKey::new("".into(), "Namespace".into(), None, "shop-ns".into()));
    world.wait(120);
    assert_eq!(renew(&world).await, BTreeMap::new());
}

#[tokio::test]
async fn the_name_of_a_request_does_not_follow_from_the_names_of_others() {
    let (one, other) = (World::new(true).await, World::new(true).await);
    // Another draw before the credential is made: project, cloud, UID, user and number are the same.
    for (world, draws) in [(&one, 0), (&other, 1)] {
        world.put(draft()).await.unwrap();
        for _ in 0..draws {
            world.random.next();
        }
        world.apply("shop").await.unwrap();
    }
    let name = |world: &World| request_name(world, "certificate/ann/1/1").name.to_string();
    assert_ne!(name(&one), name(&other));
}
