//! What is read of requests in this dialect, as functions of bytes: see [`parsers`](crate::parsers).

use axum::extract::{FromRequest as _, Request};
use futures::FutureExt as _;

use super::body::checked;
use super::clusters::form::Form;
use super::objects::{
    Cluster, ClusterReference, Controller, KeyValues, Label, LogicalCloud, Named, Permission, Quota,
};

/// Reads bytes as each kind of bodies.
pub(crate) fn read_each(bytes: &[u8]) {
    let _ = checked::<Cluster>(bytes);
    let _ = checked::<ClusterReference>(bytes);
    let _ = checked::<Controller>(bytes);
    let _ = checked::<KeyValues>(bytes);
    let _ = checked::<Label>(bytes);
    let _ = checked::<LogicalCloud>(bytes);
    let _ = checked::<Named>(bytes);
    let _ = checked::<Permission>(bytes);
    let _ = checked::<Quota>(bytes);
}

/// Reads a form that is there as a whole.
pub(crate) fn read_form(request: Request) {
    let _ = Form::from_request(request, &()).now_or_never();
}
