//! A kubeconfig that is given to us, as client-go reads it.

use serde_json::{Map, Value};

use super::form::{self, Form};
use super::input::{self, Invalid, field};
use crate::secret::Secret;

/// One file of a kubeconfig, as client-go reads it.
pub struct Given {
    root: Map<String, Value>,
    warnings: Vec<String>,
}

/// What one entry of a list has, as client-go has it: without nulls and empty values, and base64 in one line.
pub struct Content {
    path: String,
    /// The fields.
    pub fields: Map<String, Value>,
}

impl Given {
    /// Reads a file, YAML or JSON. An empty text is an empty file.
    ///
    /// # Errors
    /// [`Invalid`], for what client-go does not read either.
    pub fn read(text: &Secret) -> Result<Self, Invalid> {
        let input::Parsed { root, warnings } = input::parse(text)?;
        Ok(Self { root, warnings })
    }

    /// What client-go ignores silently.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The name of the current context; none for an empty one.
    #[must_use]
    pub fn current_context(&self) -> Option<&str> {
        self.root.get("current-context").and_then(Value::as_str).filter(|name| !name.is_empty())
    }

    /// The context of a name.
    #[must_use]
    pub fn context(&self, name: &str) -> Option<Content> {
        self.content("contexts", "context", name, &form::CONTEXT)
    }

    /// The cluster of a name.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<Content> {
        self.content("clusters", "cluster", name, &form::CLUSTER)
    }

    /// The user of a name.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<Content> {
        self.content("users", "user", name, &form::USER)
    }

    fn content(&self, list: &str, member: &str, name: &str, form: &Form) -> Option<Content> {
        let entries = self.root.get(list)?.as_array()?;
        let (index, entry) = entries.iter().enumerate().find(|(_, entry)| form::name_of(entry) == name)?;
        Some(Content::new(format!("{list}[{index}].{member}"), &entry[member], form))
    }
}

impl std::fmt::Debug for Given {
    /// What it has may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Given")
    }
}

impl Content {
    /// Content that was checked, at its path.
    pub(super) fn new(path: String, value: &Value, form: &Form) -> Self {
        let fields = match form::normalised(value.clone(), form) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Self { path, fields }
    }

    /// A field that is a text.
    #[must_use]
    pub fn text(&self, member: &str) -> Option<&str> {
        self.fields.get(member).and_then(Value::as_str)
    }

    /// The path of a field, such as `clusters[0].cluster.server`.
    #[must_use]
    pub fn path_of(&self, member: &str) -> String {
        format!("{}.{member}", self.path)
    }

    fn has(&self, member: &str) -> bool {
        self.fields.contains_key(member)
    }

    fn refuse(&self, member: &str, rule: &'static str) -> Result<(), Invalid> {
        Err(field(self.path_of(member), rule))
    }

    /// Refuses fields of a cluster that client-go does not take beside each other.
    ///
    /// # Errors
    /// [`Invalid::Field`].
    pub fn check_cluster(&self) -> Result<(), Invalid> {
        let (file, data) = ("certificate-authority", "certificate-authority-data");
        if self.has(file) && self.has(data) {
            return self.refuse(file, "must not be set beside certificate-authority-data");
        }
        let is_insecure = self.fields.get("insecure-skip-tls-verify") == Some(&Value::Bool(true));
        if is_insecure && (self.has(file) || self.has(data)) {
            return self.refuse("insecure-skip-tls-verify", "must not be true beside authorities");
        }
        Ok(())
    }

    /// Refuses fields of a user that client-go does not take beside each other. A key without a certificate is none of them: it is not
    /// used. Of a program more is taken than client-go does: it needs neither the version of its protocol nor its mode.
    ///
    /// # Errors
    /// [`Invalid::Field`].
    pub fn check_user(&self) -> Result<(), Invalid> {
        if self.has("token") && (self.has("username") || self.has("password")) {
            return self.refuse("token", "must not be set beside a username or a password");
        }
        if self.has("tokenFile") && self.has("username") {
            return self.refuse("tokenFile", "must not be set beside a username");
        }
        if self.has("client-certificate") && self.has("client-certificate-data") {
            return self.refuse("client-certificate", "must not be set beside client-certificate-data");
        }
        if self.has("client-certificate") || self.has("client-certificate-data") {
            match (self.has("client-key"), self.has("client-key-data")) {
                (true, true) => self.refuse("client-key", "must not be set beside client-key-data"),
                (false, false) => self.refuse("client-key-data", "must be set beside the certificate"),
                _ => Ok(()),
            }?;
        }
        let impersonates = ["as-uid", "as-groups", "as-user-extra"];
        if let Some(member) = impersonates.into_iter().find(|member| self.has(member) && !self.has("as")) {
            return self.refuse(member, "must not be set without as");
        }
        self.check_programs()
    }

