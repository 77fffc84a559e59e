//! People with roles, and a server that knows them.

use dcm_core::secret::Secret;
use serde_json::{Value, json};

use crate::common::User;
use crate::common::server::Server;

/// Projects whose names are equally long: one that callers have a role in, one of others, and one that is not there.
pub(crate) const PROJECTS: [&str; 3] = ["shop-1", "bank-1", "none-1"];

/// A caller, by name, and the role that is bound to them.
pub(crate) const CALLERS: [(&str, Option<&str>); 6] = [
    ("nobody", None),
    ("viewer", Some("project-viewer")),
    ("admin", Some("project-admin")),
    ("registrar", Some("cluster-registrar")),
    ("monitor", Some("metrics-reader")),
    ("platform", Some("platform-admin")),
];

/// A person who runs a server, and whose configuration is a file.
pub(crate) struct Guarded {
    pub(crate) person: User,
    tokens: Vec<(&'static str, Secret)>,
}

impl Guarded {
    /// With a static token for each of the [`CALLERS`].
    pub(crate) fn new() -> Self {
        let person = User::new();
        let tokens = CALLERS.map(|(name, _)| {
            let arguments = ["token", "new", name, "--user", name, "--token-file", "tokens.yaml"];
            let made = person.run(arguments);
            (name, Secret::new(made.done().trim()))
        });
        let guarded = Self { person, tokens: tokens.to_vec() };
        guarded.configure(&json!({"requests": {"perSecond": 0}}));
        guarded
    }

    /// Writes the configuration, with more in it.
    pub(crate) fn configure(&self, more: &Value) {
        let roles = CALLERS.into_iter().filter_map(|(name, role)| {
            let role = role?;
            let projects: &[&str] = if role.starts_with("project") { &PROJECTS[..1] } else { &[] };
            Some(json!({"role": role, "users": [name], "projects": projects}))
        });
        let mut settings = json!({
            "store": "memory:",
            "authentication": {"tokens": {"file": "tokens.yaml"}},
            "roles": roles.collect::<Vec<_>>(),
        });
        for (field, value) in more.as_object().unwrap() {
            settings[field] = value.clone();
        }
        self.person.write("settings.yaml", &settings.to_string());
    }

    /// The header by which a caller proves who they are.
    pub(crate) fn header(&self, name: &str) -> String {
        let (_, token) = self.tokens.iter().find(|(caller, _)| *caller == name).unwrap();
        format!("Authorization: Bearer {}", token.expose())
    }

    /// Serves at a port: `--listen`, or `--emco-listen`.
    pub(crate) fn serve(self, option: &str) -> (Server, Headers) {
        self.serve_with(&[option, "127.0.0.1:0"])
    }

    /// Serves with these options.
    pub(crate) fn serve_with(self, options: &[&str]) -> (Server, Headers) {
        let headers = self.tokens.iter().map(|(name, _)| (*name, self.header(name))).collect();
        let server = Server::serving(self.person, &[&["--config", "settings.yaml"], options].concat()).0;
        (server, Headers(headers))
    }
}

/// By which header each caller proves who they are.
pub(crate) struct Headers(Vec<(&'static str, String)>);

impl Headers {
    pub(crate) fn of(&self, name: &str) -> &str {
        &self.0.iter().find(|(caller, _)| *caller == name).unwrap().1
    }
}
