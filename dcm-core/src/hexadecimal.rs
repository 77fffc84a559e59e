//! 32 bytes as lower-case hexadecimal digits.

use std::fmt;

use data_encoding::HEXLOWER;

/// Bytes of a SHA-256 digest, and of a proof key.
pub(crate) const BYTES: usize = 32;

/// Writes the 64 digits.
pub(crate) fn write(bytes: &[u8; BYTES], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(HEXLOWER.encode_mut_str(bytes, &mut [0; 2 * BYTES]))
}

/// The bytes that a text stands for. `None` unless the text is exactly 64 lower-case digits.
pub(crate) fn read(text: &str) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    let has_length = HEXLOWER.decode_len(text.len()) == Ok(BYTES);
    (has_length && HEXLOWER.decode_mut(text.as_bytes(), &mut bytes).is_ok()).then_some(bytes)
}
