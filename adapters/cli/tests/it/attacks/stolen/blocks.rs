//! The guard's verdict on PEM texts with several blocks, headers and damage, against the certificate that the cluster's signer issues for each.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::common::fed;

/// How many texts are tried.
const TEXTS: usize = 500;

/// The label of all requests of this test.
const LABEL: &str = "stolen-blocks";

/// A user whose certificate the engine may not have.
const BOSS: &str = "boss-of-all";

const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const END: &str = "-----END CERTIFICATE REQUEST-----";

/// What a block has in its body, behind all that the guard reads of it, or instead of its end.
const DAMAGES: [&str; 10] = ["", "", "", "!", "=", "-", "\r", " \n", "\n\na: b\n", "\n\n"];

const LEADS: [&str; 6] = ["", "", "", "", "\n", "a text\n"];
const HEADERS: [&str; 5] = ["", "", "", "", "Proc-Type: 4\n\n"];
const LAST_LINES: [&str; 6] = [END, END, END, END, "-----END CERTIFICATE-----", ""];
const FILLERS: [&str; 6] = ["\n", "\n", "\nx", "\nxx\n", "", "\n\n"];
const TAILS: [&str; 5] = ["", "", "", "\n", "x"];

/// The same numbers on every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// The lines between the first and the last of the PEM of a request for a certificate of this user.
fn body(user: &str) -> String {
    let request = request("any", &[(DnType::CommonName, user)]);
    let pem = STANDARD.decode(request["spec"]["request"].as_str().unwrap()).unwrap();
    let pem = String::from_utf8(pem).unwrap();
    let lines = pem.lines().filter(|line| !line.starts_with('-'));
    lines.collect::<Vec<_>>().join("\n")
}

/// A text with one block or two, whole or broken.
fn text(draw: &mut Draw, bodies: &[String; 2]) -> String {
    let mut first = bodies[usize::from(draw.below(4) == 0)].clone();
    // The subject is in the first 168 bytes, which are 224 characters; the guard reads 240.
    let at = 250 + draw.below(first.len() - 250);
    first.insert_str(at, draw.one(&DAMAGES));
    let begin = format!("{}{BEGIN}\n{}", draw.one(&LEADS), draw.one(&HEADERS));
    let mut text = format!("{begin}{first}\n{}", draw.one(&LAST_LINES));
    if draw.below(2) == 0 {
        let second = &bodies[draw.below(2)];
        let place = if draw.below(3) == 0 { begin.len() + at } else { text.len() };
        text.insert_str(place, &format!("{}{BEGIN}\n{second}\n{END}", draw.one(&FILLERS)));
    }
    text.push('\n');
    text.push_str(draw.one(&TAILS));
    if draw.below(12) == 0 { text.replace('\n', "\r\n") } else { text }
}

/// Texts whose first line is a header for Go's parser, by a colon behind what the guard reads; the body that it decodes comes after that.
fn behind_headers(bodies: &[String; 2]) -> Vec<String> {
    let [user, boss] = bodies;
    let line: String = user.lines().collect();
    let ends = [":", ":\n", "::: a:", "AAAA: b"];
    let lengths = [239, 240, 241, 300];
    let texts = lengths.iter().flat_map(|length| ends.map(|end| format!("{}{end}", &line[..*length])));
    texts.map(|header| format!("{BEGIN}\n{header}\n{boss}\n{END}\n")).collect()
}

/// True for one block from the first byte to the last, whose body begins with a line of base64 that the guard reads whole.
fn is_one_block(text: &str) -> bool {
    let body =
        text.strip_prefix(&format!("{BEGIN}\n")).and_then(|rest| rest.strip_suffix(&format!("\n{END}\n")));
    body.is_some_and(|body| {
        let read = &body.as_bytes()[..240.min(body.len())];
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/\n".contains(byte);
        !body.contains('-') && read.contains(&b'\n') && read.iter().all(is_base64)
    })
}

fn asked(number: usize, text: &str) -> Value {
    let mut request = request(&format!("dcm-blocks-{number:03}"), &[(DnType::CommonName, USER)]);
    request["spec"]["request"] = STANDARD.encode(text).into();
    request["metadata"]["labels"]["test"] = LABEL.into();
    request
}

/// The names of objects that kubectl says it has created.
fn created(out: &str) -> BTreeSet<String> {
    let name =
        |line: &str| Some(line.split_once(".certificates.k8s.io/")?.1.split_once(" created")?.0.to_owned());
    out.lines().filter_map(name).collect()
}

/// Has the cluster's signer issue all these requests. Returns the certificates in DER, in which names of subjects are plain text.
async fn issued(cluster: &Cluster, names: &BTreeSet<String>) -> BTreeMap<String, Vec<u8>> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    kubectl(cluster, &[&["certificate", "approve"][..], &names].concat());
    until("certificates", async || {
        let label = format!("test={LABEL}");
        let listed = kubectl(cluster, &["get", "certificatesigningrequests", "-l", &label, "-o", "json"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let certificate = |request: &Value| {
            let pem = STANDARD.decode(request["status"]["certificate"].as_str()?).unwrap();
            let pem = String::from_utf8(pem).unwrap();
            let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
            Some((request["metadata"]["name"].as_str()?.to_owned(), STANDARD.decode(body).unwrap()))
        };
        let all: BTreeMap<_, _> =
            listed["items"].as_array().unwrap().iter().filter_map(certificate).collect();
        (all.len() == names.len()).then_some(all)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guard_and_the_signer_agree_on_which_requests_are_for_users_of_logical_clouds() {
    let environment = environment().await;
    let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let thief = Thief::with(&environment, "standard", LABEL.to_owned(), &everything).await;
    let bodies = [body(USER), body(BOSS)];
    let mut draw = Draw(1);
    let mut texts: Vec<String> = (0..TEXTS).map(|_| text(&mut draw, &bodies)).collect();
    let headers = behind_headers(&bodies);
    let headers_begin = texts.len();
    texts.extend(headers);
    let all: Vec<Value> = texts.iter().enumerate().map(|(number, text)| asked(number, text)).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": all});
    let passed = created(&thief.attacker.kubectl(&TRY, &list).out);
    let read = fed(thief.cluster.kubectl().args(CREATE), &list.to_string());
    let read = created(&read.out);
    let issued = issued(thief.cluster, &read).await;
    let names =
        |certificate: &[u8], user: &str| certificate.windows(user.len()).any(|part| part == user.as_bytes());
    let mut seen = BTreeMap::new();
    for (number, text) in texts.iter().enumerate() {
        let name = format!("dcm-blocks-{number:03}");
        let passes = passed.contains(&name);
        let verdict = match issued.get(&name) {
            None => "no user",
            Some(certificate) if names(certificate, BOSS) => "the boss",
            Some(certificate) => {
                assert!(names(certificate, USER), "{text}");
                "a user"
            }
        };
        let is_wanted = verdict == "a user" && is_one_block(text);
        assert_eq!(passes, is_wanted, "issued for {verdict}:\n{text}");
        assert!(number < headers_begin || verdict == "the boss", "issued for {verdict}:\n{text}");
        *seen.entry((passes, verdict)).or_insert(0) += 1;
    }
    // Each case is among the texts: one that passes, one for which the boss gets a certificate, and one that the signer can't read.
    assert!(
        [(true, "a user"), (false, "the boss"), (false, "no user")]
            .iter()
            .all(|case| seen.get(case) > Some(&20)),
        "{seen:?}"
    );
    let label = format!("test={LABEL}");
    kubectl(thief.cluster, &["delete", "certificatesigningrequests", "-l", &label, "--wait=false"]);
}
