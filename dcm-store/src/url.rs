//! What the URLs of stores have in common.

use std::time::Duration;

use percent_encoding::percent_decode_str;

/// The parts of what follows a scheme: `//AUTHORITY[/PATH][?OPTION&…]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'u> {
    pub(crate) authority: &'u str,
    pub(crate) path: &'u str,
    options: &'u str,
}

impl<'u> Parts<'u> {
    /// # Errors
    /// When the slashes are missing.
    pub(crate) fn of(rest: &'u str) -> Result<Self, String> {
        let rest = rest.strip_prefix("//").ok_or("`//` and a host follow the colon")?;
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        Ok(Self { authority, path, options })
    }

    pub(crate) fn options(&self) -> impl Iterator<Item = &'u str> {
        self.options.split('&').filter(|option| !option.is_empty())
    }
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
/// When it is no time at all.
pub(crate) fn check_timeout(timeout: Duration) -> Result<(), String> {
    if timeout.is_zero() {
        return Err("`timeout` is at least a second".into());
    }
    Ok(())
}
