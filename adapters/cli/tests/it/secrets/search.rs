//! Finds secrets in bytes, in whatever dress: as they are, in base64 at any place of a longer text, in that again, in
//! hexadecimal, with line breaks or escapes in between.
//!
//! Each dress is looked for in small pieces, so that a part of a secret is found, too, and one in whose middle a page of
//! a database ends. Of a private key only the secret number counts: the rest of its file is also in the certificate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Length of a piece. By chance no two texts share so much.
const PIECE: usize = 20;

/// What is shorter is looked for as a whole.
const DIVIDED_FROM: usize = 24;

/// Bytes of a piece that are looked at first.
const START: usize = 3;

/// What stands before the secret number in a P-256 key as PKCS #8, and in nothing public.
const BEFORE_SCALAR: [u8; 5] = [0x02, 0x01, 0x01, 0x04, 0x20];

/// The same with the name of the curve before it: no other bytes of a key, or of a certificate, are these.
const PRIVATE_KEY: [u8; 19] = [
    0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x6d, 0x30, 0x6b, 0x02, 0x01, 0x01,
    0x04, 0x20,
];

const SCALAR_BYTES: usize = 32;

/// A secret in one dress, with the name that a finding is told by.
struct Dress {
    name: String,
    bytes: Vec<u8>,
}

/// Looks for secrets.
pub(crate) struct Searcher {
    names: Vec<String>,
    pieces: BTreeMap<[u8; START], Vec<(Vec<u8>, usize)>>,
    starts: Vec<bool>,
}

impl Searcher {
    /// Looks for what any private key or token looks like, also for those that nobody knows.
    pub(crate) fn new() -> Self {
        let starts = vec![false; 1 << (8 * START)];
        let mut searcher = Self { names: Vec::new(), pieces: BTreeMap::new(), starts };
        for (name, mark) in [
            ("any private key", &PRIVATE_KEY[..]),
            ("any private key's PEM", b"PRIVATE KEY-----"),
            ("any token", b"eyJhbGciOi"),
        ] {
            let dress = Dress { name: name.to_owned(), bytes: mark.to_vec() };
            // As a whole: a half of such a mark is public.
            searcher.add(with_base64(dress), |bytes| vec![bytes]);
        }
        searcher
    }

    /// Looks for a private key, too.
    pub(crate) fn add_key(&mut self, name: &str, pem: &str) {
        let number = Dress { name: format!("{name}: the number"), bytes: scalar(pem) };
        self.add_all([number]);
        for line_break in ["\n", "\r\n"] {
            let dress = Dress { name: format!("{name}: PEM"), bytes: secret_of_pem(pem, line_break) };
            self.add_all(base64_of(&dress));
        }
    }

    /// Looks for a token, too: for each part of it, and for its signature in binary.
    pub(crate) fn add_token(&mut self, name: &str, token: &str) {
        for (number, part) in token.split('.').enumerate() {
            let dress = Dress { name: format!("{name}: part {number}"), bytes: part.as_bytes().to_vec() };
            self.add_all([dress]);
        }
        if let Some(signature) = token.split('.').nth(2) {
            let bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
            self.add_all([Dress { name: format!("{name}: signature"), bytes }]);
        }
    }

    /// Looks for these bytes, too.
    pub(crate) fn add_bytes(&mut self, name: &str, bytes: &[u8]) {
        self.add_all([Dress { name: name.to_owned(), bytes: bytes.to_vec() }]);
    }

    /// As they are, in hexadecimal, and all of that in base64, once and twice.
    fn add_all(&mut self, dresses: impl IntoIterator<Item = Dress>) {
        for dress in dresses {
            hexadecimal(&dress).into_iter().for_each(|dress| self.add(with_base64(dress), divided));
            self.add(with_base64(dress), divided);
        }
    }

    fn add(&mut self, dresses: Vec<Dress>, divided: impl Fn(&[u8]) -> Vec<&[u8]>) {
        for Dress { name, bytes } in dresses {
            for piece in divided(&bytes) {
                let start = [piece[0], piece[1], piece[2]];
                self.starts[index(start)] = true;
                self.pieces.entry(start).or_default().push((piece.to_vec(), self.names.len()));
            }
            self.names.push(name);
        }
    }

