//! The file with the servers that a user knows: like a kubeconfig, each is a context, and one is the current one.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::Context as _;
use dcm_client::ServerUrl;
use dcm_core::secret::Secret;
use dcm_core::similar::did_you_mean;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::exit::{Ended, Exit};
use crate::{folders, private_file};

/// The environment variable that names another file.
pub(crate) const FILE: &str = "DCM_CONTEXTS_FILE";

/// Longest name of a context, in bytes.
const NAME_BYTES_MAX: usize = 63;

/// What a context is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ContextName(String);

/// A server, and how it is asked.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Context {
    /// Where it is.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub(crate) server: ServerUrl,
    /// A file of the authorities that its certificate may be of. Default: those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) certificate_authority: Option<PathBuf>,
    /// A bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "clear")]
    pub(crate) token: Option<Secret>,
    /// A file with a bearer token, which is read each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token_file: Option<PathBuf>,
    /// A file with a client certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_certificate: Option<PathBuf>,
    /// The file with its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) client_key: Option<PathBuf>,
}

/// All contexts of a user.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Contexts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    current_context: Option<ContextName>,
    #[serde(default)]
    contexts: BTreeMap<ContextName, Context>,
}

impl Context {
    /// A server that is asked without a credential.
    pub(crate) fn new(server: ServerUrl) -> Self {
        Self {
            server,
            certificate_authority: None,
            token: None,
            token_file: None,
            client_certificate: None,
            client_key: None,
        }
    }

    /// By what the server knows who asks.
    pub(crate) fn credential_kind(&self) -> &'static str {
        match self {
            Self { token: Some(_), .. } => "token",
            Self { token_file: Some(_), .. } => "token file",
            Self { client_certificate: Some(_), .. } => "certificate",
            _ => "none",
        }
    }
}

impl Contexts {
    /// Reads the file; no file is no contexts.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let file = file()?;
        let Some(text) = private_file::read(&file)? else { return Ok(Self::default()) };
        if text.expose().trim().is_empty() {
            return Ok(Self::default());
        }
        // What is wrong is told without the text, in which tokens are.
        dcm_core::yaml::read_own(text.expose())
            .with_context(|| format!("{} is not understood", file.display()))
    }

    /// Writes the file, for its owner only.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let text = serde_saphyr::to_string(self).context("contexts can't be written")?;
        if std::env::var_os(FILE).is_none() {
            folders::make_configuration()?;
        }
        private_file::write(&file()?, &Secret::new(text))
    }

    /// The name of the current one.
    pub(crate) fn current(&self) -> Option<&ContextName> {
        self.current_context.as_ref()
    }

    /// Returns the context of this name; fails with [`Exit::NotFound`] where no context has it.
    pub(crate) fn find(&self, name: &ContextName) -> Result<&Context, Ended> {
        self.contexts.get(name).ok_or_else(|| {
            let similar = did_you_mean(&name.0, self.contexts.keys().map(|known| known.0.as_str()));
            let hint = if similar.is_empty() { ": dcm login makes one" } else { &similar };
            Ended::new(Exit::NotFound, format!("there is no context {name}{hint}"))
        })
    }

    /// All, in the order of their names.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&ContextName, &Context)> {
        self.contexts.iter()
    }

    /// One of this server: the current one, or else the first.
    pub(crate) fn of_server(&self, server: &ServerUrl) -> Option<(&ContextName, &Context)> {
        let is_current = |name: &ContextName| Some(name) == self.current_context.as_ref();
        let found = self.contexts.iter().filter(|(_, context)| context.server == *server);
        found.min_by_key(|(name, _)| !is_current(name))
    }

    /// Puts one in, which is the current one from then on.
    pub(crate) fn put(&mut self, name: ContextName, context: Context) {
        self.contexts.insert(name.clone(), context);
        self.current_context = Some(name);
    }

    /// Sets the current context; fails with [`Exit::NotFound`] where no context has this name.
    pub(crate) fn choose(&mut self, name: &ContextName) -> Result<(), Ended> {
        self.find(name)?;
        self.current_context = Some(name.clone());
        Ok(())
    }

    /// Unsets the current context.
    pub(crate) fn leave(&mut self) {
        self.current_context = None;
    }

    /// Deletes a context; fails with [`Exit::NotFound`] where no context has this name.
    pub(crate) fn remove(&mut self, name: &ContextName) -> Result<(), Ended> {
        self.find(name)?;
        if self.current_context.as_ref() == Some(name) {
            self.leave();
        }
        self.contexts.remove(name);
        Ok(())
    }
}

/// The file of contexts.
pub(crate) fn file() -> anyhow::Result<PathBuf> {
    match std::env::var_os(FILE).filter(|file| !file.is_empty()) {
        Some(file) => Ok(file.into()),
        None => folders::contexts_file(),
    }
}

impl FromStr for ContextName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for ContextName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_legal =
            |character: char| character.is_ascii_graphic() && !matches!(character, '/' | '"' | '\'');
        if (1..=NAME_BYTES_MAX).contains(&text.len()) && text.chars().all(is_legal) && !text.starts_with('-')
        {
            return Ok(Self(text));
        }
        Err(format!("a context's name has 1 to {NAME_BYTES_MAX} visible characters, and no slash or quote"))
    }
}

impl From<ContextName> for String {
    fn from(name: ContextName) -> Self {
        name.0
    }
}

impl fmt::Display for ContextName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn as_text<S: Serializer>(server: &ServerUrl, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(server)
}

fn from_text<'de, D: Deserializer<'de>>(from: D) -> Result<ServerUrl, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// A secret as it is: the file is for its owner alone, as a kubeconfig is.
mod clear {
    use super::{Deserialize as _, Deserializer, Secret, Serializer};

    pub(super) fn serialize<S: Serializer>(secret: &Option<Secret>, to: S) -> Result<S::Ok, S::Error> {
        match secret {
            Some(secret) => to.serialize_str(secret.expose()),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(Secret::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_read_as_they_were_written() {
        let server = |text: &str| -> ServerUrl { text.parse().unwrap() };
        let name = |text: &str| -> ContextName { text.parse().unwrap() };
        let mut contexts = Contexts::default();
        let token = Some(Secret::new("secret"));
        contexts.put(name("b"), Context { token, ..Context::new(server("https://one")) });
        contexts.put(name("c"), Context::new(server("https://one")));
        contexts.put(name("a"), Context::new(server("https://two")));
        let text = serde_saphyr::to_string(&contexts).unwrap();
        let mut read: Contexts = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(read.current(), Some(&name("a")));
        let found =
            |contexts: &Contexts| contexts.of_server(&server("https://one")).map(|(name, _)| name.clone());
        assert_eq!(found(&read), Some(name("b")));
        assert_eq!(read.find(&name("b")).unwrap().token.as_ref().unwrap().expose(), "secret");
        assert!(read.choose(&name("c")).is_ok() && read.choose(&name("d")).is_err());
        assert_eq!(found(&read), Some(name("c")));
        assert!(read.remove(&name("c")).is_ok() && read.current().is_none());
        assert_eq!(
            read.remove(&name("c")).unwrap_err().to_string(),
            "there is no context c: dcm login makes one"
        );
        assert!(!format!("{read:?}").contains("secret"));
    }

    #[test]
    fn a_name_is_one_word() {
        for text in ["", "a b", "a/b", "-a", "a\n", &"a".repeat(64)] {
            assert!(text.parse::<ContextName>().is_err(), "{text}");
        }
        assert!("admin@dcm.example.com:9077".parse::<ContextName>().is_ok());
    }
}
