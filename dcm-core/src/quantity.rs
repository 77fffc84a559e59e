//! Quantities, by the rules of Kubernetes' `resource.Quantity`.
//!
//! A quantity is held exactly, in thousand-millionths, together with the family of its suffix. Its text is the
//! canonical one that the API server stores: no fraction, the largest suffix of the family, so `1000m` is `1` and
//! `1024Mi` is `1Gi`. As in Kubernetes, what is finer than a thousand-millionth is rounded up, and a quantity in a
//! binary suffix below 1024 is written in decimal ones. Unlike there, what is above 2^63−1 is refused, not cut, and so is
//! a suffix alone, which Kubernetes reads as 0.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::refusal::Rule;

/// Thousand-millionths in one.
const NANOS: i128 = 1_000_000_000;

/// Thousand-millionths in a thousandth.
const MILLIS: i128 = 1_000_000;

/// Largest magnitude, in whole units.
const LARGEST: i128 = i64::MAX as i128;

/// Longest text, in characters: longer than any exact quantity.
const TEXT_MAX: usize = 64;

/// How a quantity is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Family {
    /// `1500m`, `2`, `3G`.
    Decimal,
    /// `512Mi`.
    Binary,
    /// `3e6`.
    Exponent,
}

/// An amount of a resource, exact. Equal quantities of one family of suffixes are equal, however they were written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Quantity {
    nanos: i128,
    family: Family,
}

/// Why a text is no quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidQuantity {
    /// It does not have the form of one.
    #[error("must be a Kubernetes quantity such as 2, 500m, 1.5Gi or 1e3")]
    Form,
    /// It is above 2^63−1 in magnitude, or has more digits than can be held exactly.
    #[error("must be at most 2^63-1 in magnitude, with no more digits than can be held exactly")]
    TooLarge,
}

impl Rule for InvalidQuantity {
    fn rule(&self) -> String {
        self.to_string()
    }
}

impl Quantity {
    /// True below zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.nanos < 0
    }

    /// True for nothing.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.nanos == 0
    }

    /// The smaller amount of the two, whatever the families of their suffixes.
    #[must_use]
    pub fn smaller(self, other: Self) -> Self {
        if other.nanos < self.nanos { other } else { self }
    }

    /// The larger of two.
    #[must_use]
    pub fn larger(self, other: Self) -> Self {
        if other.nanos > self.nanos { other } else { self }
    }

    /// True when it is more than the other, whatever the families of their suffixes.
    #[must_use]
    pub fn is_above(&self, other: &Self) -> bool {
        self.nanos > other.nanos
    }

    /// True when it has no fraction.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.nanos % NANOS == 0
    }

    /// As the API server stores it in a list of resources, such as a quota's: rounded to thousandths, away from zero.
    #[must_use]
    pub fn in_thousandths(self) -> Self {
        let (quotient, rest) = (self.nanos / MILLIS, self.nanos % MILLIS);
        Self { nanos: (quotient + rest.signum()) * MILLIS, ..self }.reread()
    }

    /// The text may have another suffix than was given, or none: what is read from it again is to be equal.
    fn reread(self) -> Self {
        let text = self.to_string();
        let family = if text.ends_with('i') {
            Family::Binary
        } else if text.contains('e') {
            Family::Exponent
        } else {
            Family::Decimal
        };
        Self { family, ..self }
    }
}

impl FromStr for Quantity {
    type Err = InvalidQuantity;

    fn from_str(text: &str) -> Result<Self, InvalidQuantity> {
        if text.len() > TEXT_MAX {
            return Err(InvalidQuantity::Form);
        }
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
            return Err(InvalidQuantity::Form);
        }
        let (multiplier, family) = suffix_of(suffix)?;
        let nanos = nanos(whole, fraction, multiplier)?;
        if nanos > LARGEST * NANOS {
            return Err(InvalidQuantity::TooLarge);
        }
        Ok(Self { nanos: if negative { -nanos } else { nanos }, family }.reread())
    }
}

/// What a suffix multiplies by.
#[derive(Clone, Copy)]
enum Multiplier {
    /// A power of ten.
    Ten(i32),
    /// A power of two.
    Two(u32),
}

fn suffix_of(suffix: &str) -> Result<(Multiplier, Family), InvalidQuantity> {
    let decimal = |power| Ok((Multiplier::Ten(power), Family::Decimal));
    let binary = |power| Ok((Multiplier::Two(power), Family::Binary));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E']).ok_or(InvalidQuantity::Form)?;
            let power = exponent.parse().map_err(|_| InvalidQuantity::Form)?;
            Ok((Multiplier::Ten(power), Family::Exponent))
        }
    }
}

/// The exact value in thousand-millionths; what is finer is rounded up.
fn nanos(whole: &str, fraction: &str, multiplier: Multiplier) -> Result<i128, InvalidQuantity> {
    let fraction = fraction.trim_end_matches('0');
    let mut digits: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        digits = digits
            .checked_mul(10)
            .and_then(|digits| digits.checked_add(i128::from(digit - b'0')))
            .ok_or(InvalidQuantity::TooLarge)?;
    }
    if digits == 0 {
        return Ok(0);
    }
    let places = i32::try_from(fraction.len()).map_err(|_| InvalidQuantity::TooLarge)?;
    let (digits, power) = match multiplier {
        Multiplier::Ten(power) => (digits, power.checked_sub(places).ok_or(InvalidQuantity::TooLarge)?),
        Multiplier::Two(power) => (digits.checked_mul(1 << power).ok_or(InvalidQuantity::TooLarge)?, -places),
    };
    let power = power.checked_add(9).ok_or(InvalidQuantity::TooLarge)?;
    let factor = 10_i128.checked_pow(power.unsigned_abs());
    match factor {
        Some(factor) if power >= 0 => digits.checked_mul(factor).ok_or(InvalidQuantity::TooLarge),
        Some(factor) => Ok(digits / factor + i128::from(digits % factor != 0)),
        None if power >= 0 => Err(InvalidQuantity::TooLarge),
        None => Ok(1),
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.nanos / NANOS;
        match self.family {
            _ if self.nanos == 0 => f.write_str("0"),
            Family::Binary if self.is_whole() && whole.abs() >= 1024 => binary(whole, f),
            Family::Binary | Family::Decimal => decimal(self.nanos, false, f),
            Family::Exponent => decimal(self.nanos, true, f),
        }
    }
}

