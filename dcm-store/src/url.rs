//! What the URLs of stores have in common.

use std::net::IpAddr;
use std::time::Duration;

use percent_encoding::percent_decode_str;

/// What is said of an `@` that does not end the user and the password.
const MISPLACED_AT: &str = "`@` stands behind a `/`, `?` or `#`: in a user and a password these are written `%2F`, `%3F` and `%23`, \
                            and behind the host `@` is written `%40`";

/// Longest time that an answer may take.
const TIMEOUT_MAX: Duration = Duration::from_secs(60 * 60);

/// The parts of what follows a scheme: `//AUTHORITY[/PATH][?OPTION&…]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'u> {
    pub(crate) authority: &'u str,
    pub(crate) path: &'u str,
    options: &'u str,
}

impl<'u> Parts<'u> {
    /// # Errors
    /// When the slashes are missing, or `@` stands behind the authority: a password that was cut off would be taken for a path or
    /// an option, and shown.
    pub(crate) fn of(rest: &'u str) -> Result<Self, String> {
        let rest = rest.strip_prefix("//").ok_or("`//` and a host follow the colon")?;
        if rest.split_once(['/', '?', '#']).is_some_and(|(_, behind)| behind.contains('@')) {
            return Err(MISPLACED_AT.into());
        }
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        Ok(Self { authority, path, options })
    }

    pub(crate) fn options(&self) -> impl Iterator<Item = &'u str> {
        self.options.split('&').filter(|option| !option.is_empty())
    }
}

/// What follows a scheme in each example of `docs/stores.md`.
#[cfg(test)]
pub(crate) fn documented(scheme: &str) -> Vec<String> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/stores.md");
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().filter_map(|line| line.strip_prefix(scheme)?.strip_prefix(':').map(str::to_owned)).collect()
}

/// The option that lets documents and passwords go to other machines in clear.
pub(crate) const INSECURE: &str = "insecure";

/// True for a host that is this machine: `localhost` or a loopback address, an IPv6 address with or without brackets.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match address.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

/// What is wrong with a member on another machine, where neither TLS nor [`INSECURE`] is set.
pub(crate) fn in_clear(member: &str, tls: &str) -> String {
    format!(
        "{member} is another machine, and documents and passwords go to other machines over TLS only: set {tls} in the URL of \
         the store, or {INSECURE}=true where the network in between is protected otherwise"
    )
}

/// The value of [`INSECURE`].
///
/// # Errors
/// When it is neither `true` nor `false`.
pub(crate) fn insecure(value: &str) -> Result<bool, String> {
    value.parse().map_err(|_| format!("`{INSECURE}` is true or false"))
}

/// Text without its percent-encoding.
///
/// # Errors
/// When it is no text then. The text is not in the error: it may be a password.
pub(crate) fn decoded(text: &str, what: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(Into::into).map_err(|_| format!("{what} is not UTF-8"))
}

/// How long an answer may take.
///
/// # Errors
/// When it is no number of seconds.
pub(crate) fn timeout(seconds: &str) -> Result<Duration, String> {
    let seconds = seconds.parse().map_err(|_| "`timeout` is a number of seconds")?;
    Ok(Duration::from_secs(seconds))
}

/// # Errors
/// When it is no time at all, or more than [`TIMEOUT_MAX`].
pub(crate) fn check_timeout(timeout: Duration) -> Result<(), String> {
    if timeout.is_zero() {
        return Err("`timeout` is at least a second".into());
    }
    if timeout > TIMEOUT_MAX {
        return Err(format!("`timeout` is at most {} seconds", TIMEOUT_MAX.as_secs()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_between_a_second_and_an_hour() {
        for (seconds, accepted) in
            [("0", false), ("1", true), ("3600", true), ("3601", false), ("18446744073709551615", false)]
        {
            assert_eq!(timeout(seconds).and_then(check_timeout).is_ok(), accepted, "{seconds}");
        }
    }

    #[test]
    fn only_loopback_addresses_and_localhost_are_this_machine() {
        for host in ["localhost", "LocalHost", "127.0.0.1", "127.9.9.9", "[::1]", "::1", "::ffff:127.0.0.1"] {
            assert!(is_loopback(host), "{host}");
        }
        for host in
            ["", "etcd", "127.0.0.1.example", "localhost.example", "0.0.0.0", "10.0.0.1", "[::]", "[::2]"]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn a_password_that_would_be_cut_off_is_refused_and_not_shown() {
        for text in
            ["//me:hun?ter@one/db", "//me:hun/ter@one", "//me:hun#ter@one/db?a=b", "//one/db?a=hun@ter"]
        {
            let error = Parts::of(text).unwrap_err();
            assert!(["%2F", "%3F", "%23", "%40"].iter().all(|way| error.contains(way)), "{error}");
            assert!(!error.contains("hun") && !error.contains("ter"), "{error}");
        }
        let parts = Parts::of("//me:hun%3Fter@one/db?a=%40").unwrap();
        assert_eq!((parts.authority, parts.path, parts.options), ("me:hun%3Fter@one", "db", "a=%40"));
    }
}
