//! How callers may prove who they are, as it is configured.

use std::collections::BTreeSet;
use std::path::PathBuf;

use dcm_core::refusal::{Checks, Path, Refusals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::{self, Kind, RESERVED_PREFIX};
use crate::oidc::check_url;
use crate::tls::Clients;

/// Most issuers.
pub const ISSUERS_MAX: usize = 16;

/// Most audiences of one issuer.
pub const AUDIENCES_MAX: usize = 16;

/// Longest issuer, audience, claim or prefix, in bytes: with it a name still has as many left again.
pub const TEXT_BYTES_MAX: usize = name::NAME_BYTES_MAX / 2;

/// How callers may prove who they are. A caller needs one of the ways that are set; with none set nobody can.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// By a certificate in the TLS handshake: its common name (CN) is the user, its organizations (O) are the groups. Default:
    /// none is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificates: Option<ClientCertificates>,
    /// By a token of an OpenID Connect issuer, in `Authorization: Bearer`. Default: no issuer. At most 16.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub oidc: Vec<Issuer>,
    /// By a static token, in `Authorization: Bearer`. Default: none is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
}

/// Who has client certificates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientCertificates {
    /// PEM file of the authorities whose certificates are taken. Read once, at the start. They should issue certificates for
    /// nothing else: each of their clients is somebody here.
    pub authorities: PathBuf,
}

/// Static tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tokens {
    /// File of the tokens' hashes, in YAML or JSON. Read again when it changes; a token that is taken out of it is refused from then
    /// on. Others than its owner and its group must not have the right to write it.
    pub file: PathBuf,
}

/// An OpenID Connect issuer whose tokens are taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Issuer {
    /// Its URL, as it stands in its tokens (`iss`) and in its discovery document, letter by letter. `https`, or `http` for a
    /// loopback address; without query and fragment. At most 256 bytes.
    #[schemars(length(min = 1, max = 256))]
    pub issuer: String,
    /// Who the tokens are for (`aud`): the client id of this server at the issuer. A token needs one of them. 1 to 16, of at most 256
    /// bytes each.
    #[schemars(length(min = 1, max = 16))]
    pub audiences: Vec<String>,
    /// The claim that is the user's name. Default `sub`. With `email`, a claim `email_verified` must be true where it is there.
    #[serde(default = "default_username_claim")]
    #[schemars(length(min = 1, max = 256))]
    pub username_claim: String,
    /// What is put before the names of users, so that they are nobody else's. Default: the issuer and `#`. Empty: nothing; then they
    /// are the same people as those of client certificates and static tokens by these names. At most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub username_prefix: Option<String>,
    /// The claim that has the groups: a text, or a list of texts. Default: nobody is in a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub groups_claim: Option<String>,
    /// What is put before the names of groups. Default: the issuer and `#`. Empty: nothing. At most 256 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub groups_prefix: Option<String>,
    /// PEM file of the authorities of the issuer's own certificate. Read once, at the start. Default: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<PathBuf>,
}

fn default_username_claim() -> String {
    "sub".to_owned()
}

impl Issuer {
    /// An issuer, whose tokens are for one audience, and else what is default.
    #[must_use]
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audiences: vec![audience.into()],
            username_claim: default_username_claim(),
            username_prefix: None,
            groups_claim: None,
            groups_prefix: None,
            authorities: None,
        }
    }

    /// What is put before the names of its users or groups.
    pub(crate) fn prefix(&self, kind: Kind) -> String {
        let prefix = match kind {
            Kind::User => &self.username_prefix,
            Kind::Group => &self.groups_prefix,
        };
        prefix.clone().unwrap_or_else(|| format!("{}#", self.issuer))
    }

    fn check_at(&self, path: &Path, checks: &mut Checks) {
        let url = path.field("issuer");
        if let Err(rule) = check_url(&self.issuer) {
            checks.refuse(&url, &self.issuer, rule.to_string());
        }
        let audiences = path.field("audiences");
        if !(1..=AUDIENCES_MAX).contains(&self.audiences.len()) {
            checks.refuse(&audiences, "", format!("an issuer has 1 to {AUDIENCES_MAX} audiences"));
        }
        for (index, audience) in self.audiences.iter().enumerate().take(AUDIENCES_MAX) {
            check_text(&audiences.item(index), audience, checks);
        }
        check_text(&path.field("usernameClaim"), &self.username_claim, checks);
        if let Some(claim) = &self.groups_claim {
            check_text(&path.field("groupsClaim"), claim, checks);
        }
        let prefixes = [("usernamePrefix", &self.username_prefix), ("groupsPrefix", &self.groups_prefix)];
        for (field, prefix) in prefixes {
            if let Some(prefix) = prefix.as_ref().filter(|prefix| !prefix.is_empty()) {
                check_prefix(&path.field(field), prefix, checks);
            }
        }
        if self.groups_prefix.is_some() && self.groups_claim.is_none() {
            checks.refuse(&path.field("groupsPrefix"), "", "a prefix of groups needs a claim that has them");
        }
    }
}

