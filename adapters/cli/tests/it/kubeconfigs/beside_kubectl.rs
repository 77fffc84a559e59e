//! Each case is tried by kubectl, by `dcm cluster add`, and as a server reads it.

use std::process::{Command, Stdio};

use dcm_core::app_context::Generation;
use dcm_core::port::cluster::{Call, Cluster as _, Fence};
use dcm_core::secret::Secret;
use dcm_core::service::Registration;
use dcm_kube::kubeconfig::Allowed;
use dcm_kube::{KubeCluster, Options};
use dcm_sync::engine;
use dcm_testenv::Environment;

use super::kit::{Case, Kit};
use super::{cluster_fields, files, page, user_fields};
use crate::common::{Ran, User};

/// So many files are tried at least.
const CASES_MIN: usize = 60;

fn cases(kit: &Kit) -> Vec<Case> {
    [user_fields::cases(kit), cluster_fields::cases(kit), files::cases(kit)].into_iter().flatten().collect()
}

/// Who asked the API server with it; none where it is of no use.
fn by_kubectl(environment: &Environment, user: &User, file: &str) -> Result<(), String> {
    let mut kubectl = Command::new(environment.kubectl());
    kubectl.env_clear().env("HOME", user.home()).env("USER", "ann").arg("--kubeconfig").arg(file);
    kubectl.args(["get", "--raw", "/api/v1/namespaces/kube-system"]).stdin(Stdio::null());
    let ran = Ran::of(kubectl.output().unwrap());
    if ran.code == 0 { Ok(()) } else { Err(ran.err) }
}

fn by_command(user: &User, file: &str) -> Result<(), String> {
    let ran = user.run(["cluster", "add", "real/probe", "--kubeconfig", file]);
    if ran.code != 0 {
        return Err(ran.err);
    }
    user.run(["cluster", "remove", "real/probe"]).done();
    Ok(())
}

/// As a server reads the text of a registration.
async fn by_server(text: &[u8]) -> Result<(), String> {
    let text = dcm_core::kubeconfig::decode(text.to_vec()).map_err(|invalid| invalid.to_string())?;
    let registration = Registration::new("real/probe".parse().unwrap(), text.clone());
    registration.check().map_err(|refused| refused.to_string())?;
    dcm_kube::kubeconfig::check(&text, &Allowed::default()).map_err(|refused| refused.to_string())?;
    connect(&text).await
}

async fn connect(text: &Secret) -> Result<(), String> {
    let cluster = KubeCluster::connect(text, &Options::default()).await.map_err(|error| error.to_string())?;
    let call = Call {
        owner: engine::Options::default().owner,
        context: None,
        generation: Generation::default(),
        fence: Fence::default(),
    };
    cluster.uid(&call).await.map(drop).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kubeconfig_works_as_it_does_for_kubectl_or_differs_for_a_reason_that_is_written_down() {
    let environment = Environment::group("kubeconfigs", 1).await.unwrap();
    let user = User::new();
    let kit = Kit::new(&environment, &user);
    let cases = cases(&kit);
    assert!(cases.len() >= CASES_MIN, "{}", cases.len());
    let mut wrong = Vec::new();
    for Case { field, has, text, works, why } in &cases {
        let file = user.home().join("tried");
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let found = [by_kubectl(&environment, &user, file), by_command(&user, file), by_server(text).await];
        if found.each_ref().map(Result::is_ok) != *works {
            wrong.push(format!("{field}: {has}: {found:#?}"));
        }
        let differs = works.iter().any(|each| each != &works[0]);
        assert_eq!(differs, !why.is_empty(), "{field}: {has}: {why}");
        for refused in found.iter().skip(1).filter_map(|found| found.as_ref().err()) {
            let shown = refused.contains(&kit.token) || refused.contains(kit.key.lines().nth(1).unwrap());
            assert!(!shown, "{field}: {has}");
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    page::compare(&cases);
}
