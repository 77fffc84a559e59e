//! PEM as Go's `encoding/pem` reads it, and what is a certificate in it.

use super::go_base64;
use crate::pem_block;
use crate::secret::Secret;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";
const CERTIFICATE: &[u8] = b"CERTIFICATE";

/// Tags of DER (ITU-T X.690, section 8).
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// A block that could be read.
struct Block<'p> {
    label: &'p [u8],
    has_headers: bool,
    content: Vec<u8>,
}

/// The certificates of a text in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificates {
    /// Those that can be read, as DER, in their order.
    pub readable: Vec<Vec<u8>>,
    /// How many other blocks begin in the text: certificates that can't be read, keys, and others.
    pub others: usize,
}

impl Certificates {
    /// Finds the certificates among other text and other blocks, as Go does: a block that can't be read is passed over.
    #[must_use]
    pub fn of(pem: &[u8]) -> Self {
        let readable: Vec<_> = certificate_blocks(pem).filter(|content| is_certificate(content)).collect();
        // Wherever one begins: behind other characters, too, a key must not be passed on.
        let begun = pem.windows(BEGIN.len()).filter(|part| *part == BEGIN).count();
        let others = begun.saturating_sub(readable.len());
        Self { readable, others }
    }

    /// Those that can be read, as PEM.
    #[must_use]
    pub fn to_pem(&self) -> String {
        self.readable.iter().map(|der| pem_block::write("CERTIFICATE", der)).collect()
    }
}

/// The first private key among other text and other blocks, as PEM, as Go finds it.
#[must_use]
pub fn private_key(pem: &[u8]) -> Option<Secret> {
    let is_key = |label: &[u8]| label == b"PRIVATE KEY" || label.ends_with(b" PRIVATE KEY");
    let block = blocks(pem).into_iter().find(|block| is_key(block.label))?;
    let label = std::str::from_utf8(block.label).ok().filter(|_| !block.has_headers)?;
    Some(Secret::new(pem_block::write(label, &block.content)))
}

/// The contents of blocks that are called certificates.
pub(super) fn certificate_blocks(pem: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let blocks = blocks(pem).into_iter();
    blocks.filter(|block| block.label == CERTIFICATE && !block.has_headers).map(|block| block.content)
}

/// Lines without their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let without_end = |line| -> &[u8] { trim_end(<[u8]>::strip_suffix(line, b"\r").unwrap_or(line)) };
    text.split(|byte| *byte == b'\n').map(without_end)
}

fn trim_end(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\t'));
    &line[..end.map_or(0, |last| last + 1)]
}

/// All blocks that can be read. Of several beginnings before an end, the last one counts.
fn blocks(pem: &[u8]) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut begun: Option<(&[u8], Vec<&[u8]>)> = None;
    for line in lines(pem) {
        if let Some(label) = line.strip_prefix(BEGIN) {
            begun = label.strip_suffix(DASHES).map(|label| (label, Vec::new()));
        } else if let Some(ended) = line.strip_prefix(END) {
            let whole = begun.take().filter(|(label, _)| ended.strip_suffix(DASHES) == Some(*label));
            blocks.extend(whole.and_then(|(label, body)| block(label, &body)));
        } else if let Some((_, body)) = &mut begun {
            body.push(line);
        }
    }
    blocks
}

fn block<'p>(label: &'p [u8], body: &[&[u8]]) -> Option<Block<'p>> {
    let headers = body.iter().take_while(|line| line.contains(&b':')).count();
    let text: Vec<u8> = body[headers..].concat();
    let text: Vec<u8> = text.into_iter().filter(|byte| !matches!(byte, b' ' | b'\t')).collect();
    Some(Block { label, has_headers: headers > 0, content: go_base64::decode(&text)? })
}

/// Whether this has the outer form of a certificate (RFC 5280, section 4.1). Whether TLS can use it is not looked at.
fn is_certificate(der: &[u8]) -> bool {
    let Some((SEQUENCE, certificate, [])) = element(der) else { return false };
    let certificate = elements(certificate).unwrap_or_default();
    let [(SEQUENCE, signed), (SEQUENCE, _), (BIT_STRING, _)] = *certificate else { return false };
    let Some(signed) = elements(signed) else { return false };
    let tags: Vec<u8> = signed.iter().map(|(tag, _)| *tag).filter(|tag| *tag != VERSION).collect();
    tags.starts_with(&[INTEGER, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE])
}