    /// The names of what is found.
    pub(crate) fn find(&self, bytes: &[u8]) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        self.scan(bytes, &mut found);
        self.scan(&folded(bytes), &mut found);
        found
    }

    fn scan<'a>(&'a self, bytes: &[u8], found: &mut BTreeSet<&'a str>) {
        let mut place = 0;
        while place + START <= bytes.len() {
            let start = [bytes[place], bytes[place + 1], bytes[place + 2]];
            if self.starts[index(start)] {
                for (piece, name) in &self.pieces[&start] {
                    if bytes[place..].starts_with(piece) {
                        found.insert(&self.names[*name]);
                    }
                }
            }
            place += 1;
        }
    }
}

fn index(start: [u8; START]) -> usize {
    start.iter().fold(0, |index, byte| index << 8 | usize::from(*byte))
}

fn divided(bytes: &[u8]) -> Vec<&[u8]> {
    if bytes.len() < DIVIDED_FROM {
        return vec![bytes];
    }
    let length = PIECE.min(bytes.len() / 2);
    let mut pieces: Vec<&[u8]> = bytes.chunks_exact(length).collect();
    pieces.push(&bytes[bytes.len() - length..]);
    pieces
}

/// Without white space and the escapes of line breaks and slashes, which texts get when they are put into others.
fn folded(bytes: &[u8]) -> Vec<u8> {
    let mut folded = Vec::with_capacity(bytes.len());
    let mut after_backslash = false;
    for byte in bytes {
        match byte {
            b'\\' => after_backslash = true,
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'n' | b'r' | b't' if after_backslash => after_backslash = false,
            other => {
                after_backslash = false;
                folded.push(*other);
            }
        }
    }
    folded
}

fn hexadecimal(dress: &Dress) -> [Dress; 2] {
    let lower: String = dress.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = format!("{}, in hexadecimal", dress.name);
    [
        Dress { name: name.clone(), bytes: lower.to_ascii_uppercase().into_bytes() },
        Dress { name, bytes: lower.into_bytes() },
    ]
}

/// As it is, in base64, and in base64 twice.
fn with_base64(dress: Dress) -> Vec<Dress> {
    let once = base64_of(&dress);
    let twice: Vec<Dress> = once.iter().flat_map(base64_of).collect();
    [dress].into_iter().chain(once).chain(twice).collect()
}

/// What of the base64 of a text is the same wherever in the text the bytes stand, for each of the three ways in which
/// they can stand there, and each of the two alphabets.
fn base64_of(dress: &Dress) -> Vec<Dress> {
    let name = format!("{}, in base64", dress.name);
    let mut dresses = Vec::new();
    for before in 0..3 {
        let standing = [&[0; 2][..before], &dress.bytes].concat();
        let (from, to) = ((before * 8).div_ceil(6), standing.len() * 8 / 6);
        let texts = [STANDARD_NO_PAD.encode(&standing), URL_SAFE_NO_PAD.encode(&standing)];
        for text in texts.into_iter().collect::<BTreeSet<String>>() {
            dresses.push(Dress { name: name.clone(), bytes: text.as_bytes()[from..to].to_vec() });
        }
    }
    dresses
}

/// The bytes of a PEM file.
pub(crate) fn der(pem: &str) -> Vec<u8> {
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(body).unwrap()
}

fn place_of_scalar(der: &[u8]) -> usize {
    let before = der.windows(BEFORE_SCALAR.len()).position(|window| window == BEFORE_SCALAR);
    before.expect("a P-256 key as PKCS #8") + BEFORE_SCALAR.len()
}

/// The secret number of a P-256 key.
pub(crate) fn scalar(pem: &str) -> Vec<u8> {
    let der = der(pem);
    let place = place_of_scalar(&der);
    der[place..place + SCALAR_BYTES].to_vec()
}

/// What of the PEM file comes from the secret number, line breaks included.
fn secret_of_pem(pem: &str, line_break: &str) -> Vec<u8> {
    let place = place_of_scalar(&der(pem));
    let (from, to) = ((place * 8).div_ceil(6), (place + SCALAR_BYTES) * 8 / 6);
    let lines: Vec<&str> = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let width = lines[0].len();
    let with_breaks = lines.join(line_break);
    let in_text = |character: usize| character + character / width * line_break.len();
    with_breaks.as_bytes()[in_text(from)..in_text(to)].to_vec()
}

/// All files below a folder, with their content.
pub(crate) fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if let Ok(mut bytes) = std::fs::read(&path) {
            // A file may be gone since it was listed; and some are made with room for later.
            bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
            files.push((path, bytes));
        }
    }
    files
}
