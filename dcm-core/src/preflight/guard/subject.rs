//! The subject of a certificate signing request, read by CEL.
//!
//! A policy that looks at labels alone would let the engine's user have any certificate signed. So the request itself is
//! read, as the signer reads it: `spec.request` is base64 of PEM, which is base64 of DER (PKCS #10). CEL has no functions
//! for either, so both are computed from numbers, as far as a subject with the longest common name and organization goes.
//! A request has the form that this module accepts, or it is refused:
//! - it is one PEM block from its first byte to its last, with line feeds, so that no other block is read in its place
//!   ([`one_block`]);
//! - the lines of the block that are read hold nothing but base64, and the first of them ends there: Go's parser takes lines with a colon
//!   for headers, which it drops, until the first line without one;
//! - the subject has one common name (`CN`), at most one organization (`O`) and nothing else, each by itself in a set;
//! - both begin with `dcm:`, as [`naming`](crate::render::naming) makes them, in a string type of one byte a character.
//!
//! An index beyond what was read is an error, and an error refuses.

/// Base64 of `-----BEGIN CERTIFICATE REQUEST-----` and a line feed: 36 bytes, so the rest begins a group of its own.
const FIRST_LINE: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";

/// Base64 of a line feed and `-----END CERTIFICATE REQUEST-----` with a line feed, where it begins a group of four characters, and of
/// what is left of that text where the group begins one or two bytes before it.
const LAST_LINE: [&str; 3] = [
    "Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=",
    "LS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K",
    "LS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==",
];

/// Bytes of the PEM's body that are read: 4 lines of 64 characters hold more than [`DER_BYTES`].
const PEM_BYTES: usize = 240;

/// Bytes of the DER that are read: headers of up to 14 bytes, and two names of up to 64 characters with 11 bytes each.
const DER_BYTES: usize = 168;

/// The DER's head: two sequences with a length of up to two bytes, the version, and the sequence of names.
const HEAD: &str = "variables.der[0] == 48 && variables.outer in [2, 3, 4] && variables.der[variables.outer] == 48 && \
                    variables.inner - variables.outer in [2, 3, 4] && variables.der[variables.inner] == 2 && \
                    variables.der[variables.inner + 1] == 1 && variables.der[variables.inner + 2] == 0 && \
                    variables.der[variables.inner + 3] == 48 && variables.der[variables.inner + 4] <= 129";

/// A set of one pair: the identifier 2.5.4.3 (`CN`) or 2.5.4.10 (`O`), and a UTF8String, PrintableString or IA5String that begins
/// with `dcm:`.
const NAME: &str = "variables.der[n] == 49 && variables.der[n + 1] < 128 && \
                    variables.der[n + 2] == 48 && variables.der[n + 3] == variables.der[n + 1] - 2 && \
                    variables.der[n + 4] == 6 && variables.der[n + 5] == 3 && variables.der[n + 6] == 85 && \
                    variables.der[n + 7] == 4 && variables.der[n + 8] in [3, 10] && \
                    variables.der[n + 9] in [12, 19, 22] && variables.der[n + 10] == variables.der[n + 1] - 9 && \
                    variables.der[n + 11] == 100 && variables.der[n + 12] == 99 && variables.der[n + 13] == 109 && \
                    variables.der[n + 14] == 58";

