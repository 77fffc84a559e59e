//! Blocks of PEM, as OpenSSL writes them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Characters of base64 in a line (RFC 7468).
const LINE_CHARACTERS: usize = 64;

/// Writes a block.
pub(crate) fn write(label: &str, content: &[u8]) -> String {
    let base64 = STANDARD.encode(content);
    let lines = base64.as_bytes().chunks(LINE_CHARACTERS).map(String::from_utf8_lossy);
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}
