//! The certificate that a server shows, read again when it changes.

use std::fmt;
use std::sync::Arc;

use dcm_core::port::clock::Clock;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::Files;
use super::files::{self, Error};
use crate::live::{Live, Source};

struct Pair {
    files: Files,
}

impl Source for Pair {
    type Made = CertifiedKey;
    type Error = Error;

    fn what(&self) -> String {
        format!("the certificate {} and its key", self.files.certificate.display())
    }

    fn read(&self) -> Result<Vec<Vec<u8>>, Error> {
        Ok(vec![files::read(&self.files.certificate)?, files::read_key(&self.files.key)?])
    }

    fn make(&self, contents: &[Vec<u8>]) -> Result<CertifiedKey, Error> {
        let content = |index: usize| contents.get(index).map_or(&[][..], Vec::as_slice);
        files::pair(&self.files, content(0), content(1))
    }
}

/// Shows the same certificate to everybody.
pub(super) struct Resolver {
    pair: Live<Pair>,
    clock: Arc<dyn Clock>,
}

impl Resolver {
    pub(super) fn open(files: Files, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        let pair = Live::open(Pair { files }, clock.now())?;
        Ok(Self { pair, clock })
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("files", &self.pair.source().files).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.pair.current(self.clock.now()).made)
    }
}
