//! Picks events out of an audit log.

use super::{AuditEvent, Stage};

/// What events must have to be picked. A property that was not named may be anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    user: Option<String>,
    user_agent_prefix: Option<String>,
    verb: Option<String>,
    api_group: Option<String>,
    resource: Option<String>,
    subresource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    code: Option<u16>,
    stage: Option<Stage>,
    dry_run: Option<bool>,
}

/// Makes one method for each property that is a text.
macro_rules! texts {
    ($($(#[$doc:meta])* $property:ident),* $(,)?) => {
        impl AuditFilter {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $property(mut self, wanted: impl Into<String>) -> Self {
                    self.$property = Some(wanted.into());
                    self
                }
            )*
        }
    };
}

texts! {
    /// Wants this user name.
    user,
    /// Wants a user agent that starts with this.
    user_agent_prefix,
    /// Wants this verb.
    verb,
    /// Wants this API group; an empty text is the core group.
    api_group,
    /// Wants this resource.
    resource,
    /// Wants this subresource; an empty text is the resource itself.
    subresource,
    /// Wants this namespace; an empty text is none.
    namespace,
    /// Wants this name.
    name,
}

impl AuditFilter {
    /// A filter that picks everything.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wants this HTTP status code.
    #[must_use]
    pub fn code(mut self, wanted: u16) -> Self {
        self.code = Some(wanted);
        self
    }

    /// Wants this stage.
    #[must_use]
    pub fn stage(mut self, wanted: Stage) -> Self {
        self.stage = Some(wanted);
        self
    }

    /// Wants a dry run, or wants none.
    #[must_use]
    pub fn dry_run(mut self, wanted: bool) -> Self {
        self.dry_run = Some(wanted);
        self
    }

    /// Whether an event has all that is wanted.
    pub fn matches(&self, event: &AuditEvent) -> bool {
        let same = |wanted: &Option<String>, found: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| wanted == found.unwrap_or_default())
        };
        let prefix = self.user_agent_prefix.as_deref();
        same(&self.user, Some(&event.user))
            && prefix.is_none_or(|prefix| event.user_agent.starts_with(prefix))
            && same(&self.verb, Some(&event.verb))
            && same(&self.api_group, event.api_group.as_deref())
            && same(&self.resource, event.resource.as_deref())
            && same(&self.subresource, event.subresource.as_deref())
            && same(&self.namespace, event.namespace.as_deref())
            && same(&self.name, event.name.as_deref())
            && self.code.is_none_or(|code| event.code == Some(code))
            && self.stage.is_none_or(|stage| event.stage == stage)
            && self.dry_run.is_none_or(|dry_run| event.dry_run == dry_run)
    }
}
