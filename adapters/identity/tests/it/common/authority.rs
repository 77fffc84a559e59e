//! Authorities and what they issue, in files as a server and its clients have them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use dcm_identity::tls::Files;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
pub(crate) struct Issued {
    pub(crate) certificate: rcgen::Certificate,
    pub(crate) key: KeyPair,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = named(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    pub(crate) fn write(&self, folder: &Path, name: &str) -> PathBuf {
        let file = folder.join(name);
        fs::write(&file, self.0.pem()).unwrap();
        file
    }

    /// A client's certificate, changed as a test wants it.
    pub(crate) fn client(
        &self,
        name: &str,
        groups: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Issued {
        let mut params = named(name, groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        change(&mut params);
        self.issue(&params)
    }

    pub(crate) fn server(&self) -> Issued {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(&params)
    }

    fn issue(&self, params: &CertificateParams) -> Issued {
        let key = KeyPair::generate().unwrap();
        Issued { certificate: params.signed_by(&key, &self.0).unwrap(), key }
    }
}

fn named(name: &str, groups: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    // One value is kept of each kind, so further groups are of a kind with the same number.
    for (index, group) in groups.iter().enumerate() {
        let kind =
            if index == 0 { DnType::OrganizationName } else { DnType::CustomDnType(vec![2, 5, 4, 10]) };
        params.distinguished_name.push(kind, *group);
    }
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Issued {
    pub(crate) fn der(&self) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        (self.certificate.der().clone(), key)
    }

    /// Puts both into the files of a server, as a program that renews them does: others take their places.
    pub(crate) fn write(&self, folder: &Path) -> Files {
        let files = Files { certificate: folder.join("server.pem"), key: folder.join("server.key") };
        replace(&files.certificate, &self.certificate.pem(), 0o644);
        replace(&files.key, &self.key.serialize_pem(), 0o600);
        files
    }
}

pub(crate) fn replace(file: &Path, text: &str, mode: u32) {
    let new = file.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::set_permissions(&new, Permissions::from_mode(mode)).unwrap();
    fs::rename(new, file).unwrap();
}
