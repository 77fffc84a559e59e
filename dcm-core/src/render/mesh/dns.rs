//! The CoreDNS of a logical cloud, and the lines by which the DNS server of each cluster forwards its zone to it.
//!
//! It serves a file of names: `gateway.REFERENCE.ZONE` for each cluster reference whose load balancer is known. CoreDNS reads the file again by
//! itself when the ConfigMap is changed. Another zone is in another Corefile, for which the pods are replaced: their template has its hash.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::app_context::{Action, Change, DataMember, Edit, Resolver};
use crate::hash::ContentHash;
use crate::logical_cloud::{LoadBalancer, LogicalCloud, MeshDns, ServiceMesh};

use super::super::{Error, STAGE_MESH, STAGE_MESH_ZONE, Steps, naming};

/// The name of its Deployment, Service, ServiceAccount and ConfigMap.
pub const MESH_DNS: &str = "coredns";

/// Where kubeadm and the distributions that follow it keep the Corefile of a cluster: namespace, name of the ConfigMap, and member.
pub const CLUSTER_COREFILE: [&str; 3] = ["kube-system", "coredns", "Corefile"];

/// How many pods of it run on a cluster, so that names resolve while a node goes.
const REPLICAS: i32 = 2;

/// The port of its server.
const PORT: i32 = 1053;
const HEALTH_PORT: i32 = 8080;
const READY_PORT: i32 = 8181;

/// Seconds for which an answer may be kept, and the lack of one.
const TTL_SECONDS: u32 = 30;

/// Seconds between two looks at the file of names.
const RELOAD_SECONDS: u32 = 10;

/// Annotation of the pods: the hash of their Corefile.
const ANNOTATION_COREFILE: &str = "dcm.internal/corefile";
const HASH_DIGITS: usize = 16;

/// The user and group of its process.
const USER: i64 = 65_532;

const FOLDER: &str = "/etc/coredns";

/// Renders the names of a mesh, which are the same on each cluster.
pub(in crate::render) fn render(
    cloud: &LogicalCloud,
    mesh: &ServiceMesh,
    dns: &MeshDns,
    steps: &mut Steps<'_>,
) -> Result<(), Error> {
    let own = || ObjectMeta {
        name: Some(MESH_DNS.to_owned()),
        namespace: Some(mesh.namespace().to_string()),
        ..ObjectMeta::default()
    };
    let account = core::ServiceAccount {
        metadata: own(),
        automount_service_account_token: Some(false),
        ..core::ServiceAccount::default()
    };
    steps.object(STAGE_MESH, &account)?;
    let data =
        BTreeMap::from([("Corefile".to_owned(), corefile(dns)), ("zone".to_owned(), zone_file(cloud, dns))]);
    let map = core::ConfigMap { metadata: own(), data: Some(data), ..core::ConfigMap::default() };
    steps.object(STAGE_MESH, &map)?;
    steps.object(STAGE_MESH, &core::Service { metadata: own(), spec: Some(service()), status: None })?;
    // Beside the stub domain, which waits for the address of the Service and not for pods.
    steps.object(
        STAGE_MESH_ZONE,
        &Deployment { metadata: own(), spec: Some(deployment(dns)), status: None },
    )?;
    steps.action(STAGE_MESH_ZONE, Action::Edit { edit: stub_domain(mesh, dns) });
    Ok(())
}

fn corefile(dns: &MeshDns) -> String {
    let zone = dns.zone();
    format!(
        "{zone}.:{PORT} {{\n    errors\n    health :{HEALTH_PORT}\n    ready :{READY_PORT}\n    file {FOLDER}/zone {zone} {{\n        \
         reload {RELOAD_SECONDS}s\n    }}\n}}\n"
    )
}

/// The zone, with an address for each cluster reference whose load balancer is known. A zone file is read again where its serial number is another
/// one, so that follows from the names.
fn zone_file(cloud: &LogicalCloud, dns: &MeshDns) -> String {
    let mut names = String::new();
    for reference in cloud.references() {
        if let LoadBalancer::Address(address) = &reference.load_balancer {
            let name = naming::label(reference.metadata.name.as_str());
            let kind = if address.is_ipv4() { "A" } else { "AAAA" };
            let _ = writeln!(names, "gateway.{name} IN {kind} {address}");
        }
    }
    let hash = ContentHash::of_bytes(names.as_bytes()).short(8);
    let serial = u32::from_str_radix(&hash, 16).unwrap_or_default();
    let zone = dns.zone();
    format!(
        "$ORIGIN {zone}.\n$TTL {TTL_SECONDS}\n@ IN SOA {MESH_DNS}.{zone}. hostmaster.{zone}. {serial} 7200 1800 86400 {TTL_SECONDS}\n\
         @ IN NS {MESH_DNS}.{zone}.\n{names}"
    )
}

