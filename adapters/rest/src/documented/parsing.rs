//! What is read of requests in this dialect, as functions of bytes: see [`parsers`](crate::parsers).

use axum::http::Uri;

use super::body::{Body, OTHER_SHAPE, Shaped};
use super::clusters::check_for::Wanted as ClusterCheck;
use super::objects::{
    ClusterBody, ControllerBody, KeyValuesSpec, LogicalCloudBody, NamedBody, Object, Part, PermissionSpec,
    QuotaSpec, ReferenceSpec, UserSpec,
};
use super::page::Page;
use super::problem::{Kind, Problem};

/// Reads bytes as each kind of bodies.
pub(crate) fn read_each(bytes: &[u8]) {
    read::<LogicalCloudBody>(bytes);
    read::<ClusterBody>(bytes);
    read::<ControllerBody>(bytes);
    read::<NamedBody>(bytes);
    if let Some(check) = read::<ClusterCheck>(bytes) {
        let _ = check.needs();
    }
    read_part::<ReferenceSpec>(bytes);
    read_part::<UserSpec>(bytes);
    read_part::<PermissionSpec>(bytes);
    read_part::<QuotaSpec>(bytes);
    read_part::<KeyValuesSpec>(bytes);
}

fn read<T: Shaped>(bytes: &[u8]) -> Option<T> {
    match Body::<T>::read(bytes) {
        Ok(body) => Some(body.read),
        Err(problem) => {
            assert_ne!(
                problem,
                Problem::new(Kind::Invalid, OTHER_SHAPE),
                "{}",
                String::from_utf8_lossy(bytes)
            );
            None
        }
    }
}

fn read_part<P: Part>(bytes: &[u8]) {
    if let Some(object) = read::<Object<P>>(bytes) {
        let _ = P::into_draft(object);
    }
}

/// Longest text that is read as a URI, in bytes. Heads of requests are limited to half of it.
const URI_BYTES_MAX: usize = u16::MAX as usize - 1;

/// Asks for the page after the one of a query, and for the one after that: it is the same query.
pub(crate) fn follow(uri: &Uri) {
    let after = |uri: &Uri, name: &str| Page::<()>::new(Vec::new(), Vec::new(), Some(name), 1, uri).next();
    let Some(next) = after(uri, "a&b=c") else { return };
    if next.len() > URI_BYTES_MAX {
        return;
    }
    let next: Uri = next.parse().expect("the path of a page can be asked");
    assert_eq!(after(&next, "a&b=c"), Some(next.to_string()), "{uri}");
}