    fn check_programs(&self) -> Result<(), Invalid> {
        if let Some(provider) = self.fields.get("auth-provider") {
            if self.has("exec") {
                return self.refuse("auth-provider", "must not be set beside exec");
            }
            if provider.get("name").is_none() {
                return self.refuse("auth-provider.name", "must be set");
            }
        }
        let Some(exec) = self.fields.get("exec") else { return Ok(()) };
        if exec.get("command").is_none() {
            return self.refuse("exec.command", "must be set");
        }
        let mut variables = exec.get("env").and_then(Value::as_array).into_iter().flatten();
        if variables.any(|variable| variable.get("name").is_none()) {
            return self.refuse("exec.env", "must have a name in each entry");
        }
        match exec.get("interactiveMode").and_then(Value::as_str) {
            None | Some("Never" | "IfAvailable" | "Always") => Ok(()),
            Some(_) => self.refuse("exec.interactiveMode", "must be Never, IfAvailable or Always"),
        }
    }
}

impl std::fmt::Debug for Content {
    /// What it has may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Content({})", self.path)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(user: &Value) -> Option<String> {
        let file = json!({"users": [{"name": "u", "user": user}]});
        let given = Given::read(&Secret::new(file.to_string())).unwrap();
        given.user("u").unwrap().check_user().err().map(|invalid| invalid.to_string())
    }

    #[test]
    fn entries_are_found_by_name_without_what_means_nothing() {
        let text = "clusters: [{cluster: {server: a, tls-server-name: '', proxy-url: null}}]\ncontexts: [{name: c}]\n";
        let given = Given::read(&Secret::new(text)).unwrap();
        let cluster = given.cluster("").unwrap();
        assert_eq!((cluster.text("server"), cluster.fields.len()), (Some("a"), 1));
        assert_eq!(cluster.path_of("server"), "clusters[0].cluster.server");
        assert!(given.context("c").unwrap().fields.is_empty() && given.user("c").is_none());
        assert_eq!(given.current_context(), None);
    }

    #[test]
    fn what_client_go_ignores_silently_is_warned_of() {
        let text = "current-context: a\ncurrent-context: b\n---\ncurrent-context: c\n";
        let given = Given::read(&Secret::new(text)).unwrap();
        assert_eq!(given.current_context(), Some("b"));
        assert_eq!(given.warnings().len(), 2, "{:?}", given.warnings());
        assert!(given.warnings()[0].starts_with("line 2, column 1: "), "{:?}", given.warnings());
    }

    #[test]
    fn fields_that_client_go_does_not_take_beside_each_other_are_refused() {
        let exec = |change: &Value| {
            let mut exec = json!({"command": "c", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"});
            exec.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            json!({"exec": exec})
        };
        for (user, refusal) in [
            (json!({}), None),
            (json!({"token": "t", "client-key-data": "YWJj"}), None),
            (json!({"token": "t", "client-certificate-data": ""}), None),
            (json!({"token": "t", "username": "u"}), Some("token: must not")),
            (json!({"tokenFile": "t", "username": "u"}), Some("tokenFile: must not")),
            (json!({"tokenFile": "t", "password": "p"}), None),
            (
                json!({"client-certificate": "a", "client-certificate-data": "YWJj"}),
                Some("client-certificate: "),
            ),
            (json!({"client-certificate": "a"}), Some("client-key-data: must be set")),
            (
                json!({"client-certificate": "a", "client-key": "a", "client-key-data": "YWJj"}),
                Some("client-key: must not"),
            ),
            (json!({"as-groups": ["a"], "as": ""}), Some("as-groups: ")),
            (json!({"as-groups": ["a"], "as": "a"}), None),
            (exec(&json!({})), None),
            (exec(&json!({"command": ""})), Some("exec.command: ")),
            (exec(&json!({"env": [{"value": "a"}]})), Some("exec.env: ")),
            (exec(&json!({"interactiveMode": "", "apiVersion": null})), None),
            (exec(&json!({"interactiveMode": "never"})), Some("exec.interactiveMode: ")),
            (json!({"exec": {}}), Some("exec.command: ")),
            (json!({"auth-provider": {}}), Some("auth-provider.name: ")),
            (json!({"auth-provider": {"name": "a"}, "exec": {}}), Some("auth-provider: ")),
        ] {
            let found = refused(&user);
            let is_expected = match (&found, refusal) {
                (None, None) => true,
                (Some(found), Some(refusal)) => found.starts_with(&format!("users[0].user.{refusal}")),
                _ => false,
            };
            assert!(is_expected, "{user}: {found:?}");
        }
    }
}
