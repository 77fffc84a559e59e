//! Where MongoDB is, as a URL says it: `mongodb://…/[DATABASE][?collection=NAME&timeout=SECONDS&OPTION=VALUE…]`.

use std::fmt;
use std::time::Duration;

use dcm_core::port::room::Room;
use mongodb::bson::{Bson, Document};
use mongodb::options::{ConnectionString, HostInfo, ServerAddress, Tls};

use crate::url::{self, INSECURE, decoded};

/// The database when nothing else is said.
const DATABASE: &str = "dcm";

/// The collection when nothing else is said.
const COLLECTION: &str = "DCM";

/// How long an answer may take when nothing else is said.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What sets TLS in a URL.
const TLS: &str = "tls=true";

/// How long MongoDB keeps that a document was deleted.
const DELETED_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Where MongoDB is, and how it is spoken to.
#[derive(Clone, PartialEq, Eq)]
pub struct Location {
    /// MongoDB's own connection string: members, who we are, TLS, and whatever else its driver knows.
    pub connection: String,
    /// The database; `dcm` by default.
    pub database: String,
    /// The collection in it; `DCM` by default.
    pub collection: String,
    /// How long an answer may take; 10 seconds by default.
    pub timeout: Duration,
    /// How long it is kept that a document was deleted, with its last version; a day by default. A document that is made again
    /// later has a higher version than it had as long as nobody's idea of the server's time is so far behind.
    pub deleted_kept: Duration,
    /// True: also members on other machines may be spoken to in clear, where others on the way can read and change everything.
    pub insecure: bool,
    /// The rooms of those who keep documents here: a record has the keys of its path as fields of their names, for people to look for.
    pub rooms: Vec<Room>,
}

impl fmt::Debug for Location {
    /// Without the connection string: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Location")
            .field("database", &self.database)
            .field("collection", &self.collection)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Location {
    /// A connection string, with what is default else.
    #[must_use]
    pub fn at(connection: impl Into<String>) -> Self {
        Self {
            connection: connection.into(),
            database: DATABASE.into(),
            collection: COLLECTION.into(),
            timeout: TIMEOUT,
            deleted_kept: DELETED_KEPT,
            insecure: false,
            rooms: Vec::new(),
        }
    }

    /// Reads what follows `mongodb:` in a URL. What the driver knows is left to the driver.
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
        let mut location = Self::at("");
        if !parts.path.is_empty() {
            location.database = decoded(parts.path, "the database")?;
        }
        let mut others = Vec::new();
        for option in parts.options() {
            match option.split_once('=') {
                Some(("collection", name)) => location.collection = decoded(name, "the collection")?,
                Some(("timeout", seconds)) => location.timeout = url::timeout(seconds)?,
                Some((INSECURE, value)) => location.insecure = url::insecure(value)?,
                _ => others.push(option),
            }
        }
        location.connection = format!("mongodb://{}/{}?{}", parts.authority, parts.path, others.join("&"));
        Ok(location)
    }

    /// Refuses members on other machines that would be spoken to in clear, or whose certificate would not be verified; what can't be
    /// read is refused elsewhere.
    pub(crate) fn check_transport(rest: &str) -> Result<(), String> {
        Self::read(rest).map_or(Ok(()), |location| location.check_members())
    }

    /// By what the driver reads of the connection string. What it refuses is refused when it is opened.
    fn check_members(&self) -> Result<(), String> {
        let Some(read) = self.exposed() else { return Ok(()) };
        let other = match &read.host_info {
            HostInfo::HostIdentifiers(members) => members.iter().find_map(on_another_machine),
            _ => Some("the host that is found by DNS".to_owned()),
        };
        other.map_or(Ok(()), |member| Err(refusal(&member, &read)))
    }

