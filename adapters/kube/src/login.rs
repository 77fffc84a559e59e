//! Users who log in by a program: `users[].user.exec`.
//!
//! kube would run the program on a thread for blocking work, where nothing ends it: one that hangs would keep the thread,
//! its own process and the end of ours, and with enough of them no name of a host could be looked up any more. Here it
//! runs as long as somebody waits for it, and no longer.

use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dcm_core::port::cluster::Error;
use dcm_core::yaml;
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::failure::unusable;

/// Longest answer of a program, in bytes. A token has a few KiB, a chain of certificates hardly more.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// How long before it expires a token is asked for anew: a request takes some time to arrive.
const RENEWAL_LEAD: SignedDuration = SignedDuration::from_secs(10);

const NO_CREDENTIAL: &str = "users[].user.exec: the program gave no credential";

/// A user who is logged in by a program, and is logged in again when the token expires.
pub(crate) struct Login {
    exec: ExecConfig,
    token: Mutex<Option<Token>>,
}

impl Login {
    /// Logs the user in, if it takes a program to do so. A certificate goes into the user's own fields; when it expires,
    /// the cluster says so, and another connection is made. A user with another credential needs no program.
    pub(crate) async fn begin(user: &mut AuthInfo) -> Result<Option<Self>, Error> {
        let has_identity = user.client_certificate_data.is_some() && user.client_key_data.is_some();
        let has_token = user.token.is_some() || user.token_file.is_some() || user.auth_provider.is_some();
        let needs_none = has_identity || has_token || user.username.is_some();
        let Some(exec) = user.exec.take().filter(|_| !needs_none) else { return Ok(None) };
        let credential = run(&exec).await?;
        if let Some((certificate, key)) = credential.identity {
            user.client_certificate_data = Some(STANDARD.encode(certificate));
            user.client_key_data = Some(STANDARD.encode(key).into());
        }
        Ok(Some(Self { exec, token: Mutex::new(credential.token) }))
    }

    /// The `Authorization` of a request that is sent now; none: the user is known by a certificate.
    pub(crate) async fn authorization(&self) -> Result<Option<HeaderValue>, Error> {
        let mut token = self.token.lock().await;
        if token.as_ref().is_some_and(|token| token.is_expiring(Timestamp::now())) {
            *token = run(&self.exec).await?.token;
        }
        Ok(token.as_ref().map(|token| token.header.clone()))
    }
}

struct Token {
    header: HeaderValue,
    expires: Option<Timestamp>,
}

impl Token {
    fn is_expiring(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now + RENEWAL_LEAD)
    }
}

/// What a program gave: one of these, or both.
struct Credential {
    token: Option<Token>,
    /// A chain of certificates and its key, in PEM.
    identity: Option<(String, String)>,
}

/// The form of a program's answer.
#[derive(Deserialize)]
struct Answer {
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    expiration_timestamp: Option<Timestamp>,
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
}

/// Runs the program. It is killed when nobody waits for this any more.
async fn run(exec: &ExecConfig) -> Result<Credential, Error> {
    let failed = |_| unusable("users[].user.exec: the program failed");
    let spawned = command(exec)?.spawn();
    let mut child = spawned.map_err(|_| unusable("users[].user.exec: the program can't be run"))?;
    let mut answer = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await.map_err(failed)?;
    }
    if !child.wait().await.map_err(failed)?.success() {
        return Err(unusable("users[].user.exec: the program failed"));
    }
    read(&answer)
}

/// What a program says is in no error: it may be the credential.
fn read(answer: &[u8]) -> Result<Credential, Error> {
    let no_credential = || unusable(NO_CREDENTIAL);
    // Some programs say it in YAML, and kubectl takes that too.
    let text = std::str::from_utf8(answer).map_err(|_| no_credential())?;
    let Answer { status } = yaml::read(text).map_err(|_| no_credential())?;
    let token = status.token.filter(|token| !token.is_empty());
    let token = token.map(|token| authorization(&token).ok_or_else(no_credential)).transpose()?;
    let token = token.map(|header| Token { header, expires: status.expiration_timestamp });
    let identity = status.client_certificate_data.zip(status.client_key_data);
    if token.is_none() && identity.is_none() {
        return Err(no_credential());
    }
    Ok(Credential { token, identity })
}

fn authorization(token: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::try_from(format!("Bearer {token}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

fn command(exec: &ExecConfig) -> Result<Command, Error> {
    let Some(program) = &exec.command else {
        return Err(unusable("users[].user.exec.command: must be set"));
    };
    let mut command = Command::new(program);
    command.args(exec.args.iter().flatten());
    for variable in exec.env.iter().flatten() {
        if let Some(name) = variable.get("name") {
            command.env(name, variable.get("value").map(String::as_str).unwrap_or_default());
        }
    }
    command.env("KUBERNETES_EXEC_INFO", information(exec));
    for name in exec.drop_env.iter().flatten() {
        command.env_remove(name);
    }
    // One that may ask its user has the terminal.
    let inherited = || if is_interactive(exec) { Stdio::inherit() } else { Stdio::null() };
    command.stdin(inherited()).stderr(inherited()).stdout(Stdio::piped()).kill_on_drop(true);
    Ok(command)
}

fn is_interactive(exec: &ExecConfig) -> bool {
    exec.interactive_mode != Some(ExecInteractiveMode::Never)
}

/// What a program is told of the cluster it is to give a credential for.
fn information(exec: &ExecConfig) -> String {
    let mut spec = json!({"interactive": is_interactive(exec)});
    if let Some(cluster) = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info) {
        spec["cluster"] = json!(cluster);
    }
    json!({"apiVersion": exec.api_version, "kind": "ExecCredential", "spec": spec}).to_string()
}
