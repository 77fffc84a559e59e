//! The fields of users.

use serde_json::json;

use super::kit::{Case, Kit, encoded, folded, identity, reads, same, wrapped};

pub(super) fn cases(kit: &Kit) -> Vec<Case> {
    [
        token(kit),
        token_file(kit),
        data(kit),
        pem(kit),
        beside(kit),
        impersonation(kit),
        programs(kit),
        providers(kit),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn token(kit: &Kit) -> Vec<Case> {
    const FIELD: &str = "`token`";
    let token = &kit.token;
    let of = |lines: &str| kit.file(&kit.cluster(), lines, "");
    let half = token.len() / 2;
    vec![
        same(FIELD, "a token", kit.with_token(""), true),
        same(FIELD, "null, beside a certificate", kit.with_certificate("token: null\n"), true),
        same(FIELD, "empty, beside a certificate", kit.with_certificate("token: ''\n"), true),
        same(FIELD, "nothing after the colon, beside a certificate", kit.with_certificate("token:\n"), true),
        same(FIELD, "a number without quotes (`0815`)", kit.with_certificate("token: 0815\n"), false),
        same(FIELD, "a number of YAML 1.1 (`0o17`, `1_000`)", kit.with_certificate("token: 1_000\n"), false),
        same(FIELD, "a boolean of YAML 1.1 (`yes`)", kit.with_certificate("token: yes\n"), false),
        same(FIELD, "a list", kit.with_certificate("token: [a]\n"), false),
        same(FIELD, "a text by its tag (`!!str`)", of(&format!("token: !!str {token}\n")), true),
        same(FIELD, "a tag that is not known (`!secret`)", of(&format!("token: !secret {token}\n")), true),
        same(FIELD, "a text by `!!binary`", of(&format!("token: !!binary {}\n", encoded(token))), true),
        same(FIELD, "a line break at its end (`\\|`)", of(&format!("token: |\n  {token}\n")), false),
        same(
            FIELD,
            "a block without a line break at its end (`\\|-`)",
            of(&format!("token: |-\n  {token}\n")),
            true,
        ),
        same(
            FIELD,
            "two lines, which are folded to one with a space",
            of(&format!("token: {}\n  {}\n", &token[..half], &token[half..])),
            false,
        ),
        same(FIELD, "twice: the last one is good", of(&format!("token: wrong\ntoken: {token}\n")), true),
        same(FIELD, "twice: the last one is wrong", of(&format!("token: {token}\ntoken: wrong\n")), false),
        same(FIELD, "a wrong token beside a certificate", kit.with_certificate("token: wrong\n"), true),
    ]
}

fn token_file(kit: &Kit) -> Vec<Case> {
    const FIELD: &str = "`tokenFile`";
    let of = |lines: &str| kit.file(&kit.cluster(), lines, "");
    vec![
        same(FIELD, "empty, beside a token", kit.with_token("tokenFile: \"\"\n"), true),
        same(FIELD, "null, beside a token", kit.with_token("tokenFile: null\n"), true),
        same(FIELD, "empty, beside a certificate", kit.with_certificate("tokenFile: ''\n"), true),
        same(FIELD, "a number", kit.with_certificate("tokenFile: 1\n"), false),
        same(FIELD, "a file with two lines", of("tokenFile: two-lines\n"), false),
        same(FIELD, "a file that is not there", of("tokenFile: missing\n"), false),
        reads(FIELD, "a file, relative to the kubeconfig", of("tokenFile: token\n")),
        reads(FIELD, "a file, beside a wrong token: the file counts", of("tokenFile: token\ntoken: wrong\n")),
        reads(FIELD, "a file that is not there, beside a token", kit.with_token("tokenFile: missing\n")),
    ]
}

fn data(kit: &Kit) -> Vec<Case> {
    const BOTH: &str = "`client-certificate-data`, `client-key-data`";
    const CERTIFICATE: &str = "`client-certificate-data`";
    const KEY: &str = "`client-key-data`";
    let of = |certificate: &str, key: &str| kit.file(&kit.cluster(), &identity(certificate, key), "");
    let (certificate, key) = (encoded(&kit.certificate), encoded(&kit.key));
    // As many bytes as need padding.
    let mut odd = (0..3).map(|more| encoded(&format!("{}{}", kit.certificate, "\n".repeat(more))));
    let odd = odd.rfind(|base64| base64.ends_with('=')).unwrap();
    vec![
        same(BOTH, "base64 in one line", of(&certificate, &key), true),
        same(
            BOTH,
            "base64 in several lines (`\\|`)",
            of(&wrapped(&kit.certificate), &wrapped(&kit.key)),
            true,
        ),
        same(
            BOTH,
            "base64 in several lines without `\\|`: spaces",
            of(&folded(&kit.certificate), &key),
            false,
        ),
        same(
            BOTH,
            "base64 folded by `>`: spaces",
            of(&wrapped(&kit.certificate).replacen('|', ">", 1), &key),
            false,
        ),
        same(BOTH, "empty, beside a token", kit.with_token(&identity("''", "\"\"")), true),
        same(BOTH, "null, beside a token", kit.with_token(&identity("null", "~")), true),
        same(BOTH, "empty, and nothing beside", of("''", "''"), false),
        same(CERTIFICATE, "empty, beside a token", kit.with_token("client-certificate-data: \"\"\n"), true),
        same(
            CERTIFICATE,
            "empty, with a key, beside a token: not used",
            kit.with_token(&identity("''", &key)),
            true,
        ),
        same(CERTIFICATE, "a number", of("17", &key), false),
        same(CERTIFICATE, "no base64", of("'%'", &key), false),
        same(CERTIFICATE, "base64 without its padding", of(odd.trim_end_matches('='), &key), false),
        same(CERTIFICATE, "base64 twice", of(&encoded(&certificate), &key), false),
        same(
            CERTIFICATE,
            "PEM without base64",
            of(&format!("|\n  {}", kit.certificate.replace('\n', "\n  ")), &key),
            false,
        ),
        same(
            CERTIFICATE,
            "twice: the last one is good",
            of(&format!("QUJD\nclient-certificate-data: {certificate}"), &key),
            true,
        ),
        same(KEY, "empty", of(&certificate, "''"), false),
        same(KEY, "null", of(&certificate, "null"), false),
        same(KEY, "no base64", of(&certificate, "'%'"), false),
        same(KEY, "the key of another certificate", of(&certificate, &encoded(&another_key())), false),
        same(
            KEY,
            "alone, beside a token: not used",
            kit.with_token(&format!("client-key-data: {key}\n")),
            true,
        ),
        same(
            KEY,
            "alone and no key, beside a token: not used",
            kit.with_token("client-key-data: QUJD\n"),
            true,
        ),
    ]
}

fn another_key() -> String {
    rcgen::KeyPair::generate().unwrap().serialize_pem()
}

fn pem(kit: &Kit) -> Vec<Case> {
    const CERTIFICATE: &str = "certificates in PEM";
    const KEY: &str = "keys in PEM";
    let of = |certificate: &str, key: &str| {
        kit.file(&kit.cluster(), &identity(&encoded(certificate), &encoded(key)), "")
    };
    let (certificate, key) = (&*kit.certificate, &*kit.key);
    let block = |label: &str| format!("-----BEGIN {label}-----\nQUJD\n-----END {label}-----\n");
    let body: String = certificate.lines().filter(|line| !line.starts_with('-')).collect();
    let one_line = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
    vec![
        same(
            CERTIFICATE,
            "text before and after",
            of(&format!("subject=a\n\n{certificate}the end"), key),
            true,
        ),
        same(CERTIFICATE, "lines that end with CR LF", of(&certificate.replace('\n', "\r\n"), key), true),
        same(CERTIFICATE, "spaces at the ends of lines", of(&certificate.replace('\n', "  \n"), key), true),
        same(CERTIFICATE, "base64 in one line", of(&one_line, key), true),
        same(CERTIFICATE, "no line break at the end", of(certificate.trim_end(), key), true),
        same(CERTIFICATE, "the key before the certificate", of(&format!("{key}{certificate}"), key), true),
        same(CERTIFICATE, "spaces before the beginning", of(&format!("  {certificate}"), key), false),
        same(CERTIFICATE, "no end", of(&certificate.replace("-----END", "-----"), key), false),
        same(
            KEY,
            "parameters before the key",
            of(certificate, &format!("{}{key}", block("EC PARAMETERS"))),
            true,
        ),
        same(KEY, "text before the key", of(certificate, &format!("Key Attributes\n{key}")), true),
        same(KEY, "no line break at the end", of(certificate, key.trim_end()), true),
        same(KEY, "the certificate in the place of the key", of(certificate, certificate), false),
        same(KEY, "an encrypted key", of(certificate, &block("ENCRYPTED PRIVATE KEY")), false),
    ]
}

fn beside(kit: &Kit) -> Vec<Case> {
    const FILES: &str = "`client-certificate`, `client-key`";
    const LOGIN: &str = "`username`, `password`";
    let of = |lines: &str| kit.file(&kit.cluster(), lines, "");
    let files = "client-certificate: admin.crt\nclient-key: admin.key\n";
    let key = encoded(&kit.key);
    vec![
        reads(FILES, "files, relative to the kubeconfig", of(files)),
        reads(
            FILES,
            "a file and `client-key-data`",
            of(&format!("client-certificate: admin.crt\nclient-key-data: {key}\n")),
        ),
        same(
            FILES,
            "empty, beside data",
            kit.with_certificate("client-certificate: ''\nclient-key: \"\"\n"),
            true,
        ),
        same(
            FILES,
            "null, beside data",
            kit.with_certificate("client-certificate: null\nclient-key:\n"),
            true,
        ),
        same(
            FILES,
            "a certificate beside data",
            kit.with_certificate("client-certificate: admin.crt\n"),
            false,
        ),
        same(FILES, "a key beside data", kit.with_certificate("client-key: admin.key\n"), false),
        same(
            FILES,
            "files that are not there",
            of("client-certificate: missing\nclient-key: missing\n"),
            false,
        ),
        same(LOGIN, "empty, beside a token", kit.with_token("username: ''\npassword: ''\n"), true),
        same(LOGIN, "beside a token", kit.with_token("username: a\npassword: b\n"), false),
        same(LOGIN, "beside a token's file", of("tokenFile: token\nusername: a\n"), false),
        same(LOGIN, "beside a certificate", kit.with_certificate("username: a\npassword: b\n"), true),
        same(LOGIN, "a name alone, beside a certificate", kit.with_certificate("username: a\n"), true),
        same(
            LOGIN,
            "a number, beside a certificate",
            kit.with_certificate("username: a\npassword: 12\n"),
            false,
        ),
        same("`user`", "empty", of("{}\n").replace("  user:\n    {}\n", "  user: {}\n"), false),
        same("`user`", "null", of("").replace("  user:\n", "  user: null\n"), false),
    ]
}

fn impersonation(kit: &Kit) -> Vec<Case> {
    let of = |lines: &str| kit.with_certificate(lines);
    vec![
        same("`as`", "empty", of("as: ''\n"), true),
        same("`as`", "null", of("as: null\n"), true),
        same("`as`", "a user, with a group", of("as: ann\nas-groups: ['system:masters']\n"), true),
        same("`as`", "a user without rights", of("as: ann\n"), false),
        same("`as`", "a number", of("as: 1\n"), false),
        same("`as-groups`", "an empty list", of("as-groups: []\n"), true),
        same("`as-groups`", "a list, without `as`", of("as-groups: [a]\n"), false),
        same("`as-groups`", "a text", of("as: ann\nas-groups: a\n"), false),
        same("`as-uid`", "empty", of("as-uid: ''\n"), true),
        same("`as-uid`", "a text, without `as`", of("as-uid: a\n"), false),
        same("`as-user-extra`", "empty", of("as-user-extra: {}\n"), true),
        same("`as-user-extra`", "a list, without `as`", of("as-user-extra: {a: [b]}\n"), false),
    ]
}

fn programs(kit: &Kit) -> Vec<Case> {
    const EXEC: &str = "`exec`";
    const NONE_RUN: &str = "A server runs no programs: `kubeconfigs.execCommands` allows some";
    let credential = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                            "status": {"token": kit.token}});
    let credential = credential.to_string();
    let exec = |change: serde_json::Value| {
        let mut exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/echo",
                              "args": [credential], "interactiveMode": "Never"});
        exec.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        exec
    };
    let program =
        |change: serde_json::Value| kit.file(&kit.cluster(), &format!("exec: {}\n", exec(change)), "");
    let more = "A program that answers is enough for the command; a server runs none that `kubeconfigs.execCommands` does not name";
    let lax = |has, text: String| Case {
        field: EXEC,
        has,
        text: text.into(),
        works: [false, true, false],
        why: more,
    };
    vec![
        same(EXEC, "null, beside a certificate", kit.with_certificate("exec: null\n"), true),
        same(EXEC, "an empty mapping, beside a certificate", kit.with_certificate("exec: {}\n"), false),
        same(EXEC, "a text", kit.with_certificate("exec: login\n"), false),
        Case {
            field: EXEC,
            has: "a program",
            text: program(json!({})).into(),
            works: [true, true, false],
            why: NONE_RUN,
        },
        Case {
            field: EXEC,
            has: "a program that fails, beside a certificate: not run",
            text: kit.with_certificate(&format!("exec: {}\n", exec(json!({"command": "/bin/false"})))).into(),
            works: [true, true, false],
            why: NONE_RUN,
        },
        Case {
            field: EXEC,
            has: "a program that needs a variable to be empty",
            text: program(json!({"command": "/bin/sh", "args": ["-c", "test -z \"${HOME-none}\" && echo \"$CREDENTIAL\""],
                                 "env": [{"name": "CREDENTIAL", "value": credential}, {"name": "HOME", "value": ""}]}))
            .into(),
            works: [true, true, false],
            why: NONE_RUN,
        },
        lax("a program, without `interactiveMode`", program(json!({"interactiveMode": null}))),
        lax("a program, without `apiVersion`", program(json!({"apiVersion": ""}))),
        same(EXEC, "another `interactiveMode`", program(json!({"interactiveMode": "never"})), false),
        same(EXEC, "a variable without a name", program(json!({"env": [{"value": "a"}]})), false),
        same(
            EXEC,
            "a program beside `auth-provider`",
            program(json!({})) + "    auth-provider: {name: a}\n",
            false,
        ),
    ]
}

fn providers(kit: &Kit) -> Vec<Case> {
    vec![
        same("`auth-provider`", "null", kit.with_certificate("auth-provider: null\n"), true),
        same("`auth-provider`", "an empty mapping", kit.with_certificate("auth-provider: {}\n"), false),
        same(
            "`auth-provider`",
            "a provider that is not known",
            kit.with_certificate("auth-provider: {name: a}\n"),
            false,
        ),
        same("`extensions` of a user", "null", kit.with_certificate("extensions: null\n"), true),
        same(
            "`extensions` of a user",
            "two of one name",
            kit.with_certificate(
                "extensions: [{name: a, extension: {b: 1}}, {name: a, extension: {b: 2}}]\n",
            ),
            false,
        ),
    ]
}