/// The variables, each of which uses those before it; the last one tells whether the subject is one of ours.
pub(super) fn variables() -> Vec<(&'static str, String)> {
    let length = |at: &str| format!("variables.der[{at}] < 128 ? 2 : variables.der[{at}] - 126");
    let character = "c >= 65 && c <= 90 ? c - 65 : c >= 97 && c <= 122 ? c - 71 : c >= 48 && c <= 57 ? c + 4 : \
                     c == 43 ? 62 : c == 47 ? 63 : -1";
    let numbers: Vec<String> = (0..PEM_BYTES).map(|number| number.to_string()).collect();
    let end = FIRST_LINE.len() + PEM_BYTES / 3 * 4;
    vec![
        ("numbers", format!("[{}]", numbers.join(", "))),
        (
            "sextets",
            format!(
                "object.spec.request.substring({}, {end}).split('').map(c, \
                 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'.indexOf(c))",
                FIRST_LINE.len()
            ),
        ),
        (
            "body",
            format!("variables.numbers.map(n, {}).filter(c, c != 10).map(c, {character})", byte("sextets")),
        ),
        ("der", format!("variables.numbers.filter(n, n < {DER_BYTES}).map(n, {})", byte("body"))),
        ("outer", length("1")),
        ("inner", format!("variables.outer + ({})", length("variables.outer + 1"))),
        ("first", "variables.inner + (variables.der[variables.inner + 4] < 128 ? 5 : 6)".to_owned()),
        ("end", "variables.first + variables.der[variables.first - 1]".to_owned()),
        ("second", "variables.first + 2 + variables.der[variables.first + 1]".to_owned()),
        (
            "names",
            "variables.second == variables.end ? [variables.first] : [variables.first, variables.second]"
                .to_owned(),
        ),
        (
            "isOwnSubject",
            format!(
                "object.spec.request.matches('{}') && variables.sextets.all(s, s >= 0) && \
                 variables.body.all(s, s >= 0) && variables.body.size() < {PEM_BYTES} && {HEAD} && variables.names.all(n, {NAME}) && \
                 variables.names.map(n, variables.der[n + 8]) in [[3], [3, 10], [10, 3]] && \
                 variables.names.map(n, n + 2 + variables.der[n + 1]).max() == variables.end",
                one_block(),
            ),
        ),
    ]
}

/// A regular expression for the base64 of a text that is one PEM block of a certificate signing request and nothing else.
///
/// Go's parser takes the first block that it can decode. A block begins with hyphens, so a text whose only hyphens are in its first and its
/// last line has no other. In base64, the character of a hyphen (00101101) depends on its place in a group of three bytes:
/// - first: `L`, and one of `Q` to `f`;
/// - second: one of `C`, `S`, `i`, `y`, and one of `0` to `3`;
/// - third: a character whose number is a multiple of four, and `t`.
///
/// RE2 has no negation, so the groups without one are spelled out.
fn one_block() -> String {
    // The first two characters of a group without a hyphen as its first byte, by whether the second byte can be one.
    let [no_second, second] = ["(?:L[^Q-Za-fCiy]|[^L][^CSiy])", "(?:L[Ciy]|[^L][CSiy])"];
    // Characters whose number is a multiple of four; `0` would complete a hyphen as the second byte.
    let [fourths, fourths_but_zero] = ["AEIMQUYcgkosw048", "AEIMQUYcgkosw48"];
    let group = format!(
        "(?:{no_second}(?:[{fourths}][^t]|[^{fourths}].)|{second}(?:[{fourths_but_zero}][^t]|[^{fourths}123].))"
    );
    let [aligned, after_one, after_two] = LAST_LINE;
    let after_one = format!("(?:[^L][AQgw]|L[Agw])ot{after_one}");
    let after_two = format!("(?:{no_second}[{fourths}]|{second}[{fourths_but_zero}])K{after_two}");
    format!("^{FIRST_LINE}{group}*(?:{aligned}|{after_one}|{after_two})$")
}

/// The byte number `n` that a variable's values of 6 bits make.
fn byte(of: &str) -> String {
    let at = |index: usize| format!("variables.{of}[n / 3 * 4 + {index}]");
    let [a, b, c, d] = [at(0), at(1), at(2), at(3)];
    format!("n % 3 == 0 ? {a} * 4 + {b} / 16 : n % 3 == 1 ? {b} % 16 * 16 + {c} / 4 : {c} % 4 * 64 + {d}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_what_requests_begin_with() {
        use base64::Engine as _;
        let line = format!("-----BEGIN {}-----\n", crate::subject::REQUEST_LABEL);
        assert_eq!(base64::engine::general_purpose::STANDARD.encode(line), FIRST_LINE);
    }

    #[test]
    fn the_last_line_is_what_requests_end_with_wherever_it_begins() {
        use base64::Engine as _;
        let line = format!("-----END {}-----\n", crate::subject::REQUEST_LABEL);
        let texts = [format!("\n{line}"), line[1..].to_owned(), line];
        assert_eq!(texts.map(|text| base64::engine::general_purpose::STANDARD.encode(text)), LAST_LINE);
    }
}
