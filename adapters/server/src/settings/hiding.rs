//! Passwords in URLs.

/// What is shown in the place of a password.
const HIDDEN: &str = "…";

/// The same URL with nothing in the place of its passwords: the one of its user, and parameters that are called so.
pub(super) fn without_passwords(url: &str) -> String {
    let (url, query) = url.split_once('?').map_or((url, None), |(url, query)| (url, Some(query)));
    let shown = match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?)))
    {
        Some((scheme, (who, rest))) => {
            let user = who.split_once(':').map_or(who.to_owned(), |(user, _)| format!("{user}:{HIDDEN}"));
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
            ("etcd://ann:a/b@c@h,i/dcm", "etcd://ann:…@h,i/dcm"),
            (
                "mongodb://a:p@h/d?tls=true&tlsCertificateKeyFilePassword=x%26",
                "mongodb://a:…@h/d?tls=true&tlsCertificateKeyFilePassword=…",
            ),
        ] {
            assert_eq!(without_passwords(url), shown);
        }
    }
}
