//! The Go modules that this crate carries the source of; one folder each under `servers/`.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// How much of the hash names the folder in the cache.
const HASH_BYTES: usize = 8;

/// A Go program that is one or more servers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Module {
    /// The name of the folder under `servers/`.
    pub(super) name: &'static str,
    /// Its files: name and content.
    pub(super) files: &'static [(&'static str, &'static str)],
    /// What the linker writes into it.
    pub(super) linker_flags: &'static str,
    /// The names that it can be called by.
    pub(super) programs: &'static [&'static str],
    /// How long a first build takes on two cores, in words.
    pub(super) duration: &'static str,
}

/// etcd, kube-apiserver, kube-controller-manager and kubectl in one.
pub(super) const KUBERNETES: Module = Module {
    name: "kubernetes",
    files: &[
        ("go.mod", include_str!("../../servers/kubernetes/go.mod")),
        ("go.sum", include_str!("../../servers/kubernetes/go.sum")),
        ("main.go", include_str!("../../servers/kubernetes/main.go")),
    ],
    // A module that is built from the outside does not know its version, and clients ask for it.
    linker_flags: "-s -w \
        -X k8s.io/component-base/version.gitVersion=v1.36.3 \
        -X k8s.io/component-base/version.gitMajor=1 \
        -X k8s.io/component-base/version.gitMinor=36",
    programs: &["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"],
    duration: "5 to 10 minutes",
};

/// A server that speaks the MongoDB wire protocol.
pub(super) const FERRETDB: Module = Module {
    name: "ferretdb",
    files: &[
        ("go.mod", include_str!("../../servers/ferretdb/go.mod")),
        ("go.sum", include_str!("../../servers/ferretdb/go.sum")),
        ("front.go", include_str!("../../servers/ferretdb/front.go")),
        ("main.go", include_str!("../../servers/ferretdb/main.go")),
    ],
    linker_flags: "-s -w",
    programs: &["mongodb-wire"],
    duration: "1 to 2 minutes",
};

/// An OpenID Connect issuer.
pub(super) const ISSUER: Module = Module {
    name: "issuer",
    files: &[
        ("go.mod", include_str!("../../servers/issuer/go.mod")),
        ("go.sum", include_str!("../../servers/issuer/go.sum")),
        ("client.go", include_str!("../../servers/issuer/client.go")),
        ("main.go", include_str!("../../servers/issuer/main.go")),
        ("signer.go", include_str!("../../servers/issuer/signer.go")),
        ("storage.go", include_str!("../../servers/issuer/storage.go")),
    ],
    linker_flags: "-s -w",
    programs: &["oidc-issuer"],
    duration: "about a minute",
};

/// CoreDNS.
pub(super) const COREDNS: Module = Module {
    name: "coredns",
    files: &[
        ("go.mod", include_str!("../../servers/coredns/go.mod")),
        ("go.sum", include_str!("../../servers/coredns/go.sum")),
        ("loopback.go", include_str!("../../servers/coredns/loopback.go")),
        ("main.go", include_str!("../../servers/coredns/main.go")),
    ],
    linker_flags: "-s -w",
    programs: &["coredns"],
    duration: "3 minutes",
};

impl Module {
    /// The folder of this state of the source in a cache.
    pub(super) fn folder(&self, cache: &Path) -> PathBuf {
        cache.join(format!("{}-{}", self.name, self.hash()))
    }

    /// Where the built programs are, in a cache.
    pub(super) fn binaries(&self, cache: &Path) -> PathBuf {
        self.folder(cache).join("bin")
    }

    /// Other source, other flags, other hash: a cache never serves what an older source made.
    fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        let flags = ("flags", self.linker_flags);
        for (name, content) in self.files.iter().chain([&flags]) {
            for text in [*name, *content] {
                hasher.update(text.len().to_le_bytes());
                hasher.update(text);
            }
        }
        let hash = hasher.finalize();
        hash.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_in_the_cache_changes_with_the_source_and_the_flags() {
        let module = KUBERNETES;
        let other_files = Module { files: &[("main.go", "package main")], ..module };
        let other_flags = Module { linker_flags: "-s", ..module };
        let folders = [module, other_files, other_flags].map(|module| module.folder(Path::new("/c")));
        assert_ne!(folders[0], folders[1]);
        assert_ne!(folders[0], folders[2]);
        assert_eq!(folders[0], KUBERNETES.folder(Path::new("/c")));
    }
}