fn labels() -> BTreeMap<String, String> {
    [("app.kubernetes.io/name".to_owned(), MESH_DNS.to_owned())].into()
}

fn deployment(dns: &MeshDns) -> DeploymentSpec {
    let security = core::PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(USER),
        run_as_group: Some(USER),
        seccomp_profile: Some(core::SeccompProfile {
            type_: "RuntimeDefault".to_owned(),
            localhost_profile: None,
        }),
        ..core::PodSecurityContext::default()
    };
    let volume = core::Volume {
        name: "config".to_owned(),
        config_map: Some(core::ConfigMapVolumeSource {
            name: MESH_DNS.to_owned(),
            ..core::ConfigMapVolumeSource::default()
        }),
        ..core::Volume::default()
    };
    let pod = core::PodSpec {
        service_account_name: Some(MESH_DNS.to_owned()),
        automount_service_account_token: Some(false),
        // The names that it serves do not depend on those of the cluster.
        dns_policy: Some("Default".to_owned()),
        security_context: Some(security),
        containers: vec![container(dns)],
        volumes: Some(vec![volume]),
        ..core::PodSpec::default()
    };
    let hash = ContentHash::of_bytes(corefile(dns).as_bytes()).short(HASH_DIGITS);
    DeploymentSpec {
        replicas: Some(REPLICAS),
        selector: LabelSelector { match_labels: Some(labels()), ..LabelSelector::default() },
        template: core::PodTemplateSpec {
            metadata: Some(ObjectMeta {
                labels: Some(labels()),
                annotations: Some([(ANNOTATION_COREFILE.to_owned(), hash)].into()),
                ..ObjectMeta::default()
            }),
            spec: Some(pod),
        },
        ..DeploymentSpec::default()
    }
}

fn container(dns: &MeshDns) -> core::Container {
    let amounts = |pairs: &[(&str, &str)]| {
        Some(pairs.iter().map(|(key, amount)| ((*key).to_owned(), Quantity((*amount).to_owned()))).collect())
    };
    let port = |name: &str, protocol: &str| core::ContainerPort {
        name: Some(name.to_owned()),
        container_port: PORT,
        protocol: Some(protocol.to_owned()),
        ..core::ContainerPort::default()
    };
    let probe = |path: &str, port: i32| core::Probe {
        http_get: Some(core::HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::Int(port),
            ..core::HTTPGetAction::default()
        }),
        ..core::Probe::default()
    };
    let security = core::SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        // The program of the image has this capability as a file; without it, it can't be started.
        capabilities: Some(core::Capabilities {
            drop: Some(vec!["ALL".to_owned()]),
            add: Some(vec!["NET_BIND_SERVICE".to_owned()]),
        }),
        ..core::SecurityContext::default()
    };
    core::Container {
        name: MESH_DNS.to_owned(),
        image: Some(dns.image().to_owned()),
        args: Some(vec!["-conf".to_owned(), format!("{FOLDER}/Corefile")]),
        ports: Some(vec![port("dns", "UDP"), port("dns-tcp", "TCP")]),
        resources: Some(core::ResourceRequirements {
            requests: amounts(&[("cpu", "20m"), ("memory", "32Mi")]),
            limits: amounts(&[("memory", "128Mi")]),
            ..core::ResourceRequirements::default()
        }),
        liveness_probe: Some(probe("/health", HEALTH_PORT)),
        readiness_probe: Some(probe("/ready", READY_PORT)),
        security_context: Some(security),
        volume_mounts: Some(vec![core::VolumeMount {
            name: "config".to_owned(),
            mount_path: FOLDER.to_owned(),
            read_only: Some(true),
            ..core::VolumeMount::default()
        }]),
        ..core::Container::default()
    }
}

fn service() -> core::ServiceSpec {
    let port = |name: &str, protocol: &str| core::ServicePort {
        name: Some(name.to_owned()),
        port: crate::corefile::DNS_PORT.into(),
        target_port: Some(IntOrString::String(name.to_owned())),
        protocol: Some(protocol.to_owned()),
        ..core::ServicePort::default()
    };
    core::ServiceSpec {
        selector: Some(labels()),
        ports: Some(vec![port("dns", "UDP"), port("dns-tcp", "TCP")]),
        ..core::ServiceSpec::default()
    }
}

fn stub_domain(mesh: &ServiceMesh, dns: &MeshDns) -> Edit {
    let [namespace, name, member] = CLUSTER_COREFILE.map(Into::into);
    let resolver = Resolver::Service { namespace: mesh.namespace().as_str().into(), name: MESH_DNS.into() };
    Edit {
        target: DataMember { namespace, name, member },
        change: Change::StubDomain { zone: dns.zone().clone(), resolver },
    }
}