    /// Refuses the members that a replica set has by its own account, in the answer to `hello`: the driver connects to all of them.
    pub(super) fn check_replica_set(&self, hello: &Document) -> Result<(), String> {
        let Some(read) = self.exposed().filter(|read| read.direct_connection != Some(true)) else {
            return Ok(());
        };
        let lists = ["hosts", "passives"].into_iter().filter_map(|name| hello.get_array(name).ok());
        let mut members = lists.flatten().filter_map(Bson::as_str);
        let other = members.find_map(|member| on_another_machine(&ServerAddress::parse(member).ok()?));
        other.map_or(Ok(()), |member| Err(refusal(&member, &read)))
    }

    /// The connection string, when it leaves documents to the network: in clear, or to a server that proves nothing. None where that
    /// is allowed also to other machines.
    fn exposed(&self) -> Option<ConnectionString> {
        let read = ConnectionString::parse(&self.connection).ok().filter(|_| !self.insecure)?;
        let is_exposed = match (&read.tls, &read.host_info) {
            (Some(Tls::Enabled(tls)), _) => tls.allow_invalid_certificates == Some(true),
            // Where members are found by DNS, TLS is the default.
            (None, HostInfo::DnsRecord(_)) => false,
            _ => true,
        };
        is_exposed.then_some(read)
    }

    pub(super) fn check(&self) -> Result<(), String> {
        url::check_timeout(self.timeout)?;
        self.check_members()?;
        if self.collection.is_empty() || self.collection.starts_with("system.") {
            return Err("a collection has a name, which does not begin with `system.`".into());
        }
        if self.collection.contains(['$', '\0']) {
            return Err("a collection's name has no `$`".into());
        }
        Ok(())
    }
}

/// What is wrong with a member on another machine.
fn refusal(member: &str, read: &ConnectionString) -> String {
    match read.tls {
        Some(Tls::Enabled(_)) => format!(
            "{member} is another machine, and its certificate is not verified: leave tlsInsecure and tlsAllowInvalidCertificates \
             out of the URL of the store, or set {INSECURE}=true where the network in between is protected otherwise"
        ),
        _ => url::in_clear(member, TLS),
    }
}

