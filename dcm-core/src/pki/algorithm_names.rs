//! Names of algorithms by their object identifiers, as people know them from `openssl`.

use x509_parser::asn1_rs::Tag;
use x509_parser::x509::AlgorithmIdentifier;

/// The prefix of the identifiers of NIST's algorithms: hashes below `2`, signatures below `3`.
const NIST: &str = "2.16.840.1.101.3.4.";

const EC_KEY: &str = "1.2.840.10045.2.1";

type Names = &'static [(&'static str, &'static str)];

const HASHES: Names = &[
    ("1.2.840.113549.2.5", "MD5"),
    ("1.3.14.3.2.26", "SHA-1"),
    ("2.16.840.1.101.3.4.2.4", "SHA-224"),
    ("2.16.840.1.101.3.4.2.1", "SHA-256"),
    ("2.16.840.1.101.3.4.2.2", "SHA-384"),
    ("2.16.840.1.101.3.4.2.3", "SHA-512"),
    ("2.16.840.1.101.3.4.2.5", "SHA-512/224"),
    ("2.16.840.1.101.3.4.2.6", "SHA-512/256"),
    ("2.16.840.1.101.3.4.2.7", "SHA3-224"),
    ("2.16.840.1.101.3.4.2.8", "SHA3-256"),
    ("2.16.840.1.101.3.4.2.9", "SHA3-384"),
    ("2.16.840.1.101.3.4.2.10", "SHA3-512"),
    ("2.16.840.1.101.3.4.2.11", "SHAKE128"),
    ("2.16.840.1.101.3.4.2.12", "SHAKE256"),
];

const SIGNATURES: Names = &[
    ("1.2.840.113549.1.1.2", "RSA with MD2"),
    ("1.2.840.113549.1.1.3", "RSA with MD4"),
    ("1.2.840.113549.1.1.4", "RSA with MD5"),
    ("1.2.840.113549.1.1.5", "RSA with SHA-1"),
    ("1.3.14.3.2.29", "RSA with SHA-1"),
    ("1.2.840.113549.1.1.14", "RSA with SHA-224"),
    ("1.2.840.113549.1.1.11", "RSA with SHA-256"),
    ("1.2.840.113549.1.1.12", "RSA with SHA-384"),
    ("1.2.840.113549.1.1.13", "RSA with SHA-512"),
    ("1.2.840.113549.1.1.15", "RSA with SHA-512/224"),
    ("1.2.840.113549.1.1.16", "RSA with SHA-512/256"),
    ("1.2.840.113549.1.1.10", "RSASSA-PSS"),
    ("1.3.36.3.3.1.2", "RSA with RIPEMD-160"),
    ("1.2.840.10045.4.1", "ECDSA with SHA-1"),
    ("1.2.840.10045.4.3.1", "ECDSA with SHA-224"),
    ("1.2.840.10045.4.3.2", "ECDSA with SHA-256"),
    ("1.2.840.10045.4.3.3", "ECDSA with SHA-384"),
    ("1.2.840.10045.4.3.4", "ECDSA with SHA-512"),
    ("1.2.840.10040.4.3", "DSA with SHA-1"),
    ("1.3.101.112", "Ed25519"),
    ("1.3.101.113", "Ed448"),
    ("1.2.156.10197.1.501", "SM2 with SM3"),
    ("1.2.643.7.1.1.3.2", "GOST R 34.10-2012 with Streebog-256"),
    ("1.2.643.7.1.1.3.3", "GOST R 34.10-2012 with Streebog-512"),
];

/// Signatures of NIST, by what is below `2.16.840.1.101.3.4.3`.
const NIST_SIGNATURES: Names = &[
    ("3.1", "DSA with SHA-224"),
    ("3.2", "DSA with SHA-256"),
    ("3.3", "DSA with SHA-384"),
    ("3.4", "DSA with SHA-512"),
    ("3.9", "ECDSA with SHA3-224"),
    ("3.10", "ECDSA with SHA3-256"),
    ("3.11", "ECDSA with SHA3-384"),
    ("3.12", "ECDSA with SHA3-512"),
    ("3.13", "RSA with SHA3-224"),
    ("3.14", "RSA with SHA3-256"),
    ("3.15", "RSA with SHA3-384"),
    ("3.16", "RSA with SHA3-512"),
    ("3.17", "ML-DSA-44"),
    ("3.18", "ML-DSA-65"),
    ("3.19", "ML-DSA-87"),
];

