//! What a status is asked for.

use std::collections::BTreeSet;

use dcm_core::name::{ClusterId, is_label_value};

use crate::emco::problem::Problem;

/// What is told of each resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// Whether it is ready.
    #[default]
    Ready,
    /// Whether it is applied.
    Deployed,
}

/// How much is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Output {
    /// Counts alone.
    Summary,
    /// Each resource.
    #[default]
    All,
    /// Each resource, and why it is not further.
    Detail,
}

/// Lists that are asked for in the place of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    Clusters,
    Resources,
}

/// What is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) instance: Option<String>,
    pub(super) form: Form,
    pub(super) output: Output,
    pub(super) listing: Option<Listing>,
    /// Only these clusters; all where there is none.
    clusters: BTreeSet<ClusterId>,
    /// Only resources of these names; all where there is none.
    resources: BTreeSet<String>,
}

impl Asked {
    /// Reads the parameters of a query. Those that are not known are passed over.
    pub(super) fn read(pairs: Vec<(String, String)>) -> Result<Self, Problem> {
        let mut asked = Self::default();
        for (name, value) in pairs {
            asked.take(&name, value).map_err(Problem::bad_request)?;
        }
        Ok(asked)
    }

    fn take(&mut self, name: &str, value: String) -> Result<(), &'static str> {
        match name {
            "instance" if value.is_empty() => return Err("Invalid query instance"),
            "instance" => self.instance = Some(value),
            "status" => self.form = form(&value).ok_or("Invalid query status")?,
            "output" => self.output = output(&value).ok_or("Invalid query output")?,
            "clusters" => self.listing = Some(Listing::Clusters),
            "resources" => self.listing = self.listing.or(Some(Listing::Resources)),
            "cluster" => drop(self.clusters.insert(cluster(&value).ok_or("Invalid cluster query")?)),
            "resource" if is_label_value(&value) => drop(self.resources.insert(value)),
            "resource" => return Err("Invalid resources query"),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn is_about(&self, cluster: &ClusterId) -> bool {
        self.clusters.is_empty() || self.clusters.contains(cluster)
    }

    pub(super) fn is_about_resource(&self, name: &str) -> bool {
        self.resources.is_empty() || self.resources.contains(name)
    }
}

fn form(value: &str) -> Option<Form> {
    match value {
        "ready" => Some(Form::Ready),
        "deployed" => Some(Form::Deployed),
        _ => None,
    }
}

fn output(value: &str) -> Option<Output> {
    match value {
        "summary" => Some(Output::Summary),
        "all" => Some(Output::All),
        "detail" => Some(Output::Detail),
        _ => None,
    }
}

/// `PROVIDER+CLUSTER`.
fn cluster(value: &str) -> Option<ClusterId> {
    let (provider, cluster) = value.split_once('+')?;
    ClusterId::new(provider, cluster).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Asked, Problem> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Asked::read(pairs.iter().map(owned).collect())
    }

    #[test]
    fn clusters_come_before_resources_and_what_is_not_known_is_passed_over() {
        let asked = read(&[("resources", ""), ("clusters", ""), ("type", "rsync")]).unwrap();
        assert_eq!(asked, Asked { listing: Some(Listing::Clusters), ..Asked::default() });
        let asked = read(&[("cluster", "p+a"), ("cluster", "p+b"), ("resource", "ns1")]).unwrap();
        let is_about = |cluster: &str| asked.is_about(&cluster.parse().unwrap());
        assert_eq!([is_about("p/a"), is_about("p/b"), is_about("p/c")], [true, true, false]);
        assert_eq!([asked.is_about_resource("ns1"), asked.is_about_resource("ns2")], [true, false]);
    }

    #[test]
    fn a_bad_value_is_told_by_its_parameter() {
        for (name, value, told) in [
            ("instance", "", "Invalid query instance"),
            ("status", "Ready", "Invalid query status"),
            ("output", "", "Invalid query output"),
            ("cluster", "p c", "Invalid cluster query"),
            ("cluster", "p/c", "Invalid cluster query"),
            ("resource", "", "Invalid resources query"),
        ] {
            assert_eq!(read(&[(name, value)]).unwrap_err(), Problem::bad_request(told), "{name}={value}");
        }
    }
}
