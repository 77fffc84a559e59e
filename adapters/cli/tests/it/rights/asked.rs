//! One request, as RBAC sees it.

use std::fmt;

/// The name in requests for one object: nothing of that name is there.
pub(crate) const PROBE: &str = "rights-probe";

/// What is done to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

/// A resource, or one of its subresources.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) subresource: Option<&'static str>,
    /// `apiVersion` and `kind` of what is sent.
    pub(crate) body: (&'static str, &'static str),
    pub(crate) namespaced: bool,
    pub(crate) verbs: &'static [Verb],
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) enum Asked {
    /// Reads a path that is about no resource.
    Path(&'static str),
    /// Does something to a resource: in one namespace or in all, to one object or to all.
    Object { verb: Verb, resource: &'static Resource, namespace: Option<String>, name: Option<String> },
}

impl Verb {
    /// As RBAC has it.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

impl Resource {
    /// True when the path of a request has a name in it.
    pub(crate) fn is_named_by(&self, verb: Verb) -> bool {
        match verb {
            Verb::Get | Verb::Update | Verb::Patch | Verb::Delete => true,
            Verb::Create => self.subresource.is_some(),
            Verb::List | Verb::Watch | Verb::DeleteCollection => false,
        }
    }

    /// As RBAC has it: `pods`, or `pods/log`.
    pub(crate) fn text(&self) -> String {
        match self.subresource {
            None => self.plural.to_owned(),
            Some(subresource) => format!("{}/{subresource}", self.plural),
        }
    }
}

impl Asked {
    /// The namespace in which RBAC looks for rights. A namespace is in itself, for Kubernetes, when it is named.
    pub(crate) fn place(&self) -> Option<&str> {
        match self {
            Self::Object { resource, name, .. } if resource.plural == "namespaces" => name.as_deref(),
            Self::Object { namespace, .. } => namespace.as_deref(),
            Self::Path(_) => None,
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(formatter, "get path {path}"),
            Self::Object { verb, resource, namespace, name } => {
                write!(formatter, "{} {}.{}", verb.text(), resource.text(), resource.group)?;
                write!(formatter, " {}", name.as_deref().unwrap_or("(no name)"))?;
                match namespace {
                    Some(namespace) => write!(formatter, " in namespace {namespace}"),
                    None if resource.namespaced => write!(formatter, " in all namespaces"),
                    None => write!(formatter, " of the cluster"),
                }
            }
        }
    }
}