fn check_text(path: &Path, text: &str, checks: &mut Checks) {
    if text.is_empty() || text.len() > TEXT_BYTES_MAX {
        checks.refuse(path, text, format!("it has 1 to {TEXT_BYTES_MAX} bytes"));
    }
}

fn check_prefix(path: &Path, prefix: &str, checks: &mut Checks) {
    check_text(path, prefix, checks);
    if RESERVED_PREFIX.starts_with(prefix) || name::check(Kind::User, &format!("{prefix}x")).is_err() {
        let rule = format!(
            "it has no invisible characters, does not begin with a space, and not as {RESERVED_PREFIX:?} does"
        );
        checks.refuse(path, prefix, rule);
    }
}

impl Settings {
    /// Checks what can be checked without the files.
    ///
    /// # Errors
    /// All fields that break a rule.
    pub fn check(&self) -> Result<(), Refusals> {
        let (mut checks, oidc) = (Checks::default(), Path::root().field("oidc"));
        if self.oidc.len() > ISSUERS_MAX {
            checks.refuse(&oidc, "", format!("there are at most {ISSUERS_MAX} issuers"));
        }
        let (mut issuers, mut prefixes) = (BTreeSet::new(), BTreeSet::new());
        for (index, issuer) in self.oidc.iter().enumerate().take(ISSUERS_MAX) {
            let path = oidc.item(index);
            issuer.check_at(&path, &mut checks);
            if !issuers.insert(&issuer.issuer) {
                checks.refuse(&path.field("issuer"), &issuer.issuer, "no two issuers have the same URL");
            }
            for (field, kind) in [("usernamePrefix", Kind::User), ("groupsPrefix", Kind::Group)] {
                let has_names = kind == Kind::User || issuer.groups_claim.is_some();
                if has_names && !prefixes.insert((kind, issuer.prefix(kind))) {
                    let rule = "no two issuers have the same prefix: their names could not be told apart";
                    checks.refuse(&path.field(field), &issuer.prefix(kind), rule);
                }
            }
        }
        let files = [
            (
                "clientCertificates.authorities",
                self.client_certificates.as_ref().map(|found| &found.authorities),
            ),
            ("tokens.file", self.tokens.as_ref().map(|found| &found.file)),
        ];
        for (field, file) in files {
            if file.is_some_and(|file| file.as_os_str().is_empty()) {
                checks.refuse(&Path::root().field(field), "", "it is the path of a file");
            }
        }
        checks.finish(Some(()))
    }

