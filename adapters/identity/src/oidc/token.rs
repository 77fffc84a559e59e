//! A JSON Web Token, before anything in it is believed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::dangerous::insecure_decode;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, TokenData};
use serde_json::{Map, Value};

use crate::refused::Refused;

/// What a token says that it is, where it says so. Other things that issuers sign must not be taken for a proof of who somebody is.
const TYPES: [&str; 2] = ["JWT", "at+jwt"];

/// A token whose form was checked, and nothing else.
pub(super) struct Token<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: Option<String>,
    /// What is signed.
    pub(super) message: &'a [u8],
    pub(super) signature: Vec<u8>,
    pub(super) claims: Map<String, Value>,
}

impl<'a> Token<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, Refused> {
        let (message, signature) = text.rsplit_once('.').ok_or(Refused::Form)?;
        let TokenData { header, claims } = insecure_decode(text).map_err(|error| refusal(error.kind()))?;
        if is_symmetric(header.alg) {
            return Err(Refused::Algorithm);
        }
        // Whoever does not know what is critical must not go on (RFC 7515).
        if header.crit.is_some() {
            return Err(Refused::Header("critical extensions"));
        }
        if header.typ.as_deref().is_some_and(|name| !is_type_taken(name)) {
            return Err(Refused::Header("a type that proves nothing"));
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Refused::Form)?;
        Ok(Self { algorithm: header.alg, key_id: header.kid, message: message.as_bytes(), signature, claims })
    }

    /// Who says that they have made it.
    pub(super) fn issuer(&self) -> Result<&str, Refused> {
        let issuer = self.claims.get("iss").and_then(Value::as_str);
        issuer.ok_or_else(|| Refused::Claim { claim: "iss".to_owned(), rule: "must be a text" })
    }
}

fn is_type_taken(name: &str) -> bool {
    let prefix = "application/";
    let name = match name.get(..prefix.len()) {
        Some(start) if start.eq_ignore_ascii_case(prefix) => &name[prefix.len()..],
        _ => name,
    };
    TYPES.iter().any(|taken| taken.eq_ignore_ascii_case(name))
}

fn is_symmetric(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512)
}

/// What can be read as JSON and does not fit has a header without an algorithm, or with one that is not known, such as `none`: of the
/// claims any object is taken.
fn refusal(error: &ErrorKind) -> Refused {
    match error {
        ErrorKind::Json(error) if error.is_data() => Refused::Algorithm,
        _ => Refused::Form,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn token(header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        format!("{}.{}.{}", part(header), part(claims), URL_SAFE_NO_PAD.encode("signature"))
    }

    fn refused(text: &str) -> Option<Refused> {
        Token::read(text).err()
    }

    #[test]
    fn only_signatures_by_private_keys_are_taken() {
        let claims = json!({"iss": "https://a.example.com"});
        let with = |algorithm: &str| refused(&token(&json!({"alg": algorithm, "typ": "JWT"}), &claims));
        for taken in ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"] {
            assert_eq!(with(taken), None, "{taken}");
        }
        for other in ["none", "None", "", "HS256", "HS384", "HS512", "ES512", "ES256K", "RSA1_5", "rs256"] {
            assert_eq!(with(other), Some(Refused::Algorithm), "{other}");
        }
        assert_eq!(refused(&token(&json!({"typ": "JWT"}), &claims)), Some(Refused::Algorithm));
    }

    #[test]
    fn what_is_signed_for_another_purpose_is_not_taken() {
        let typed = |name: &str| refused(&token(&json!({"alg": "ES256", "typ": name}), &json!({})));
        for taken in ["JWT", "jwt", "at+jwt", "application/at+JWT"] {
            assert_eq!(typed(taken), None, "{taken}");
        }
        for other in ["logout+jwt", "dpop+jwt", "secevent+jwt", "", "application/", "ä"] {
            assert!(matches!(typed(other), Some(Refused::Header(_))), "{other}");
        }
        let critical = json!({"alg": "ES256", "crit": ["b64"], "b64": false});
        assert!(matches!(refused(&token(&critical, &json!({}))), Some(Refused::Header(_))));
    }

    #[test]
    fn garbage_has_not_the_form_of_a_token() {
        let good = token(&json!({"alg": "ES256"}), &json!({}));
        let parts: Vec<_> = good.split('.').collect();
        for text in [
            "..".to_owned(),
            "a.b.c".to_owned(),
            format!("{}..{}", parts[0], parts[2]),
            format!("{}.{}.=", parts[0], parts[1]),
            format!("{}.{}.{}", parts[1], parts[1], parts[2]).replace(parts[1], "e30"),
        ] {
            assert!(refused(&text).is_some(), "{text}");
        }
        assert_eq!(refused(&good), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".*", dots in "[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}\\.[A-Za-z0-9_-]{0,40}") {
            let _ = (refused(&text), refused(&dots));
        }
    }
}
