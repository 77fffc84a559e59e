//! Where etcd is, as a URL says it: `etcd://[USER[:PASSWORD]@]HOST:PORT[,HOST:PORT…][/PREFIX][?OPTION=VALUE&…]`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::url::{self, INSECURE, decoded};

/// Where etcd listens when nothing else is said.
const PORT: u16 = 2379;

/// What the keys begin with when nothing else is said.
const PREFIX: &str = "dcm";

/// How long an answer may take when nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Longest prefix, in bytes: it is in each key three times in a request, which etcd limits.
const PREFIX_BYTES_MAX: usize = 128;

/// Where etcd is, and how it is spoken to.
#[derive(Clone, PartialEq, Eq)]
pub struct Location {
    /// `HOST:PORT` of each member. They are asked in turn when one does not answer.
    pub endpoints: Vec<String>,
    /// Who we are; none: etcd asks nobody.
    pub user: Option<User>,
    /// None: in clear.
    pub tls: Option<Tls>,
    /// All keys begin with this and a slash; `dcm` by default, 1 to 128 bytes.
    pub prefix: String,
    /// How long an answer may take; 5 seconds by default.
    pub timeout: Duration,
    /// True: also members on other machines may be spoken to in clear, where others on the way can read and change everything.
    pub insecure: bool,
}

/// A user of etcd.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

/// How etcd is spoken to over TLS.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// Authorities in PEM that etcd's certificate may come from; none: those of the system.
    pub authorities: Option<PathBuf>,
    /// Our certificate and its key in PEM; none: etcd asks for none.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Location")
            .field("endpoints", &self.endpoints)
            .field("user", &self.user)
            .field("tls", &self.tls)
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl Location {
    /// One place, in clear, with what is default else.
    #[must_use]
    pub fn at(endpoint: impl Into<String>) -> Self {
        Self {
            endpoints: vec![endpoint.into()],
            user: None,
            tls: None,
            prefix: PREFIX.into(),
            timeout: TIMEOUT,
            insecure: false,
        }
    }

    /// Reads what follows `etcd:` in a URL.
    ///
    /// # Errors
    /// What is wrong with it, without the password.
    pub(crate) fn parse(rest: &str) -> Result<Self, String> {
        let location = Self::read(rest)?;
        location.check()?;
        Ok(location)
    }

    /// The same without the rules for the whole.
    fn read(rest: &str) -> Result<Self, String> {
        let parts = url::Parts::of(rest)?;
        let (user, hosts) = match parts.authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(parse_user(user)?), hosts),
            None => (None, parts.authority),
        };
        let endpoints = hosts.split(',').map(endpoint).collect::<Result<_, _>>()?;
        let mut location = Self { endpoints, user, ..Self::at("") };
        if !parts.path.is_empty() {
            location.prefix = decoded(parts.path, "the prefix")?;
        }
        for option in parts.options() {
            location.set(option)?;
        }
        Ok(location)
    }

    fn set(&mut self, option: &str) -> Result<(), String> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let value = decoded(value, name)?;
        match name {
            "tls" if value == "true" => drop(self.tls.get_or_insert_default()),
            "ca" => self.tls.get_or_insert_default().authorities = Some(value.into()),
            "cert" => self.identity().0 = value.into(),
            "key" => self.identity().1 = value.into(),
            "timeout" => self.timeout = url::timeout(&value)?,
            INSECURE => self.insecure = url::insecure(&value)?,
            _ => {
                return Err(format!(
                    "`{name}` is no option; these are: ca, cert, insecure, key, timeout, tls=true"
                ));
            }
        }
        Ok(())
    }

    fn identity(&mut self) -> &mut (PathBuf, PathBuf) {
        self.tls.get_or_insert_default().identity.get_or_insert_default()
    }

    /// Refuses members on other machines that would be spoken to in clear; what can't be read is refused elsewhere.
    pub(crate) fn check_transport(rest: &str) -> Result<(), String> {
        Self::read(rest).map_or(Ok(()), |location| location.check_members())
    }

    fn check_members(&self) -> Result<(), String> {
        if self.tls.is_some() || self.insecure {
            return Ok(());
        }
        let host = |member: &str| member.rsplit_once(':').map_or(member, |(host, _)| host).to_owned();
        match self.endpoints.iter().find(|member| !url::is_loopback(&host(member))) {
            Some(member) => Err(url::in_clear(member, "tls=true (or ca=FILE)")),
            None => Ok(()),
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        self.check_members()?;
        if self.endpoints.is_empty() {
            return Err("there is at least one member".into());
        }
        let empty = PathBuf::new();
        let identity = self.tls.as_ref().and_then(|tls| tls.identity.as_ref());
        if identity.is_some_and(|(certificate, key)| *certificate == empty || *key == empty) {
            return Err("`cert` and `key` go together".into());
        }
        let is_legal = !self.prefix.ends_with('/') && !self.prefix.chars().any(char::is_control);
        if !is_legal || !(1..=PREFIX_BYTES_MAX).contains(&self.prefix.len()) {
            return Err(format!("a prefix has 1 to {PREFIX_BYTES_MAX} bytes, and no slash at its end"));
        }
        url::check_timeout(self.timeout)
    }
}

