//! The fields of clusters.

use super::kit::{Case, Kit, encoded, folded, kubectl_alone, reads, same, wrapped};

pub(super) fn cases(kit: &Kit) -> Vec<Case> {
    [server(kit), names(kit), insecure(kit), proxy(kit), authorities(kit), bundles(kit), others(kit)]
        .into_iter()
        .flatten()
        .collect()
}

fn server(kit: &Kit) -> Vec<Case> {
    const FIELD: &str = "`server`";
    let authority = format!("certificate-authority-data: {}\n", encoded(&kit.authority));
    let of = |server: &str| kit.in_cluster(&format!("server: {server}\n{authority}"));
    let server = &*kit.server;
    let address = server.trim_start_matches("https://");
    vec![
        same(FIELD, "a URL", of(server), true),
        same(FIELD, "a URL with a slash at its end", of(&format!("{server}/")), true),
        same(FIELD, "a scheme in capital letters", of(&format!("HTTPS://{address}")), true),
        same(FIELD, "absent", kit.in_cluster(&authority), false),
        same(FIELD, "null", of("null"), false),
        same(FIELD, "empty", of("''"), false),
        same(FIELD, "a number", of("6443"), false),
        same(FIELD, "an address without a scheme", of(address), false),
        same(FIELD, "`http://`", of(&format!("http://{address}")), false),
        same(FIELD, "another scheme", of(&format!("ftp://{address}")), false),
        same(FIELD, "a space at its end", of(&format!("'{server} '")), false),
        same(FIELD, "a port where nothing answers", of("https://127.0.0.1:1"), false),
        same(
            FIELD,
            "twice: the last one is good",
            of(&format!("https://127.0.0.1:1\nserver: {server}")),
            true,
        ),
        kubectl_alone(
            FIELD,
            "a user name and a password",
            of(&format!("https://ann:secret@{address}")),
            "Users would get the password",
        ),
    ]
}

fn names(kit: &Kit) -> Vec<Case> {
    const FIELD: &str = "`tls-server-name`";
    let of = |name: &str| kit.beside_cluster(&format!("tls-server-name: {name}\n"));
    vec![
        same(FIELD, "empty", of("\"\""), true),
        same(FIELD, "null", of("null"), true),
        same(FIELD, "a name that the server has", of("localhost"), true),
        same(FIELD, "a name that it does not have", of("other.example"), false),
        same(FIELD, "a number", of("1"), false),
    ]
}

fn insecure(kit: &Kit) -> Vec<Case> {
    const FIELD: &str = "`insecure-skip-tls-verify`";
    let of = |value: &str| kit.beside_cluster(&format!("insecure-skip-tls-verify: {value}\n"));
    let alone = format!("server: {}\ninsecure-skip-tls-verify: true\n", kit.server);
    vec![
        same(FIELD, "false", of("false"), true),
        same(FIELD, "false, as YAML 1.1 has it (`no`, `off`)", of("off"), true),
        same(FIELD, "null", of("null"), true),
        same(FIELD, "a text", of("'false'"), false),
        same(FIELD, "a number", of("0"), false),
        same(FIELD, "true, beside authorities", of("true"), false),
        kubectl_alone(
            FIELD,
            "true",
            kit.in_cluster(&alone),
            "Who answers would not be proved, neither to the engine nor to users",
        ),
    ]
}

fn proxy(kit: &Kit) -> Vec<Case> {
    const FIELD: &str = "`proxy-url`";
    let of = |value: &str| kit.beside_cluster(&format!("proxy-url: {value}\n"));
    vec![
        same(FIELD, "empty", of("''"), true),
        same(FIELD, "null", of("null"), true),
        same(FIELD, "a proxy that does not answer", of("http://127.0.0.1:1"), false),
        same(FIELD, "another scheme", of("ftp://127.0.0.1:1"), false),
        same(FIELD, "an address without a scheme", of("127.0.0.1:1"), false),
        same(FIELD, "a list", of("[]"), false),
    ]
}

