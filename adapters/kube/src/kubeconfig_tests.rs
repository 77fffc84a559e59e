use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

/// A kubeconfig with these lines in its cluster, its user and at its end.
fn with(cluster: &str, user: &str, end: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: main\n\
         contexts:\n- name: main\n  context: {{cluster: c, user: u}}\n- name: other\n  context: {{cluster: c, user: other}}\n\
         clusters:\n- name: c\n  cluster:\n    server: https://127.0.0.1:6443\n{cluster}\
         users:\n- name: other\n  user: {{exec: {{command: evil}}}}\n- name: u\n  user:\n    username: ann\n{user}{end}"
    )
}

fn refusal(text: &str, allowed: &Allowed) -> String {
    check(&Secret::new(text), allowed).expect_err(text).to_string()
}

fn naming(command: &str) -> Allowed {
    Allowed { exec_commands: Commands::Named(BTreeSet::from([command.to_owned()])), ..Allowed::default() }
}

#[test]
fn what_the_current_context_does_not_use_does_not_matter_and_is_not_kept() {
    let checked = check(&Secret::new(with("", "", "")), &Allowed::default()).unwrap();
    assert_eq!(checked.server(), "https://127.0.0.1:6443");
    assert_eq!(checked.kubeconfig.auth_infos.len(), 1);
    assert_eq!(checked.kubeconfig.contexts.len(), 1);
    assert_eq!(format!("{checked:?}"), "Checked(https://127.0.0.1:6443)");
}

#[test]
fn what_reaches_beyond_the_text_is_refused_unless_allowed() {
    let files = Allowed { files: true, ..Allowed::default() };
    let insecure = Allowed { insecure: true, ..Allowed::default() };
    let proxy = Allowed { proxy: true, ..Allowed::default() };
    // (line in the cluster, line in the user, what allows it, the refusal)
    let table = [
        (
            "    certificate-authority: /etc/passwd\n",
            "",
            &files,
            "clusters[].cluster.certificate-authority: names a file, which is not allowed",
        ),
        (
            "",
            "    client-certificate: /etc/passwd\n    client-key: /etc/passwd\n",
            &files,
            "users[].user.client-certificate: names a file, which is not allowed",
        ),
        (
            "",
            "    tokenFile: /etc/passwd\n",
            &files,
            "users[].user.tokenFile: names a file, which is not allowed",
        ),
        (
            "",
            "    client-key: /etc/passwd\n",
            &files,
            "users[].user.client-key: names a file, which is not allowed",
        ),
        (
            "",
            "    exec: {command: aws, args: [a]}\n",
            &naming("aws"),
            "users[].user.exec: runs a program that is not allowed",
        ),
        (
            "    insecure-skip-tls-verify: true\n",
            "",
            &insecure,
            "clusters[].cluster.insecure-skip-tls-verify: is not allowed",
        ),
        (
            "    proxy-url: http://127.0.0.1:3128\n",
            "",
            &proxy,
            "clusters[].cluster.proxy-url: is not allowed",
        ),
    ];
    for (cluster, user, allows, expected) in table {
        let text = with(cluster, user, "").replace("    username: ann\n", "");
        assert_eq!(refusal(&text, &Allowed::default()), expected);
        assert!(check(&Secret::new(&*text), allows).is_ok(), "{expected}");
        assert!(check(&Secret::new(&*text), &Allowed::everything()).is_ok(), "{expected}");
    }
}

#[test]
fn a_program_that_is_allowed_by_name_is_held_to_it() {
    // (the exec, the refusal when only `aws` is allowed)
    let table = [
        ("{command: /tmp/aws}", "users[].user.exec: runs a program that is not allowed"),
        ("{args: [aws]}", "users[1].user.exec.command: must be set"),
        (
            "{command: aws, env: [{name: LD_PRELOAD, value: /tmp/x}]}",
            "users[].user.exec.env: is not allowed for a program that is allowed by name",
        ),
    ];
    for (exec, expected) in table {
        assert_eq!(refusal(&with("", &format!("    exec: {exec}\n"), ""), &naming("aws")), expected);
    }
    let text = with("", "    exec: {command: aws, env: [], interactiveMode: Always}\n", "");
    let checked = check(&Secret::new(text), &naming("aws")).unwrap();
    let user = checked.kubeconfig.auth_infos[0].auth_info.as_ref().unwrap();
    assert_eq!(user.exec.as_ref().unwrap().interactive_mode, Some(ExecInteractiveMode::Never));
}

