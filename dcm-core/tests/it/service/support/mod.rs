//! What the tests share.

mod authority;
mod dying;
mod engine;
mod failing;
pub(crate) mod grants;
mod world;

pub(crate) use authority::{request_of, sign};
pub(crate) use dying::{Dying, unavailable};
pub(crate) use engine::Engine;
pub(crate) use failing::Failing;
pub(crate) use world::{
    FixedClock, World, admin_kubeconfig, cluster, draft, later, name, now, permission, registration,
    seconds_from_now, user,
};
