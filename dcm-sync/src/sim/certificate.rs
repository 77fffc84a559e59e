//! CertificateSigningRequests: approval, the signer, and the cleaner that removes old ones.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::manifest::ObjectKey;
use dcm_core::port::cluster::{Error, Object, Precondition};
use jiff::Timestamp;
use serde_json::{Value, json};

use std::sync::Arc;

use super::kind::Kind;
use super::lifecycle::condition;
use super::object::{later, read_time, time};
use super::schedule::{Due, Task};
use super::server::{Server, locate};
use super::signer::{Refusal, Signer, SigningRequest};
use super::validation::{csr_pem, invalid};

/// The signer of client certificates for the API server: the only one that a simulated cluster has.
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Usages that this signer gives.
const CLIENT_USAGES: [&str; 3] = ["client auth", "digital signature", "key encipherment"];

/// Kubernetes' cleaner removes what was decided after this.
const DECIDED_KEPT: Duration = Duration::from_secs(3600);

/// Kubernetes' cleaner removes what nobody decided, or nobody signed, after this.
const PENDING_KEPT: Duration = Duration::from_secs(24 * 3600);

impl Server {
    /// Puts another signer in place; with none, approved requests stay without a certificate. A new one signs what is
    /// waiting.
    pub fn set_signer(&mut self, signer: Option<Arc<dyn Signer>>) {
        self.signer = signer;
        self.issue_waiting();
    }

    /// Sets whose certificates the API server accepts: another authority than the signer where somebody set the two up apart, or
    /// replaced one of them. None: the signer's.
    pub fn set_client_authority(&mut self, authority: Option<Arc<dyn Signer>>) {
        self.client_authority = authority;
    }

    /// Sees to it that what is approved gets signed.
    pub(super) fn issue_waiting(&mut self) {
        let waits =
            |object: &Object| condition(&object.body, "Approved").is_some() && !is_signed(&object.body);
        let waiting: Vec<Object> = self.objects().filter(waits).collect();
        for object in &waiting {
            self.schedule_issuing(object);
        }
    }

    pub(super) fn approve(&mut self, key: &ObjectKey, observed: &Precondition) -> Result<Object, Error> {
        let kind = Kind::named("CertificateSigningRequest");
        let (_, key) = locate(&kind.gvk, key)?;
        let stored = self.observed(&key, observed)?;
        let body = stored.state.body();
        if condition(&body, "Approved").is_some() {
            return Ok(stored.state.object());
        }
        if condition(&body, "Denied").is_some() {
            return Err(invalid("status.conditions: is denied already"));
        }
        let object = self.decide(&key, "Approved", "ApprovedByDcm", "approved for an app context")?;
        self.schedule_issuing(&object);
        Ok(object)
    }

    fn schedule_issuing(&mut self, object: &Object) {
        let due = Due { task: Task::Issue, key: object.key.clone(), uid: object.uid.clone() };
        self.schedule.add(later(self.now, self.settings.issuing), due);
    }

    /// Adds a condition.
    fn decide(&mut self, key: &ObjectKey, name: &str, reason: &str, message: &str) -> Result<Object, Error> {
        let stored = self.objects.get(key).ok_or(Error::NotFound)?;
        let (kind, mut body, owners) = (stored.state.kind, stored.state.body(), stored.owners.clone());
        let at = time(self.now);
        let condition = json!({
            "type": name, "status": "True", "reason": reason, "message": message,
            "lastUpdateTime": at, "lastTransitionTime": at,
        });
        match body["status"]["conditions"].as_array_mut() {
            Some(conditions) => conditions.push(condition),
            None => body["status"]["conditions"] = json!([condition]),
        }
        let object = self.put(kind, key.clone(), body, owners);
        self.schedule_cleaning(&object);
        Ok(object)
    }

    /// Signs an approved request, if there is a signer for it.
    pub(super) fn issue(&mut self, key: &ObjectKey) {
        let (Some(stored), Some(signer)) = (self.objects.get(key), self.signer.clone()) else {
            return;
        };
        let (kind, mut body, owners) = (stored.state.kind, stored.state.body(), stored.owners.clone());
        if is_signed(&body) || body["spec"]["signerName"] != CLIENT_SIGNER {
            return;
        }
        match signed(&*signer, &body["spec"], self.now, self.draw()) {
            Ok(certificate) => {
                body["status"]["certificate"] = STANDARD.encode(certificate).into();
                let object = self.put(kind, key.clone(), body, owners);
                self.schedule_cleaning(&object);
            }
            Err(refusal) => {
                let failed = self.decide(key, "Failed", "SignerValidationFailure", &refusal.message);
                debug_assert!(failed.is_ok(), "the request was there just now");
            }
        }
    }

    /// Sees to it that the cleaner looks at a request when its time is over.
    pub(super) fn schedule_cleaning(&mut self, object: &Object) {
        if &*object.kind.kind == "CertificateSigningRequest" {
            let at = self.schedule.cleaning_after(deadline(&object.body));
            self.schedule
                .add(at, Due { task: Task::Clean, key: object.key.clone(), uid: object.uid.clone() });
        }
    }

    pub(super) fn clean(&mut self, key: &ObjectKey) {
        // Another look was scheduled when its deadline changed.
        if self.objects.get(key).is_some_and(|stored| deadline(&stored.state.body()) < self.now) {
            let deleted = self.delete_now(key);
            debug_assert!(deleted.is_ok(), "the request was there just now");
        }
    }
}

fn is_signed(body: &Value) -> bool {
    body["status"]["certificate"].is_string()
}

/// Until when the cleaner keeps a request.
fn deadline(body: &Value) -> Timestamp {
    let decided = |name| condition(body, name).and_then(|condition| read_time(&condition["lastUpdateTime"]));
    let issued = if is_signed(body) { decided("Approved") } else { None };
    let created = || read_time(&body["metadata"]["creationTimestamp"]).unwrap_or(Timestamp::MAX);
    match issued.or_else(|| decided("Denied")).or_else(|| decided("Failed")) {
        Some(at) => later(at, DECIDED_KEPT),
        None => later(created(), PENDING_KEPT),
    }
}

fn signed(signer: &dyn Signer, spec: &Value, now: Timestamp, serial: u64) -> Result<String, Refusal> {
    let usages: Vec<&str> =
        spec["usages"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !usages.contains(&CLIENT_USAGES[0]) || !usages.iter().all(|usage| CLIENT_USAGES.contains(usage)) {
        return Err(Refusal { message: format!("usages {usages:?} are not those of a client") });
    }
    let csr_pem = csr_pem(spec).ok_or_else(|| Refusal { message: "no PKCS #10 request".into() })?;
    let seconds = spec["expirationSeconds"].as_u64();
    signer.sign(&SigningRequest {
        csr_pem: &csr_pem,
        lifetime: seconds.map(Duration::from_secs),
        now,
        serial,
    })
}