#[test]
fn an_auth_provider_needs_leave_to_run_anything() {
    let text = with("", "    auth-provider: {name: gcp, config: {cmd-path: /bin/sh}}\n", "");
    let expected = "users[].user.auth-provider: may run a program, which is not allowed";
    assert_eq!(refusal(&text, &naming("/bin/sh")), expected);
    assert!(check(&Secret::new(text), &Allowed::everything()).is_ok());
}

#[test]
fn what_is_ambiguous_or_missing_is_refused_whatever_is_allowed() {
    let base = with("", "", "");
    let table = [
        (base.replace("current-context: main\n", ""), "current-context: must name a context"),
        (
            base.replace("current-context: main", "current-context: ''"),
            "current-context: must name a context",
        ),
        (
            base.replace("current-context: main", "current-context: x"),
            "current-context: names a context that is not there",
        ),
        (
            base.replace("- name: other\n  context", "- name: main\n  context"),
            "contexts[1].name: must be a name that no other entry of the list has",
        ),
        (
            base.replace("cluster: c,", "cluster: x,"),
            "contexts[].context.cluster: names a cluster that is not there",
        ),
        (base.replace("user: u}", "user: x}"), "contexts[].context.user: names a user that is not there"),
        (
            base.replace("- name: other\n  user", "- name: u\n  user"),
            "users[1].name: must be a name that no other entry of the list has",
        ),
        (
            base.replace("users:\n", "- name: c\n  cluster: {server: 'https://evil'}\nusers:\n"),
            "clusters[1].name: must be a name that no other entry of the list has",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(refusal(&text, &Allowed::everything()), expected);
    }
}

#[test]
fn the_server_must_be_an_https_url() {
    let rule = "clusters[].cluster.server: must be the https:// URL of an API server";
    for server in
        ["", "127.0.0.1:6443", "ftp://a", "file:///etc/passwd", "unix:/run/x", "https://", "http://a"]
    {
        let text = with("", "", "").replace("https://127.0.0.1:6443", &format!("'{server}'"));
        assert_eq!(refusal(&text, &Allowed::default()), rule, "{server}");
    }
    let text = with("", "", "").replace("https://", "https://n:hunter2@");
    let expected = "clusters[].cluster.server: must not hold a user name or password";
    assert_eq!(refusal(&text, &Allowed::everything()), expected);
    let text = with("", "", "").replace("https://127", "http://127");
    assert!(check(&Secret::new(text), &Allowed { insecure: true, ..Allowed::default() }).is_ok());
}

#[test]
fn what_is_malformed_is_refused_by_place_and_without_its_content() {
    let malformed = "it is not one well-formed kubeconfig";
    let table = [
        (with("", "    token: [hunter2]\n", ""), "users[1].user.token: must be a text"),
        (with("", "    token: 815\n", ""), "users[1].user.token: must be a text: put it in quotes"),
        ("hunter2: [".to_owned(), malformed),
        ("hunter2".to_owned(), malformed),
        (
            with("", &format!("    as: {}\n", "[".repeat(100) + &"]".repeat(100)), ""),
            "it must be nested at most 64 deep",
        ),
    ];
    for (text, expected) in table {
        let refusal = refusal(&text, &Allowed::everything());
        assert!(refusal.ends_with(expected), "{refusal}");
        assert!(!refusal.contains("hunter"), "{refusal}");
    }
    let huge = with("", "", &format!("# {}\n", "x".repeat(KUBECONFIG_BYTES_MAX)));
    assert_eq!(refusal(&huge, &Allowed::everything()), "it is larger than 262144 bytes");
}

#[test]
fn a_bomb_of_aliases_is_refused() {
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = format!("*a{}, ", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", below.trim_end_matches(", ")));
    }
    let refusal = refusal(&with("", "", &bomb), &Allowed::everything());
    assert!(refusal.ends_with("it must have aliases (*…) for at most 10000 nodes in all"), "{refusal}");
}

#[test]
fn an_empty_field_is_an_absent_one_wherever_it_is() {
    let cluster = "    tls-server-name: ''\n    certificate-authority: ''\n    certificate-authority-data: ''\n    proxy-url: ''\n";
    let user = "    tokenFile: ''\n    client-certificate: ''\n    client-certificate-data: ''\n    client-key: ''\n    client-key-data: ''\n    \
                token: t\n    as: ''\n    as-groups: []\n    as-user-extra: {}\n    exec: null\n    auth-provider: null\n";
    let empty = with(cluster, user, "").replace("    username: ann\n", "    username: ''\n");
    for text in
        [empty.clone(), empty.replace("''", "null"), empty.replace("''", "~"), empty.replace("''", "")]
    {
        let checked = check(&Secret::new(text), &Allowed::default()).unwrap();
        let cluster = checked.kubeconfig.clusters[0].cluster.as_ref().unwrap();
        let user = checked.kubeconfig.auth_infos[0].auth_info.as_ref().unwrap();
        assert_eq!((&cluster.tls_server_name, &cluster.certificate_authority_data), (&None, &None));
        assert!(user.token_file.is_none() && user.client_certificate_data.is_none() && user.token.is_some());
        assert!(user.impersonate.is_none() && user.impersonate_groups.is_none() && user.username.is_none());
    }
}

#[test]
fn a_key_without_a_certificate_is_not_used() {
    let text = with("", "    client-key-data: QUJD\n", "");
    let checked = check(&Secret::new(text), &Allowed::default()).unwrap();
    assert!(checked.kubeconfig.auth_infos[0].auth_info.as_ref().unwrap().client_key_data.is_none());
}

/// A certificate and its key, as PEM.
fn identity(name: &str) -> (String, String) {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

#[test]
fn certificates_and_keys_are_found_as_go_finds_them() {
    let encoded = |pem: &str| {
        let base64 = STANDARD.encode(pem);
        let lines: Vec<_> = base64.as_bytes().chunks(60).map(String::from_utf8_lossy).collect();
        lines.join("\n      ")
    };
    let (certificate, key) = identity("one");
    let bad = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
    let parameters = "-----BEGIN EC PARAMETERS-----\nQUJD\n-----END EC PARAMETERS-----\n";
    let authorities = format!("subject\n{certificate}{bad}{}", identity("two").0);
    let given = |authorities: &str, certificate: &str, key: &str| {
        let [authorities, certificate, key] = [authorities, certificate, key].map(encoded);
        let cluster = format!("    certificate-authority-data: |\n      {authorities}\n");
        let user = format!(
            "    client-certificate-data: |\n      {certificate}\n    client-key-data: |\n      {key}\n"
        );
        check(&Secret::new(with(&cluster, &user, "")), &Allowed::default())
    };
    let checked =
        given(&authorities, &format!("text\n{certificate}"), &format!("{parameters}{}", key.trim_end()))
            .unwrap();
    let decoded = |data: &str| String::from_utf8(STANDARD.decode(data).unwrap()).unwrap();
    let cluster = checked.kubeconfig.clusters[0].cluster.as_ref().unwrap();
    let used = decoded(cluster.certificate_authority_data.as_ref().unwrap());
    assert_eq!((used.matches("BEGIN").count(), used.contains("subject")), (2, false));
    let user = checked.kubeconfig.auth_infos[0].auth_info.as_ref().unwrap();
    assert!(decoded(user.client_certificate_data.as_ref().unwrap()).starts_with("-----BEGIN"));
    let other = identity("two").1;
    for (authorities, key, refused) in [
        (bad, &key, "clusters[].cluster.certificate-authority-data: must be base64 of certificates in PEM"),
        (&*authorities, &other, "users[].user.client-key-data: must be the key of client-certificate-data"),
        (&*authorities, &certificate, "users[].user.client-key-data: must be base64 of a private key in PEM"),
    ] {
        assert_eq!(given(authorities, &certificate, key).unwrap_err().to_string(), refused);
    }
}
