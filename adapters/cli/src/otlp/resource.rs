//! Who sends spans: what OpenTelemetry calls a resource.

use anyhow::Context as _;
use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};

/// The name of the service.
pub(super) const SERVICE: &str = "dcm";

/// The variable that gives it another one, as by the rules for it.
const SERVICE_VARIABLE: &str = "OTEL_SERVICE_NAME";

/// This process: service, version and an id of its own; and what the environment says (OTEL_RESOURCE_ATTRIBUTES).
pub(super) fn of_this_process() -> anyhow::Result<Resource> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).context("there is no randomness")?;
    let own = [
        KeyValue::new("service.name", SERVICE),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", uuid(random)),
    ];
    let resource = Resource::builder_empty()
        .with_attributes(own)
        .with_detectors(&[Box::new(TelemetryResourceDetector), Box::new(EnvResourceDetector::new())]);
    let name = std::env::var(SERVICE_VARIABLE).ok().filter(|name| !name.is_empty());
    Ok(match name {
        Some(name) => resource.with_service_name(name).build(),
        None => resource.build(),
    })
}

/// A random UUID (version 4).
fn uuid(random: [u8; 16]) -> String {
    let number = u128::from_be_bytes(random) & !(0xf << 76) & !(0b11 << 62) | (4 << 76) | (0b10 << 62);
    let digits = format!("{number:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_random_uuid() {
        assert_eq!(uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid([0xff; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