fn authorities(kit: &Kit) -> Vec<Case> {
    const DATA: &str = "`certificate-authority-data`";
    const FILE: &str = "`certificate-authority`";
    let of = |value: &str| {
        kit.in_cluster(&format!("server: {}\ncertificate-authority-data: {value}\n", kit.server))
    };
    let data = encoded(&kit.authority);
    let file =
        |path: &str| kit.in_cluster(&format!("server: {}\ncertificate-authority: {path}\n", kit.server));
    let other = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap().cert.pem();
    vec![
        same(DATA, "base64 in one line", of(&data), true),
        same(DATA, "base64 in several lines (`\\|`)", of(&wrapped(&kit.authority)), true),
        same(DATA, "base64 in several lines without `\\|`: spaces", of(&folded(&kit.authority)), false),
        same(
            DATA,
            "base64 in several lines in quotes: spaces",
            of(&format!("\"{}\"", folded(&kit.authority))),
            false,
        ),
        same(
            DATA,
            "base64 with `\\n` in quotes",
            of(&format!("\"{}\\n{}\\n\"", &data[..40], &data[40..])),
            true,
        ),
        same(
            DATA,
            "twice: the last one is good",
            of(&format!("QUJD\ncertificate-authority-data: {data}")),
            true,
        ),
        same(DATA, "empty: the system's authorities", of("''"), false),
        same(DATA, "null: the system's authorities", of("null"), false),
        same(DATA, "no base64", of("'%'"), false),
        same(DATA, "a number", of("1"), false),
        same(DATA, "base64 twice", of(&encoded(&data)), false),
        same(DATA, "base64 of DER", of(&der(&kit.authority)), false),
        same(DATA, "another authority", of(&encoded(&other)), false),
        same(FILE, "empty, beside data", kit.beside_cluster("certificate-authority: ''\n"), true),
        same(FILE, "null, beside data", kit.beside_cluster("certificate-authority: null\n"), true),
        same(FILE, "a file, beside data", kit.beside_cluster("certificate-authority: ca.crt\n"), false),
        same(FILE, "a file that is not there", file("missing"), false),
        same(FILE, "a file that holds a key", file("admin.key"), false),
        reads(FILE, "a file, relative to the kubeconfig", file("ca.crt")),
        reads(FILE, "a file by its whole path", file(&format!("{}/ca.crt", kit.home))),
    ]
}

/// Base64 of what is in a block of PEM.
fn der(pem: &str) -> String {
    pem.lines().filter(|line| !line.starts_with('-')).collect()
}

fn bundles(kit: &Kit) -> Vec<Case> {
    const FIELD: &str = "a bundle of authorities";
    let of = |pem: &str| {
        kit.in_cluster(&format!("server: {}\ncertificate-authority-data: {}\n", kit.server, encoded(pem)))
    };
    let authority = &*kit.authority;
    let block = |label: &str, body: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
    let cut: String = authority.lines().take(5).map(|line| format!("{line}\n")).collect();
    let other = rcgen::generate_simple_self_signed(["other".to_owned()]).unwrap().cert.pem();
    let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let bad = |bad: &str| of(&format!("{bad}{authority}"));
    vec![
        same(FIELD, "another authority beside", bad(&other), true),
        same(FIELD, "the authority twice", bad(authority), true),
        same(
            FIELD,
            "text before, between and after",
            of(&format!("# a\n{other}\nZürich\n{authority}\nend")),
            true,
        ),
        same(FIELD, "lines that end with CR LF", of(&authority.replace('\n', "\r\n")), true),
        same(FIELD, "no line break at the end", of(authority.trim_end()), true),
        same(FIELD, "a block that is no base64", bad(&block("CERTIFICATE", "no base64")), true),
        same(FIELD, "a block that is no certificate", bad(&block("CERTIFICATE", "QUJD")), true),
        same(FIELD, "an empty block", bad(&block("CERTIFICATE", "")), true),
        same(
            FIELD,
            "a certificate that is cut off, with its end",
            bad(&format!("{cut}-----END CERTIFICATE-----\n")),
            true,
        ),
        same(FIELD, "a certificate that is cut off", bad(&cut), true),
        same(
            FIELD,
            "a certificate that is cut off, behind the good one",
            of(&format!("{authority}{cut}")),
            true,
        ),
        same(FIELD, "another kind of block", bad(&block("X509 CRL", "QUJD")), true),
        same(FIELD, "a private key", bad(&key), true),
        same(FIELD, "no certificate that can be read", of(&block("CERTIFICATE", "QUJD")), false),
        same(FIELD, "a private key alone", of(&key), false),
        same(FIELD, "nothing but text", of("authority"), false),
    ]
}

fn others(kit: &Kit) -> Vec<Case> {
    const COMPRESSION: &str = "`disable-compression`";
    const EXTENSIONS: &str = "`extensions` of a cluster";
    let of = |lines: &str| kit.beside_cluster(lines);
    vec![
        same(COMPRESSION, "true", of("disable-compression: true\n"), true),
        same(COMPRESSION, "null", of("disable-compression: null\n"), true),
        same(COMPRESSION, "a text", of("disable-compression: 'true'\n"), false),
        same(EXTENSIONS, "null", of("extensions: null\n"), true),
        same(EXTENSIONS, "an empty list", of("extensions: []\n"), true),
        same(EXTENSIONS, "anything", of("extensions: [{name: a, extension: {b: [1, yes]}}]\n"), true),
        same(EXTENSIONS, "a mapping", of("extensions: {}\n"), false),
        same("a field that is not known", "anything", of("unknown: [1, {a: 0815}]\nServer: 1\n"), true),
    ]
}
