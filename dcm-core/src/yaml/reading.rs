//! How plain scalars are read: by `kubectl`, which reads YAML 1.1 with go-yaml, and by the core schema of YAML 1.2, as this crate does.
//!
//! Sources: `resolve` of go-yaml v2.4 (`go.yaml.in/yaml/v2`), which kubectl uses through `sigs.k8s.io/yaml`, and YAML 1.2.2, section 10.3.2.

use serde_json::{Number, Value};

use crate::manifest::INTEGRAL_MAX;

/// A plain scalar as one reader takes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reading {
    /// No value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer of at most 64 bits, with or without a sign.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// An infinity, or not a number.
    NotFinite,
    /// The text as written.
    Text,
}

impl Reading {
    /// The number as Go writes it into JSON: without a fraction where it has none.
    fn normal(self) -> Self {
        match self {
            Self::Float(float) if float.fract() == 0.0 && float.abs() < INTEGRAL_MAX => {
                #[allow(clippy::cast_possible_truncation, reason = "it is integral and in range")]
                let integer = float as i128;
                Self::Integer(integer)
            }
            other => other,
        }
    }

    /// The JSON value of a scalar with this text; none for what JSON has no number for.
    pub(crate) fn value(self, text: &str) -> Option<Value> {
        match self.normal() {
            Self::Null => Some(Value::Null),
            Self::Bool(value) => Some(value.into()),
            Self::Integer(value) => Number::from_i128(value).map(Value::Number),
            Self::Float(value) => Number::from_f64(value).map(Value::Number),
            Self::NotFinite => None,
            Self::Text => Some(text.into()),
        }
    }

    /// The reading in words.
    pub(crate) fn describe(self, text: &str) -> String {
        match (self, self.value(text)) {
            (Self::Text, _) => format!("the text {text:?}"),
            (_, Some(value)) => value.to_string(),
            (_, None) => "not finite".to_owned(),
        }
    }
}

/// True where two readers take a scalar for one value.
pub(crate) fn agree(one: Reading, other: Reading) -> bool {
    one.normal() == other.normal()
}

/// True for the plain scalars that stand for no value.
pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn not_finite(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN")
}

/// Reads a plain scalar by the core schema of YAML 1.2.
pub(crate) fn core(text: &str) -> Reading {
    match text {
        _ if is_null(text) => return Reading::Null,
        "true" | "True" | "TRUE" => return Reading::Bool(true),
        "false" | "False" | "FALSE" => return Reading::Bool(false),
        _ if not_finite(text) => return Reading::NotFinite,
        _ => {}
    }
    let (negative, unsigned) = signed(text);
    if is_digits(unsigned, 10) {
        return integer(negative, unsigned, 10).unwrap_or_else(|| float(text));
    }
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix).filter(|digits| is_digits(digits, radix)) {
            return integer(false, digits, radix).unwrap_or(Reading::Text);
        }
    }
    if is_float(text) { float(text) } else { Reading::Text }
}

/// Reads a plain scalar as `kubectl` does.
pub(crate) fn kubectl(text: &str) -> Reading {
    match text {
        _ if is_null(text) => return Reading::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Reading::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Reading::Bool(false);
        }
        _ if not_finite(text) => return Reading::NotFinite,
        _ => {}
    }
    if text.starts_with('.') {
        // `strconv.ParseFloat` takes an underscore between two digits.
        let plain = without_separators(text);
        return if is_float(&plain) { finite_or_text(&plain) } else { Reading::Text };
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-')) {
        return Reading::Text;
    }
    let plain = text.replace('_', "");
    if let Some(integer) = go_integer(&plain) {
        return integer;
    }
    if is_float(&plain) {
        return finite_or_text(&plain);
    }
    binary(&plain).unwrap_or(Reading::Text)
}

/// The key that `kubectl` makes of a plain scalar; none where it refuses the mapping.
pub(crate) fn kubectl_key(text: &str) -> Option<String> {
    match kubectl(text) {
        Reading::Null => None,
        Reading::NotFinite if text.eq_ignore_ascii_case(".nan") => Some(".nan".to_owned()),
        Reading::NotFinite => Some(if text.starts_with('-') { "-.inf" } else { ".inf" }.to_owned()),
        Reading::Integer(key) => i64::try_from(key).ok().map(|key| key.to_string()),
        Reading::Float(key) => Some(go_float(key)),
        Reading::Bool(key) => Some(key.to_string()),
        Reading::Text => Some(text.to_owned()),
    }
}

/// A float as Go's `strconv.FormatFloat(…, 'g', -1, 32)` writes it, which is what `sigs.k8s.io/yaml` does with keys.
fn go_float(value: f64) -> String {
    #[allow(clippy::cast_possible_truncation, reason = "Go rounds it, too")]
    let value = value as f32;
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..6).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// Go's `strconv.ParseInt` and `ParseUint` with base 0, without underscores.
fn go_integer(text: &str) -> Option<Reading> {
    let (negative, unsigned) = signed(text);
    let prefix = unsigned.get(..2).unwrap_or_default().to_ascii_lowercase();
    let (digits, radix) = match prefix.as_str() {
        "0x" => (&unsigned[2..], 16),
        "0o" => (&unsigned[2..], 8),
        "0b" => (&unsigned[2..], 2),
        _ if unsigned.len() > 1 && unsigned.starts_with('0') => (&unsigned[1..], 8),
        _ => (unsigned, 10),
    };
    if !is_digits(digits, radix) {
        return None;
    }
    let read = integer(negative, digits, radix)?;
    // Only `ParseUint` goes beyond `i64`, and it takes no sign.
    let signs = unsigned.len() < text.len();
    let fits = matches!(read, Reading::Integer(value) if !signs || i64::try_from(value).is_ok());
    fits.then_some(read)
}