    /// Whether there is any way to prove who one is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.client_certificates.is_none() && !self.takes_tokens()
    }

    fn takes_tokens(&self) -> bool {
        !self.oidc.is_empty() || self.tokens.is_some()
    }

    /// What a TLS server asks of its clients: a certificate must be shown where there is no other way.
    #[must_use]
    pub fn clients(&self) -> Clients {
        match &self.client_certificates {
            None => Clients::NotAsked,
            Some(ClientCertificates { authorities }) if self.takes_tokens() => {
                Clients::Asked(authorities.clone())
            }
            Some(ClientCertificates { authorities }) => Clients::Required(authorities.clone()),
        }
    }

    /// The beginnings of names that are kept for issuers.
    pub(crate) fn prefixes(&self, kind: Kind) -> Vec<String> {
        let prefixes = self.oidc.iter().map(|issuer| issuer.prefix(kind));
        prefixes.filter(|prefix| !prefix.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(settings: &Settings) -> Vec<String> {
        let refusals = settings.check().err().map(|refusals| refusals.as_slice().to_vec());
        refusals.into_iter().flatten().map(|refusal| refusal.path).collect()
    }

    fn issuers(issuers: impl IntoIterator<Item = Issuer>) -> Settings {
        Settings { oidc: issuers.into_iter().collect(), ..Settings::default() }
    }

    #[test]
    fn settings_are_read_as_they_are_documented() {
        let text = "clientCertificates:\n  authorities: /etc/dcm/clients.pem\noidc:\n- issuer: https://login.example.com/realms/edge\n  \
            audiences: [dcm]\n  usernameClaim: email\n  usernamePrefix: ''\n  groupsClaim: groups\n  groupsPrefix: 'edge:'\ntokens:\n  \
            file: /etc/dcm/tokens.yaml\n";
        let settings: Settings = serde_saphyr::from_str(text).unwrap();
        assert_eq!(refused(&settings), [""; 0]);
        assert_eq!(settings.clients(), Clients::Asked("/etc/dcm/clients.pem".into()));
        assert_eq!(
            serde_saphyr::from_str::<Settings>(&serde_saphyr::to_string(&settings).unwrap()).unwrap(),
            settings
        );
        let small: Settings =
            serde_saphyr::from_str("oidc: [{issuer: https://a.example.com, audiences: [dcm]}]").unwrap();
        assert_eq!(small.oidc, [Issuer::new("https://a.example.com", "dcm")]);
        assert_eq!(small.oidc[0].prefix(Kind::User), "https://a.example.com#");
        assert!(serde_saphyr::from_str::<Settings>("oicd: []").is_err());
        assert!(Settings::default().is_empty() && !small.is_empty());
    }

    #[test]
    fn a_certificate_must_be_shown_where_there_is_no_other_way() {
        let authorities = PathBuf::from("clients.pem");
        let mut settings = Settings {
            client_certificates: Some(ClientCertificates { authorities: authorities.clone() }),
            ..Settings::default()
        };
        assert_eq!(settings.clients(), Clients::Required(authorities.clone()));
        settings.tokens = Some(Tokens { file: "tokens.yaml".into() });
        assert_eq!(settings.clients(), Clients::Asked(authorities));
        settings.client_certificates = None;
        assert_eq!(settings.clients(), Clients::NotAsked);
    }

    #[test]
    fn every_broken_rule_names_its_field() {
        let good = || Issuer::new("https://a.example.com", "dcm");
        let wrong = Issuer {
            issuer: "http://a.example.com".to_owned(),
            audiences: vec![],
            username_claim: String::new(),
            username_prefix: Some("system:".to_owned()),
            groups_prefix: Some(" a".to_owned()),
            ..good()
        };
        let fields =
            ["issuer", "audiences", "usernameClaim", "usernamePrefix", "groupsPrefix", "groupsPrefix"];
        assert_eq!(refused(&issuers([wrong])), fields.map(|field| format!("oidc[0].{field}")));
        assert_eq!(refused(&issuers([good(), good()])), ["oidc[1].issuer", "oidc[1].usernamePrefix"]);
        let empty = Settings { tokens: Some(Tokens { file: PathBuf::new() }), ..Settings::default() };
        assert_eq!(refused(&empty), ["tokens.file"]);
    }

    #[test]
    fn a_prefix_can_not_be_completed_to_the_reserved_one() {
        for prefix in ["s", "sys", "system", "system:", "system:a"] {
            let issuer = Issuer {
                username_prefix: Some(prefix.to_owned()),
                ..Issuer::new("https://a.example.com", "dcm")
            };
            assert_eq!(refused(&issuers([issuer])), ["oidc[0].usernamePrefix"], "{prefix}");
        }
    }

    #[test]
    fn two_issuers_never_have_one_prefix() {
        let prefixed = |issuer: &str, prefix: &str| Issuer {
            username_prefix: Some(prefix.to_owned()),
            groups_claim: Some("groups".to_owned()),
            groups_prefix: Some(prefix.to_owned()),
            ..Issuer::new(issuer, "dcm")
        };
        let settings =
            issuers([prefixed("https://a.example.com", ""), prefixed("https://b.example.com", "")]);
        assert_eq!(refused(&settings), ["oidc[1].usernamePrefix", "oidc[1].groupsPrefix"]);
        let settings =
            issuers([prefixed("https://a.example.com", "a:"), prefixed("https://b.example.com", "b:")]);
        assert_eq!(refused(&settings), [""; 0]);
    }

    #[test]
    fn every_setting_is_documented() {
        let schema = schema();
        let definitions = schema["$defs"].as_object().unwrap().values().chain([&schema]);
        for definition in definitions.filter(|definition| definition["properties"].is_object()) {
            for (name, property) in definition["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{name}");
            }
            assert_eq!(definition["additionalProperties"], false);
        }
    }

    fn schema() -> serde_json::Value {
        schemars::schema_for!(Settings).to_value()
    }
}