const KEYS: Names = &[
    ("1.2.840.113549.1.1.1", "RSA"),
    ("1.2.840.113549.1.1.10", "RSA for RSASSA-PSS alone"),
    ("1.2.840.113549.1.1.7", "RSA for OAEP alone"),
    ("1.2.840.10040.4.1", "DSA"),
    ("1.2.840.10046.2.1", "Diffie-Hellman"),
    ("1.2.840.113549.1.3.1", "Diffie-Hellman"),
    ("1.3.101.110", "X25519"),
    ("1.3.101.111", "X448"),
    ("1.3.101.112", "Ed25519"),
    ("1.3.101.113", "Ed448"),
    ("1.2.643.7.1.1.1.1", "GOST R 34.10-2012 of 256 bits"),
    ("1.2.643.7.1.1.1.2", "GOST R 34.10-2012 of 512 bits"),
];

const CURVES: Names = &[
    ("1.2.840.10045.3.1.1", "P-192"),
    ("1.3.132.0.33", "P-224"),
    ("1.2.840.10045.3.1.7", "P-256"),
    ("1.3.132.0.34", "P-384"),
    ("1.3.132.0.35", "P-521"),
    ("1.3.132.0.10", "secp256k1"),
    ("1.3.132.0.31", "secp192k1"),
    ("1.3.132.0.32", "secp224k1"),
    ("1.3.36.3.3.2.8.1.1.1", "brainpoolP160r1"),
    ("1.3.36.3.3.2.8.1.1.3", "brainpoolP192r1"),
    ("1.3.36.3.3.2.8.1.1.5", "brainpoolP224r1"),
    ("1.3.36.3.3.2.8.1.1.7", "brainpoolP256r1"),
    ("1.3.36.3.3.2.8.1.1.8", "brainpoolP256t1"),
    ("1.3.36.3.3.2.8.1.1.9", "brainpoolP320r1"),
    ("1.3.36.3.3.2.8.1.1.11", "brainpoolP384r1"),
    ("1.3.36.3.3.2.8.1.1.12", "brainpoolP384t1"),
    ("1.3.36.3.3.2.8.1.1.13", "brainpoolP512r1"),
    ("1.3.36.3.3.2.8.1.1.14", "brainpoolP512t1"),
    ("1.2.156.10197.1.301", "SM2"),
];

fn look_up(names: Names, id: &str) -> Option<&'static str> {
    names.iter().find(|(known, _)| *known == id).map(|(_, name)| *name)
}

fn nist(id: &str) -> Option<&'static str> {
    look_up(NIST_SIGNATURES, id.strip_prefix(NIST)?)
}

fn or_unknown(name: Option<&str>, id: &str) -> String {
    name.map_or_else(|| format!("an unknown algorithm ({id})"), str::to_owned)
}

/// The name of a signature's algorithm.
pub(super) fn signature(id: &str) -> String {
    or_unknown(look_up(SIGNATURES, id).or_else(|| nist(id)), id)
}

/// The name of a hash.
pub(super) fn hash(id: &str) -> String {
    or_unknown(look_up(HASHES, id), id)
}

/// The name of a key's algorithm; for ECDSA with its curve.
pub(super) fn key(algorithm: &AlgorithmIdentifier<'_>) -> String {
    let id = algorithm.algorithm.to_id_string();
    if id != EC_KEY {
        return or_unknown(look_up(KEYS, &id).or_else(|| nist(&id)), &id);
    }
    match curve(algorithm) {
        Some(curve) => format!("ECDSA {curve}"),
        None => "ECDSA on a curve without a name".to_owned(),
    }
}

/// The name of the curve of a key for ECDSA, or its identifier.
pub(super) fn curve(algorithm: &AlgorithmIdentifier<'_>) -> Option<String> {
    // The parameters of a curve without a name are a sequence of numbers.
    let id = algorithm.parameters.as_ref().filter(|any| any.tag() == Tag::Oid)?.as_oid().ok()?.to_id_string();
    Some(look_up(CURVES, &id).map_or_else(|| format!("on the curve {id}"), str::to_owned))
}
