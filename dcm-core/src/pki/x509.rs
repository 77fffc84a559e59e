//! Certificates of a PEM text, and what stands in them.

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;

/// The contents of the PEM blocks of a text; none where one of them is not a certificate.
pub(crate) fn blocks(text: &str) -> Option<Vec<Vec<u8>>> {
    Pem::iter_from_buffer(text.as_bytes())
        .map(|block| block.ok().filter(|block| block.label == "CERTIFICATE").map(|block| block.contents))
        .collect()
}

/// Certificates from their DER; none where one of them is not exactly a certificate.
pub(crate) fn certificates(ders: &[Vec<u8>]) -> Option<Vec<X509Certificate<'_>>> {
    ders.iter()
        .map(|der| match X509Certificate::from_der(der) {
            Ok(([], certificate)) => Some(certificate),
            Ok(_) | Err(_) => None,
        })
        .collect()
}

/// A date beyond what a timestamp can be, such as the `99991231235959Z` that means "never", is the last timestamp.
pub(crate) fn timestamp(time: ASN1Time) -> Timestamp {
    let seconds = time.timestamp().clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

/// The serial number, as lower-case hexadecimal digits, two for each byte.
pub(crate) fn serial_hex(certificate: &X509Certificate<'_>) -> String {
    let bytes = certificate.raw_serial();
    let bytes = if bytes.len() > 1 && bytes[0] == 0 { &bytes[1..] } else { bytes };
    HEXLOWER.encode(bytes)
}