fn parse_user(user: &str) -> Result<User, String> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    Ok(User { name: decoded(name, "the user")?, password: decoded(password, "the password")? })
}

/// `HOST:PORT`, with the port that is default where none is given.
fn endpoint(text: &str) -> Result<String, String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => {
            (host, port.parse().map_err(|_| "a port is a number to 65535")?)
        }
        _ => (text, PORT),
    };
    if host.is_empty() || host.contains(['/', '@', ' ']) {
        return Err("a member is HOST or HOST:PORT; an IPv6 address stands in brackets".into());
    }
    Ok(format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_members_user_tls_prefix_and_timeout() {
        let text = "//me:p%40ss@one:1,two,[::1]:3/deep/er?ca=/ca.pem&cert=/c.pem&key=/k.pem&timeout=9";
        let location = Location::parse(text).unwrap();
        assert_eq!(location.endpoints, ["one:1", "two:2379", "[::1]:3"]);
        assert_eq!(location.user, Some(User { name: "me".into(), password: "p@ss".into() }));
        let tls = location.tls.as_ref().unwrap();
        assert_eq!(tls.authorities, Some("/ca.pem".into()));
        assert_eq!(tls.identity, Some(("/c.pem".into(), "/k.pem".into())));
        assert_eq!((location.prefix.as_str(), location.timeout), ("deep/er", Duration::from_secs(9)));
        assert!(!format!("{location:?}").contains("p@ss"));
    }

    #[test]
    fn the_documented_urls_are_understood() {
        let locations: Vec<Location> =
            url::documented("etcd").iter().map(|rest| Location::parse(rest).unwrap()).collect();
        assert_eq!(locations[0], Location::at("localhost:2379"));
        assert!(locations[1..].iter().all(|location| location.tls.is_some()));
        assert_eq!((locations[1].endpoints.len(), &*locations[1].prefix), (3, "tenants"));
        assert_eq!(locations[2].user.as_ref().unwrap().password, "p@ss");
        let certificate = &locations[3].tls.as_ref().unwrap().identity.as_ref().unwrap().0;
        assert_eq!(
            (certificate, locations[3].timeout),
            (&"/etc/dcm/client.pem".into(), Duration::from_secs(10))
        );
        assert_eq!(locations.len(), 4);
    }

    #[test]
    fn what_is_left_out_is_default() {
        assert_eq!(Location::parse("//localhost"), Ok(Location::at("localhost:2379")));
        assert_eq!(Location::parse("//one/?tls=true").unwrap().tls, Some(Tls::default()));
    }

    #[test]
    fn members_on_other_machines_are_spoken_to_over_tls_unless_the_url_allows_it_in_clear() {
        for text in
            ["//localhost,127.0.0.1:1,[::1]", "//one?tls=true", "//one?ca=/ca.pem", "//one?insecure=true"]
        {
            Location::parse(text).unwrap();
        }
        for (text, named) in [
            ("//one", "one:2379"),
            ("//localhost,me.example:1", "me.example:1"),
            ("//me:hunter2@10.0.0.1?insecure=false", "10.0.0.1:2379"),
            ("//[2001:db8::1]", "[2001:db8::1]:2379"),
        ] {
            let error = Location::parse(text).unwrap_err();
            let ways = ["tls=true", "insecure=true"].iter().all(|way| error.contains(way));
            assert!(error.starts_with(named) && ways && !error.contains("hunter2"), "{error}");
            assert_eq!(Location::check_transport(text), Err(error));
        }
        assert_eq!(Location::check_transport("//one?colour=red"), Ok(()), "it is refused when it is opened");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, named) in [
            ("one", "//"),
            ("//", "HOST"),
            ("//one,", "HOST"),
            ("//one:x", "port"),
            ("//one/a/?tls=true", "slash"),
            ("//one?insecure=yes", "insecure"),
            ("//one?cert=/c", "`key`"),
            ("//one?tls=maybe", "tls"),
            ("//one?colour=red", "colour"),
            ("//one?tls=true&timeout=0", "timeout"),
            ("//one?timeout=soon", "timeout"),
            ("//me:%ff@one", "password"),
        ] {
            let error = Location::parse(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
