//! Passwords in URLs.

/// What is shown in the place of a password.
const HIDDEN: &str = "…";

/// The same URL with nothing in the place of its passwords: the one of its user, and parameters that are called so.
pub(super) fn without_passwords(url: &str) -> String {
    // A password may have what else ends it.
    let begins = url.rfind('@').unwrap_or_default();
    let query = url[begins..].find('?').map(|at| begins + at);
    let (url, query) = query.map_or((url, None), |at| (&url[..at], Some(&url[at + 1..])));
    let shown = match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?)))
    {
        Some((scheme, (who, rest))) => {
            let user = match who.split_once(':') {
                // Who can say what of it is what.
                _ if who.contains(['/', '?']) => HIDDEN.to_owned(),
                Some((user, _)) => format!("{user}:{HIDDEN}"),
                None => who.to_owned(),
            };
            format!("{scheme}://{user}@{rest}")
        }
        None => url.to_owned(),
    };
    let parameter = |parameter: &str| match parameter.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().contains("password") => format!("{name}={HIDDEN}"),
        _ => parameter.to_owned(),
    };
    let query = query.map(|query| query.split('&').map(parameter).collect::<Vec<_>>().join("&"));
    query.map_or(shown.clone(), |query| format!("{shown}?{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_password_is_shown() {
        for (url, shown) in [
            ("memory:", "memory:"),
            ("sqlite:/var/lib/a@b:c", "sqlite:/var/lib/a@b:c"),
            ("etcd://h:2379/dcm?ca=f", "etcd://h:2379/dcm?ca=f"),
            ("etcd://ann@h:2379", "etcd://ann@h:2379"),
            ("etcd://ann:b@c@h,i/dcm", "etcd://ann:…@h,i/dcm"),
            ("etcd://ann:a/b@h,i/dcm", "etcd://…@h,i/dcm"),
            ("etcd://ann:p?w@h", "etcd://…@h"),
            ("mongodb://h/d?password=a@b", "mongodb://…@b"),
            (
                "mongodb://a:p@h/d?tls=true&tlsCertificateKeyFilePassword=x%26",
                "mongodb://a:…@h/d?tls=true&tlsCertificateKeyFilePassword=…",
            ),
        ] {
            assert_eq!(without_passwords(url), shown);
        }
    }
}