/// The elements that make up a text of DER, with their tags.
fn elements(mut der: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut found = Vec::new();
    while !der.is_empty() {
        let (tag, content, rest) = element(der)?;
        found.push((tag, content));
        der = rest;
    }
    Some(found)
}

/// The first element of a text of DER: its tag, its content, and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, first, rest @ ..] = der else { return None };
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| (length << 8) | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(name: &str) -> String {
        rcgen::generate_simple_self_signed([name.to_owned()]).unwrap().cert.pem()
    }

    fn counts(pem: &str) -> (usize, usize) {
        let Certificates { readable, others } = Certificates::of(pem.as_bytes());
        (readable.len(), others)
    }

    #[test]
    fn certificates_are_found_among_text_and_however_their_lines_are_broken() {
        let (one, two) = (certificate("one"), certificate("two"));
        let body: String = one.lines().filter(|line| !line.starts_with('-')).collect();
        let pair = format!("{one}{two}");
        for text in [
            pair.clone(),
            format!("subject=CN = one\nissuer: Zürich\n\n{one}text between\n{two}text after"),
            pair.replace('\n', "\r\n"),
            pair.replace('\n', " \t\n"),
            format!("{one}{}", two.trim_end()),
            format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n{two}"),
        ] {
            let found = Certificates::of(text.as_bytes());
            assert_eq!((found.readable.len(), found.others), (2, 0), "{text}");
            assert_eq!(Certificates::of(found.to_pem().as_bytes()), found);
        }
    }

    #[test]
    fn a_private_key_is_found_among_parameters_text_and_certificates() {
        let block = |label: &str| format!("-----BEGIN {label}-----\nQUJD\n-----END {label}-----\n");
        let find = |pem: &str| private_key(pem.as_bytes()).map(|key| key.expose().to_owned());
        for label in ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"] {
            let key = block(label);
            let others = [block("EC PARAMETERS"), "Bag Attributes\n".to_owned(), certificate("one")].concat();
            assert_eq!(find(&format!("{others}{}", key.trim_end())), Some(key));
        }
        let encrypted = block("RSA PRIVATE KEY").replace("QUJD", "Proc-Type: 4,ENCRYPTED\n\nQUJD");
        assert_eq!((find(&encrypted), find(&certificate("one"))), (None, None));
    }

    #[test]
    fn a_block_that_is_no_readable_certificate_is_left_out_and_counted() {
        let (one, two) = (certificate("one"), certificate("two"));
        let lines: Vec<&str> = one.lines().collect();
        let block =
            |label: &str, body: &str| format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
        for bad in [
            block("CERTIFICATE", "not base64"),
            block("CERTIFICATE", "QUJD"),
            block("CERTIFICATE", ""),
            block("CERTIFICATE", lines[1]),
            block("CERTIFICATE", &lines[2..lines.len() - 1].concat()),
            block("CERTIFICATE", "Proc-Type: 4,ENCRYPTED\n\nQUJD"),
            block("CERTIFICATE REQUEST", "QUJD"),
            block("PRIVATE KEY", "QUJD"),
            lines[..lines.len() - 1].join("\n") + "\n",
            one.replace("END CERTIFICATE-----", "END CERTIFICATE----"),
            one.replace("END CERTIFICATE", "END X"),
            one.replace("BEGIN CERTIFICATE-----", "BEGIN CERTIFICATE"),
        ] {
            assert_eq!(counts(&format!("{bad}{two}")), (1, 1), "{bad}");
            assert_eq!(counts(&format!("{two}{bad}")), (1, 1), "{bad}");
            assert_eq!(counts(&bad), (0, 1), "{bad}");
        }
        assert_eq!(counts(&one.replace("-----BEGIN", " -----BEGIN")), (0, 1));
        assert_eq!(counts("no certificate"), (0, 0));
    }
}