/// The member as it is named, when it is neither a socket nor at a loopback address.
fn on_another_machine(member: &ServerAddress) -> Option<String> {
    match member {
        ServerAddress::Tcp { host, .. } if !url::is_loopback(host) => Some(member.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use mongodb::bson::doc;
    use mongodb::options::ClientOptions;

    use super::*;

    #[test]
    fn a_url_says_database_collection_and_timeout_and_leaves_the_rest_to_the_driver() {
        let text = "//me:p%40ss@one:1,two/tenants?tls=true&collection=Ours&timeout=3&tlsCAFile=/ca.pem";
        let location = Location::parse(text).unwrap();
        assert_eq!(location.connection, "mongodb://me:p%40ss@one:1,two/tenants?tls=true&tlsCAFile=/ca.pem");
        assert_eq!((location.database.as_str(), location.collection.as_str()), ("tenants", "Ours"));
        assert_eq!(location.timeout, Duration::from_secs(3));
        assert!(!format!("{location:?}").contains("p%40ss"));
    }

    #[test]
    fn what_is_left_out_is_default() {
        let location = Location::parse("//localhost").unwrap();
        assert_eq!(location, Location::at("mongodb://localhost/?"));
        assert_eq!((location.database.as_str(), location.collection.as_str()), ("dcm", "DCM"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, named) in [
            ("one", "//"),
            ("//localhost?timeout=0", "timeout"),
            ("//localhost?timeout=soon", "timeout"),
            ("//localhost?collection=", "collection"),
            ("//localhost?collection=system.x", "system"),
            ("//localhost?collection=a%24b", "$"),
            ("//one?insecure=yes", "insecure"),
            ("//one/%ff", "database"),
        ] {
            let error = Location::parse(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn members_on_other_machines_are_spoken_to_over_tls_unless_the_url_allows_it_in_clear() {
        for text in [
            "//localhost,127.0.0.1:1",
            "//%2Ftmp%2Fmongodb-27017.sock",
            "//one?tls=true",
            "//one?TLS=true&replicaSet=rs0",
            "//one?tlsCAFile=/ca.pem",
            "//one?insecure=true",
        ] {
            let location = Location::parse(text).unwrap();
            assert!(!location.connection.contains("insecure"), "{text}");
        }
        for (text, named) in [
            ("//one", "one"),
            ("//localhost,me.example:1/tenants", "me.example:1"),
            ("//me:hunter2@10.0.0.1?insecure=false", "10.0.0.1"),
            ("//one?tls=false", "one"),
        ] {
            let error = Location::parse(text).unwrap_err();
            let ways = ["tls=true", "insecure=true"].iter().all(|way| error.contains(way));
            assert!(error.starts_with(named) && ways && !error.contains("hunter2"), "{error}");
            assert_eq!(Location::check_transport(text), Err(error));
        }
    }

    #[test]
    fn certificates_of_other_machines_are_verified_unless_the_url_allows_it() {
        for option in ["tlsInsecure", "tlsAllowInvalidCertificates"] {
            let text = format!("//me:hunter2@10.0.0.1?tls=true&{option}=true");
            let error = Location::parse(&text).unwrap_err();
            let ways = [option, "insecure=true"].iter().all(|way| error.contains(way));
            assert!(error.starts_with("10.0.0.1") && ways && !error.contains("hunter2"), "{error}");
            assert_eq!(Location::check_transport(&text), Err(error));
            for allowed in [
                format!("{text}&insecure=true"),
                text.replace("10.0.0.1", "localhost"),
                format!("//one?tls=true&{option}=false"),
            ] {
                Location::parse(&allowed).unwrap();
            }
        }
    }

    #[test]
    fn members_that_a_replica_set_names_itself_are_held_to_the_same_rule() {
        let check = |text: &str, hosts: &[&str]| {
            Location::parse(text).unwrap().check_replica_set(&doc! { "setName": "rs0", "hosts": hosts })
        };
        let url = "//localhost?replicaSet=rs0";
        assert_eq!(check(url, &["localhost:27017", "127.0.0.1:27018"]), Ok(()));
        let error = check(url, &["localhost:27017", "mongo-2.example:27017"]).unwrap_err();
        assert!(error.starts_with("mongo-2.example:27017 is another machine"), "{error}");
        for allowed in ["tls=true", "insecure=true", "directConnection=true"] {
            assert_eq!(check(&format!("{url}&{allowed}"), &["mongo-2.example:27017"]), Ok(()), "{allowed}");
        }
    }

    #[tokio::test]
    async fn the_documented_urls_are_understood_also_by_the_driver() {
        let (mut locations, mut parsed) = (Vec::new(), Vec::new());
        for rest in url::documented("mongodb") {
            let location = Location::parse(&rest).unwrap();
            parsed.push(ClientOptions::parse(&location.connection).await.unwrap());
            locations.push(location);
        }
        assert_eq!((&*locations[0].database, &*locations[0].collection), ("dcm", "DCM"));
        assert_eq!((&*locations[1].database, &*locations[1].collection), ("tenants", "LogicalClouds"));
        let credential = parsed[1].credential.as_ref().unwrap();
        assert_eq!(credential.source.as_deref(), Some("admin"));
        assert_eq!(credential.password.as_deref(), Some("p@ss"));
        assert_eq!((parsed[2].hosts.len(), parsed[2].repl_set_name.as_deref()), (2, Some("rs0")));
        assert!(matches!(parsed[2].tls, Some(Tls::Enabled(_))));
        assert_eq!(locations.len(), 3);
    }

    /// As `docs/stores.md` says it.
    #[tokio::test]
    async fn a_user_is_looked_for_in_the_database_of_the_url_or_in_admin() {
        for (rest, source) in [("//me:p@localhost/tenants", "tenants"), ("//me:p@localhost", "admin")] {
            let parsed = ClientOptions::parse(&Location::parse(rest).unwrap().connection).await.unwrap();
            assert_eq!(parsed.credential.unwrap().source.unwrap_or("admin".into()), source, "{rest}");
        }
    }
}
