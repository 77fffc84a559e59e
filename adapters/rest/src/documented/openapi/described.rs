//! Routes with what the document says of them.

use axum::handler::Handler;
use axum::http::Method;

use super::{Inputs, Operation};
use crate::access::Need;
use crate::route::{Route, Shared};

/// A route, and what the document says of it.
pub(in crate::documented) struct Described {
    pub(in crate::documented) route: Route,
    pub(in crate::documented) operation: Operation,
}

/// Defines the function that makes routes with a method.
macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident $method:ident,)*) => {
        $($(#[$doc])*
        pub(in crate::documented) fn $name<T: Inputs + 'static>(
            path: &str,
            need: Need,
            handler: impl Handler<T, Shared>,
            describe: impl FnOnce(Operation) -> Operation,
        ) -> Described {
            let route = Route::new(Method::$method, path, need, handler);
            Described { route, operation: describe(T::describe(Operation::of(need))) }
        })*
    };
}

methods! {
    /// What is asked with GET.
    get GET,
    /// What is asked with POST.
    post POST,
    /// What is asked with PUT.
    put PUT,
    /// What is asked with DELETE.
    delete DELETE,
}

impl Described {
    /// The same for larger bodies, of at most so many bytes.
    pub(in crate::documented) fn with_body_max(self, bytes_max: usize) -> Self {
        Self { route: self.route.with_body_max(bytes_max), ..self }
    }
}
