//! What whoever asks may take, as it is set.

use std::time::Duration;

use dcm_core::refusal::{Checks, Path};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::duration;
use crate::limits::Limits;

/// What whoever asks may take of each listener for the API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Connections. Beyond that the one that has been idle longest is closed for a new one, and where none is idle, the new one is closed.
    /// Default 16,384, or three quarters of the files that the process may open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections_max: Option<usize>,
    /// Connections of one remote address (of IPv6: one network of 64 bits), loopback addresses excepted; beyond that one of its own makes room.
    /// Default: an eighth of connectionsMax, and at least 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections_per_address_max: Option<usize>,
    /// Requests under way at once; further ones are answered with 503. Default 4,096.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_max: Option<usize>,
    /// Bytes of bodies under way, beyond the first 64 KiB of each; a body that has no room is answered with 503. Of callers who prove who they
    /// are, each has a quarter of it, and at least 8 MiB; more is answered with 429. Default 67,108,864 (64 MiB), at least 8,388,608.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_bytes_max: Option<usize>,
    /// Callers who follow events at once; further ones are answered with 503. Default 1,024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub followers_max: Option<usize>,
    /// How often one caller may follow events at once, where callers prove who they are; further ones are answered with 429. Default 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub followers_per_caller_max: Option<usize>,
    /// How long the body of a request may take to arrive; one that takes longer is answered with 408. Default 60s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_timeout: Option<String>,
    /// How long the head of a request may take, and how long a connection may be silent between two; then it is closed. Default 30s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<String>,
    /// How long an answer may wait for whoever asked to take some of it; then the connection is closed. Default 30s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_timeout: Option<String>,
}

impl LimitSettings {
    /// As limits are.
    pub(super) fn of(limits: Limits) -> Self {
        let text = |duration: Duration| Some(duration::told(duration));
        Self {
            connections_max: Some(limits.connections_max),
            connections_per_address_max: limits.connections_per_address_max,
            requests_max: Some(limits.requests.requests_max),
            body_bytes_max: Some(limits.requests.body_bytes_max),
            followers_max: Some(limits.requests.followers_max),
            followers_per_caller_max: Some(limits.requests.followers_per_caller_max),
            body_timeout: text(limits.requests.body_timeout),
            idle_timeout: text(limits.idle_timeout),
            answer_timeout: text(limits.answer_timeout),
        }
    }

    /// These, and what is not set in them as it is in others.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            connections_max: self.connections_max.or(below.connections_max),
            connections_per_address_max: self
                .connections_per_address_max
                .or(below.connections_per_address_max),
            requests_max: self.requests_max.or(below.requests_max),
            body_bytes_max: self.body_bytes_max.or(below.body_bytes_max),
            followers_max: self.followers_max.or(below.followers_max),
            followers_per_caller_max: self.followers_per_caller_max.or(below.followers_per_caller_max),
            body_timeout: self.body_timeout.or(below.body_timeout),
            idle_timeout: self.idle_timeout.or(below.idle_timeout),
            answer_timeout: self.answer_timeout.or(below.answer_timeout),
        }
    }

    /// The limits, and what breaks a rule.
    pub(super) fn read(&self, path: &Path, checks: &mut Checks) -> Limits {
        let mut limits = Limits::default();
        let mut count = |field: &str, set: Option<usize>, min: usize| {
            if let Some(set) = set.filter(|set| *set < min) {
                checks.refuse(&path.field(field), &set.to_string(), format!("must be {min} or more"));
            }
            set.filter(|set| *set >= min)
        };
        let bytes_min = dcm_rest::Limits::BODY_BYTES_MIN;
        let requests = &mut limits.requests;
        let counts = [
            ("connectionsMax", self.connections_max, 1, &mut limits.connections_max),
            ("requestsMax", self.requests_max, 1, &mut requests.requests_max),
            ("bodyBytesMax", self.body_bytes_max, bytes_min, &mut requests.body_bytes_max),
            ("followersMax", self.followers_max, 1, &mut requests.followers_max),
            (
                "followersPerCallerMax",
                self.followers_per_caller_max,
                1,
                &mut requests.followers_per_caller_max,
            ),
        ];
        for (field, set, min, limit) in counts {
            *limit = count(field, set, min).unwrap_or(*limit);
        }
        let of_address = self.connections_per_address_max;
        limits.connections_per_address_max = count("connectionsPerAddressMax", of_address, 1);
        let timeouts = [
            ("bodyTimeout", &self.body_timeout, &mut limits.requests.body_timeout),
            ("idleTimeout", &self.idle_timeout, &mut limits.idle_timeout),
            ("answerTimeout", &self.answer_timeout, &mut limits.answer_timeout),
        ];
        for (field, text, limit) in timeouts {
            let set = text.as_deref().and_then(|text| duration::read(text, None, &path.field(field), checks));
            *limit = set.unwrap_or(*limit);
        }
        limits
    }
}
