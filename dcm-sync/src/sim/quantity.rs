//! Quantities as the API server stores them: rounded up to thousandths, in the largest unit that keeps them whole.

/// Thousandths in one.
const MILLI: i128 = 1000;

/// Digits before the point: more than any resource has, and few enough for the arithmetic to stay within 128 bits.
const WHOLE_DIGITS_MAX: usize = 22;

/// Digits after the point: far below thousandths.
const FRACTION_DIGITS_MAX: usize = 12;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// The canonical text of a quantity, or none when it is no quantity, or beyond all measure.
pub(super) fn canonical(text: &str) -> Option<String> {
    let (thousandths, format) = read(text)?;
    Some(written(thousandths, format))
}

/// A quantity in thousandths, for comparison.
pub(super) fn in_thousandths(text: &str) -> Option<i128> {
    read(text).map(|(thousandths, _)| thousandths)
}

fn read(text: &str) -> Option<(i128, Format)> {
    let text = text.trim();
    let digits_end =
        text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits_end);
    let (format, base, power) = scale(suffix)?;
    Some((thousandths(number, base, power)?, format))
}

/// Format, base and exponent of a suffix.
fn scale(suffix: &str) -> Option<(Format, i128, i32)> {
    let decimal = |power| Some((Format::Decimal, 10, power));
    let binary = |power| Some((Format::Binary, 1024, power));
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
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => {
            let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            (power.abs() <= 18).then_some((Format::Exponent, 10, power))
        }
    }
}

/// `number * base ^ power` in thousandths, away from zero.
fn thousandths(number: &str, base: i128, power: i32) -> Option<i128> {
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    if whole.len() + fraction.len() == 0
        || whole.len() > WHOLE_DIGITS_MAX
        || fraction.len() > FRACTION_DIGITS_MAX
    {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok().filter(|digits: &i128| *digits >= 0)?;
    let mut divisor = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    let mut value = digits;
    let factor = base.checked_pow(power.unsigned_abs())?;
    if power < 0 {
        divisor = divisor.checked_mul(factor)?;
        value = value.checked_mul(MILLI)?;
    } else {
        value = value.checked_mul(MILLI)?.checked_mul(factor)?;
    }
    let rounded = value / divisor + i128::from(value % divisor != 0);
    Some(sign * rounded)
}

fn written(thousandths: i128, format: Format) -> String {
    if thousandths % MILLI != 0 && format != Format::Binary {
        let suffix = if format == Format::Exponent { "e-3" } else { "m" };
        return format!("{thousandths}{suffix}");
    }
    let whole = thousandths / MILLI;
    match format {
        Format::Binary if thousandths % (1024 * MILLI) == 0 => {
            in_units(whole, 1024, &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"])
        }
        // Without a binary unit it reads as decimal, and is written so when it is read again.
        Format::Binary => written(thousandths, Format::Decimal),
        Format::Decimal => in_units(whole, 1000, &["", "k", "M", "G", "T", "P", "E"]),
        Format::Exponent => in_units(whole, 1000, &["", "e3", "e6", "e9", "e12", "e15", "e18"]),
    }
}

fn in_units(mut value: i128, step: i128, units: &[&str]) -> String {
    let mut unit = 0;
    while value != 0 && value % step == 0 && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{value}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quantities_are_written_as_kubernetes_writes_them() {
        let table = [
            ("1000m", "1"),
            ("1500m", "1500m"),
            ("0.5", "500m"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("100000", "100k"),
            ("1024Mi", "1Gi"),
            ("1500Mi", "1500Mi"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("1953.125Ki", "2M"),
            ("2.5Ki", "2560"),
            ("9313226.1Gi", "10000000379938406400m"),
            ("1n", "1m"),
            ("0", "0"),
            ("0Gi", "0"),
            ("1e3", "1e3"),
            ("12E", "12E"),
            ("1234567890123456789012", "1234567890123456789012"),
            ("-1500m", "-1500m"),
            ("+2", "2"),
            (".5", "500m"),
        ];
        for (text, expected) in table {
            assert_eq!(canonical(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_quantities() {
        for text in ["", "m", "1x", "1Kib", "--1", "1.2.3", "1e99", "e3", "1-", "0.0000000000001"] {
            assert_eq!(canonical(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_canonical_stays_as_it_is(
            whole in 0_u64..1_000_000_000,
            fraction in 0_u32..1000,
            suffix in "(|m|k|M|G|Ki|Mi|Gi)",
        ) {
            let once = canonical(&format!("{whole}.{fraction}{suffix}")).unwrap();
            prop_assert_eq!(canonical(&once), Some(once));
        }
    }
}