/// Writes whole units with the largest binary suffix that leaves no fraction.
fn binary(mut value: i128, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let mut step = 0;
    while step + 1 < SUFFIXES.len() && value % 1024 == 0 {
        value /= 1024;
        step += 1;
    }
    write!(f, "{value}{}", SUFFIXES[step])
}

/// Writes thousand-millionths with the largest decimal suffix or exponent that leaves no fraction.
fn decimal(mut value: i128, exponent: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const SUFFIXES: [(i32, &str); 10] = [
        (-9, "n"),
        (-6, "u"),
        (-3, "m"),
        (0, ""),
        (3, "k"),
        (6, "M"),
        (9, "G"),
        (12, "T"),
        (15, "P"),
        (18, "E"),
    ];
    let mut step = 0;
    while step + 1 < SUFFIXES.len() && value % 1000 == 0 {
        value /= 1000;
        step += 1;
    }
    match SUFFIXES[step] {
        (0, _) => write!(f, "{value}"),
        (power, _) if exponent => write!(f, "{value}e{power}"),
        (_, suffix) => write!(f, "{value}{suffix}"),
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for Quantity {
    type Error = InvalidQuantity;

    fn try_from(text: String) -> Result<Self, InvalidQuantity> {
        text.parse()
    }
}

impl From<Quantity> for String {
    fn from(quantity: Quantity) -> Self {
        quantity.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_texts_are_those_of_kubernetes() {
        for (text, canonical) in [
            ("0", "0"),
            ("0Gi", "0"),
            ("-0", "0"),
            ("1", "1"),
            ("+1", "1"),
            ("1.", "1"),
            (".5", "500m"),
            ("00100", "100"),
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("1.5", "1500m"),
            ("0.001", "1m"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("100000", "100k"),
            ("1100k", "1100k"),
            ("3000000", "3M"),
            ("1024Mi", "1Gi"),
            ("1Gi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Gi", "512Mi"),
            ("1Ki", "1Ki"),
            ("0.5Ki", "512"),
            ("1000Ki", "1000Ki"),
            ("0.1Mi", "104857600m"),
            ("0.1Ki", "102400m"),
            ("1e3", "1e3"),
            ("1E3", "1e3"),
            ("12e6", "12e6"),
            ("1e2", "100"),
            ("1e-3", "1e-3"),
            ("1.1E6", "1100e3"),
            ("1E", "1E"),
            ("7Ei", "7Ei"),
            ("100n", "100n"),
            ("0.1n", "1n"),
            ("1e-20", "1e-9"),
            ("1.0000000001", "1000000001n"),
            ("-1500m", "-1500m"),
            ("-1Gi", "-1Gi"),
            ("9223372036854775807", "9223372036854775807"),
        ] {
            let quantity: Quantity = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(quantity.to_string(), canonical, "{text}");
            assert_eq!(
                canonical.parse::<Quantity>().unwrap().to_string(),
                canonical,
                "{canonical} is stable"
            );
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in [
            "", "-", ".", "1..2", "1.2.3", "Gi", "1gi", "1 Gi", "1K", "1mi", "1e", "1e1.5", "0x10", "1,5",
            "١",
        ] {
            assert_eq!(text.parse::<Quantity>(), Err(InvalidQuantity::Form), "{text}");
        }
        for text in ["9223372036854775808", "10E", "8Ei", "1e30", "1e2147483647"] {
            assert_eq!(text.parse::<Quantity>(), Err(InvalidQuantity::TooLarge), "{text}");
        }
    }

    #[test]
    fn a_list_of_resources_holds_thousandths() {
        let stored = |text: &str| text.parse::<Quantity>().unwrap().in_thousandths().to_string();
        for (text, expected) in [
            ("1n", "1m"),
            ("-1n", "-1m"),
            ("1500m", "1500m"),
            ("1.0001", "1001m"),
            ("1e-9", "1e-3"),
            ("0.1Mi", "104857600m"),
            ("9313226.1Gi", "10000000379938406400m"),
            ("2.5Ki", "2560"),
            ("1953.125Ki", "2M"),
        ] {
            assert_eq!(stored(text), expected, "{text}");
            assert_eq!(stored(&stored(text)), stored(text), "{text} is stored as it is read again");
        }
    }

    #[test]
    fn equal_amounts_of_one_family_are_equal() {
        let of = |text: &str| text.parse::<Quantity>().unwrap();
        assert_eq!(of("1000m"), of("1"));
        assert_eq!(of("1Gi"), of("1024Mi"));
        for text in ["0Gi", "0e3", "1e2", "0.5Ki", "0.1Mi", "1025", "97.65625Ki", "1e3", "-1.5Gi"] {
            assert_eq!(of(&of(text).to_string()), of(text), "{text} is read again as it is written");
        }
        assert_ne!(of("1Gi"), of("1G"));
    }
}
