use super::*;

/// A kubeconfig with these lines in its cluster, its user and at its end.
fn with(cluster: &str, user: &str, end: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: main\n\
         contexts:\n- name: main\n  context: {{cluster: c, user: u}}\n- name: other\n  context: {{cluster: c, user: other}}\n\
         clusters:\n- name: c\n  cluster:\n    server: https://127.0.0.1:6443\n{cluster}\
         users:\n- name: other\n  user: {{exec: {{command: evil}}}}\n- name: u\n  user:\n    username: n\n{user}{end}"
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
            "    client-certificate: /etc/passwd\n",
            &files,
            "users[].user.client-certificate: names a file, which is not allowed",
        ),
        (
            "",
            "    tokenFile: /etc/passwd\n",
            &files,
            "users[].user.tokenFile: names a file, which is not allowed",
        ),
        ("", "    client-key: ''\n", &files, "users[].user.client-key: names a file, which is not allowed"),
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
        let text = with(cluster, user, "");
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
        ("{args: [aws]}", "users[].user.exec: runs a program that is not allowed"),
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
            "contexts[]: is there more than once under this name",
        ),
        (
            base.replace("cluster: c,", "cluster: x,"),
            "contexts[].context.cluster: names a cluster that is not there",
        ),
        (base.replace("user: u}", "user: x}"), "contexts[].context.user: names a user that is not there"),
        (
            base.replace("- name: other\n  user", "- name: u\n  user"),
            "users[]: is there more than once under this name",
        ),
        (
            base.replace("users:\n", "- name: c\n  cluster: {server: 'https://evil'}\nusers:\n"),
            "clusters[]: is there more than once under this name",
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
        (with("", "", "---\ncurrent-context: other\n"), malformed),
        (with("", "    token: [hunter2]\n", ""), malformed),
        (with("", "    token: hunter2\n    token: hunter3\n", ""), "it has a key twice"),
        ("hunter2: [".to_owned(), malformed),
        ("hunter2".to_owned(), malformed),
        (with("", &format!("    as: {}\n", "[".repeat(10_000)), ""), malformed),
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
