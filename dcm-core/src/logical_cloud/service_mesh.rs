//! The service mesh of a logical cloud.

use crate::name::{DnsZone, LogicalCloudName, Namespace, ProjectName};
use crate::port::key_source::KeyType;
use crate::refusal::{Checks, Path};

use super::draft::{MeshDnsDraft, ServiceMeshDraft};
use super::key_type;

/// What the name of a mesh namespace begins with; the name of the logical cloud follows.
pub const MESH_NAMESPACE_PREFIX: &str = "istio-";

/// The zone in which each mesh has its own where its document names none: `<name>.<project>.mesh.internal`. The top-level domain `internal` is
/// reserved for private use.
pub const MESH_ZONE: &str = "mesh.internal";

/// Longest zone, in bytes: `gateway.`, a label of 63 and a dot before it make the longest legal name.
const ZONE_BYTES_MAX: usize = 181;

/// The image of CoreDNS where a document names none.
pub const DNS_IMAGE: &str = "coredns/coredns:1.15.0";

/// Longest name of an image, in bytes.
const IMAGE_BYTES_MAX: usize = 512;

/// The service mesh of a logical cloud: on each cluster a namespace for its control plane, with an intermediate authority of that cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceMesh {
    namespace: Namespace,
    key: KeyType,
    dns: Option<MeshDns>,
}

/// The logical cloud of a mesh, as far as the mesh follows from it.
pub(super) struct Of<'a> {
    pub(super) project: &'a ProjectName,
    pub(super) cloud: &'a str,
    pub(super) namespace: Option<&'a Namespace>,
}

/// The names of a service mesh: the zone that its CoreDNS serves on each cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshDns {
    zone: DnsZone,
    image: String,
}

impl MeshDns {
    /// The zone.
    #[must_use]
    pub fn zone(&self) -> &DnsZone {
        &self.zone
    }

    /// The image of CoreDNS.
    #[must_use]
    pub fn image(&self) -> &str {
        &self.image
    }

    /// The outer none is a refusal, the inner one a mesh without names.
    #[allow(clippy::option_option, reason = "absent and refused are two things")]
    fn check(draft: &MeshDnsDraft, of: &Of<'_>, at: &Path, checks: &mut Checks) -> Option<Option<Self>> {
        if draft.enabled == Some(false) {
            for (field, given) in [("zone", &draft.zone), ("image", &draft.image)] {
                if let Some(given) = given {
                    checks.refuse(
                        &at.field(field),
                        given,
                        "a mesh without names has none of this; leave it out, or enabled",
                    );
                }
            }
            return Some(None);
        }
        let zone = zone(draft.zone.as_deref(), of, &at.field("zone"), checks);
        let image = image(draft.image.as_deref().unwrap_or(DNS_IMAGE), &at.field("image"), checks);
        Some(Some(Self { zone: zone?, image: image? }))
    }
}

/// The zone of the mesh of a cloud that names none, legal or not.
fn default_zone(cloud: &str, project: &ProjectName) -> String {
    format!("{cloud}.{project}.{MESH_ZONE}")
}

fn zone(given: Option<&str>, of: &Of<'_>, at: &Path, checks: &mut Checks) -> Option<DnsZone> {
    let own = || default_zone(of.cloud, of.project);
    let (text, rule) = match given {
        Some(text) => (text.to_owned(), None),
        // A name that is refused itself is not refused here again.
        None => (
            LogicalCloudName::new(of.cloud).ok().map(|_| own())?,
            Some("is no legal zone; name a zone, or set enabled to false"),
        ),
    };
    let zone = DnsZone::new(&text);
    match &zone {
        Err(error) => checks.refuse(at, &text, rule.unwrap_or(error.rule)),
        Ok(_) if text.len() > ZONE_BYTES_MAX => {
            checks.refuse(
                at,
                &text,
                format!("must have at most {ZONE_BYTES_MAX} characters, so that its names are legal"),
            );
            return None;
        }
        Ok(_) => {}
    }
    zone.ok()
}

fn image(text: &str, at: &Path, checks: &mut Checks) -> Option<String> {
    let is_legal =
        (1..=IMAGE_BYTES_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_legal {
        checks.refuse(
            at,
            text,
            format!("must be 1 to {IMAGE_BYTES_MAX} printable characters without spaces"),
        );
    }
    is_legal.then(|| text.to_owned())
}

impl ServiceMesh {
    /// The zone of the mesh of a cloud that names none. Where the names of cloud and project make no legal zone, it has to name one.
    #[must_use]
    pub fn default_zone(cloud: &LogicalCloudName, project: &ProjectName) -> Option<DnsZone> {
        DnsZone::new(default_zone(cloud.as_str(), project)).ok()
    }

    /// Checks a draft.
    pub(super) fn check(
        draft: &ServiceMeshDraft,
        of: &Of<'_>,
        at: &Path,
        checks: &mut Checks,
    ) -> Option<Self> {
        let namespace = namespace(of, at, checks);
        let key = key_type::check(draft.key.as_deref(), &at.field("key"), checks);
        let named = draft.dns.clone().unwrap_or_default();
        let dns = MeshDns::check(&named, of, &at.field("dns"), checks);
        Some(Self { namespace: namespace?, key: key?, dns: dns? })
    }

    /// The namespace of the control plane: `istio-` and the name of the logical cloud.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The type of the private keys of its authorities.
    #[must_use]
    pub fn key(&self) -> KeyType {
        self.key
    }

    /// Its names; none where it has none.
    #[must_use]
    pub fn dns(&self) -> Option<&MeshDns> {
        self.dns.as_ref()
    }
}

fn namespace(of: &Of<'_>, at: &Path, checks: &mut Checks) -> Option<Namespace> {
    // A name that is refused itself is not refused here again.
    LogicalCloudName::new(of.cloud).ok()?;
    let text = format!("{MESH_NAMESPACE_PREFIX}{}", of.cloud);
    match Namespace::new(&text) {
        Ok(namespace) if of.namespace == Some(&namespace) => {
            let rule = "the namespace of the mesh must differ from that of the logical cloud; give the cloud another one";
            checks.refuse(at, &text, rule);
            None
        }
        Ok(namespace) => Some(namespace),
        Err(error) => {
            let rule = format!(
                "the namespace of the mesh must be a legal one ({}); take a shorter or simpler name of the cloud",
                error.rule
            );
            checks.refuse(at, &text, rule);
            None
        }
    }
}

impl From<ServiceMesh> for ServiceMeshDraft {
    fn from(mesh: ServiceMesh) -> Self {
        let key = (mesh.key != KeyType::default()).then(|| mesh.key.as_str().to_owned());
        let dns = match mesh.dns {
            None => MeshDnsDraft { enabled: Some(false), ..MeshDnsDraft::default() },
            Some(MeshDns { zone, image }) => MeshDnsDraft {
                enabled: None,
                zone: Some(zone.to_string()),
                image: (image != DNS_IMAGE).then_some(image),
            },
        };
        Self { key, dns: Some(dns) }
    }
}