/// The text without the underscores that stand between two digits.
fn without_separators(text: &str) -> String {
    let is_digit = |at: Option<&u8>| at.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let kept = text.char_indices().filter(|(at, character)| {
        *character != '_' || !(is_digit(bytes.get(at.wrapping_sub(1))) && is_digit(bytes.get(at + 1)))
    });
    kept.map(|(_, character)| character).collect()
}

/// What go-yaml tries last: a sign between `0b` and the digits.
fn binary(text: &str) -> Option<Reading> {
    let (negative, digits) = signed(text.strip_prefix("0b")?);
    if is_digits(digits, 2) { integer(negative, digits, 2) } else { None }
}

/// True for a negative sign, and the text without its sign.
fn signed(text: &str) -> (bool, &str) {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    (text.starts_with('-'), unsigned)
}

fn is_digits(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|digit| digit.is_digit(radix))
}

/// None beyond 64 bits.
fn integer(negative: bool, digits: &str, radix: u32) -> Option<Reading> {
    let magnitude = i128::from(u64::from_str_radix(digits, radix).ok()?);
    let value = if negative { -magnitude } else { magnitude };
    (value >= i128::from(i64::MIN)).then_some(Reading::Integer(value))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, which both readers take for a float.
fn is_float(text: &str) -> bool {
    let (_, unsigned) = signed(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(signed(exponent).1)),
        None => (unsigned, None),
    };
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => is_digits(fraction, 10),
        Some((whole, fraction)) => is_digits(whole, 10) && (fraction.is_empty() || is_digits(fraction, 10)),
        None => is_digits(mantissa, 10),
    };
    is_mantissa && exponent.is_none_or(|digits| is_digits(digits, 10))
}

fn float(text: &str) -> Reading {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Reading::Float(value),
        Ok(_) => Reading::NotFinite,
        Err(_) => Reading::Text,
    }
}

/// Go's `strconv.ParseFloat` fails out of range, and go-yaml takes the text then.
fn finite_or_text(text: &str) -> Reading {
    match float(text) {
        Reading::NotFinite => Reading::Text,
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_scalar_has_the_values_that_each_reader_gives_it() {
        use Reading::{Bool, Float, Integer, NotFinite, Null, Text};
        for (text, by_kubectl, here) in [
            ("0755", Integer(493), Integer(755)),
            ("010", Integer(8), Integer(10)),
            ("-010", Integer(-8), Integer(-10)),
            ("08", Float(8.0), Integer(8)),
            ("0o755", Integer(493), Integer(493)),
            ("0O17", Integer(15), Text),
            ("0x1F", Integer(31), Integer(31)),
            ("-0x1F", Integer(-31), Text),
            ("0b101", Integer(5), Text),
            ("0b-101", Integer(-5), Text),
            ("1_000", Integer(1000), Text),
            ("1_0.5", Float(10.5), Text),
            ("_1", Text, Text),
            ("+5", Integer(5), Integer(5)),
            ("1e3", Float(1000.0), Float(1000.0)),
            (".5", Float(0.5), Float(0.5)),
            ("5.", Float(5.0), Float(5.0)),
            (".5_0", Float(0.5), Text),
            ("._5", Text, Text),
            (".5__0", Text, Text),
            ("1:30", Text, Text),
            ("2001-01-01", Text, Text),
            ("18446744073709551615", Integer(u64::MAX.into()), Integer(u64::MAX.into())),
            (
                "18446744073709551616",
                Float(18_446_744_073_709_551_616.0),
                Float(18_446_744_073_709_551_616.0),
            ),
            ("1e400", Text, NotFinite),
            (".inf", NotFinite, NotFinite),
            (".nan", NotFinite, NotFinite),
            ("+.nan", Text, Text),
            ("y", Bool(true), Text),
            ("off", Bool(false), Text),
            ("True", Bool(true), Bool(true)),
            ("nO", Text, Text),
            ("Null", Null, Null),
            ("", Null, Null),
        ] {
            assert_eq!((kubectl(text), core(text)), (by_kubectl, here), "{text}");
        }
    }

    #[test]
    fn a_key_is_the_text_that_go_writes_for_it() {
        for (text, key) in [
            ("on", Some("true")),
            ("0755", Some("493")),
            ("1e3", Some("1000")),
            ("1e6", Some("1e+06")),
            ("1234567.5", Some("1.2345675e+06")),
            ("3.14159265358979", Some("3.1415927")),
            ("1e-7", Some("1e-07")),
            ("0.5", Some("0.5")),
            ("1.0", Some("1")),
            ("a.b/c", Some("a.b/c")),
            ("18446744073709551615", None),
            ("null", None),
            (".inf", Some(".inf")),
            ("-.INF", Some("-.inf")),
            (".NaN", Some(".nan")),
        ] {
            assert_eq!(kubectl_key(text).as_deref(), key, "{text}");
        }
    }
}
