//! A program without the feature `otlp`. Its refusal is tested in any: the tests of the workspace are run with all features.

use dcm_server::Collector;

/// Refuses to begin where there is a collector.
fn refuse(collector: Option<&Collector>) -> anyhow::Result<()> {
    anyhow::ensure!(
        collector.is_none(),
        "spans can't be sent to otlp.endpoint: this program was built without the feature otlp \
         (cargo build -p dcm-cli --features otlp)"
    );
    Ok(())
}

#[cfg(not(feature = "otlp"))]
mod export {
    use std::future::Ready;

    use super::*;
    use crate::otlp::Exporting;

    /// Nothing is ever sent.
    pub(crate) enum Export {}

    impl Export {
        pub(crate) fn begin(collector: Option<&Collector>) -> anyhow::Result<Option<Self>> {
            refuse(collector).map(|()| None)
        }

        pub(crate) fn layer(&self) -> Exporting {
            match *self {}
        }

        pub(crate) fn end(self) -> Ready<()> {
            match self {}
        }
    }
}

#[cfg(not(feature = "otlp"))]
pub(crate) use export::Export;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_refused_and_how_to_build_is_said() {
        assert!(refuse(None).is_ok());
        let collector =
            Collector { traces: "http://127.0.0.1/v1/traces".parse().unwrap(), authorities: None };
        let refused = refuse(Some(&collector)).unwrap_err().to_string();
        let expected = "spans can't be sent to otlp.endpoint: this program was built without the feature otlp (cargo build -p \
            dcm-cli --features otlp)";
        assert_eq!(refused, expected);
    }
}
