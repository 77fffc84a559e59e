//! A CoreDNS answers by its Corefile, reads a changed one, and does not start with a wrong one.

use std::net::Ipv4Addr;

use dcm_testenv::CoreDns;
use dcm_testenv::coredns::ResolveError;
use dcm_testenv::effort::patience;
use tokio::time::timeout;

fn corefile(port: u16, address: &str) -> String {
    format!(
        ".:{port} {{\n    reload 2s 1s\n    hosts {{\n        {address} one.example\n        fallthrough\n    }}\n    \
         template IN A gone.example {{\n        rcode NXDOMAIN\n    }}\n}}\n"
    )
}

#[tokio::test]
async fn it_resolves_names_on_loopback_alone_and_reads_a_changed_corefile() {
    let server = CoreDns::start(|port| corefile(port, "192.0.2.1")).await.unwrap();
    assert!(server.address().ip().is_loopback());
    assert_eq!(server.resolve("one.example").await.unwrap(), Some(vec![Ipv4Addr::new(192, 0, 2, 1)]));
    assert_eq!(server.resolve("gone.example").await.unwrap(), None);
    let unknown = server.resolve("other.example").await.unwrap_err();
    assert!(matches!(unknown, ResolveError::Code { .. }), "{unknown}");
    assert!(matches!(server.resolve(&"x".repeat(64)).await, Err(ResolveError::Message { .. })));

    server.write_corefile(&corefile(server.address().port(), "192.0.2.2")).unwrap();
    let changed = [Ipv4Addr::new(192, 0, 2, 2)];
    let read_anew = server.until_resolved("one.example", Some(&changed));
    timeout(patience(), read_anew).await.expect("the changed Corefile is read").unwrap();
}

#[tokio::test]
async fn a_corefile_that_it_does_not_take_is_an_error_with_its_log() {
    let error = CoreDns::start(|port| format!(".:{port} {{\n    nonsense\n}}\n")).await.unwrap_err();
    let text = format!("{error}: {:?}", std::error::Error::source(&error));
    assert!(text.contains("nonsense"), "{text}");
}
