//! The pure core of the Distributed Cloud Manager: what a logical cloud is, what it looks like on a cluster, and what is
//! left to do there.
//!
//! It has no runtime, no I/O, no clock and no randomness: time, keys and certificate requests are inputs, and what it
//! needs from outside are the traits in [`port`]. So every decision can be tested without a cluster.
//!
//! | What | Where |
//! |---|---|
//! | Validated names, secrets, content hashes, quantities, errors in a line, events that are told of seldom | [`name`], [`secret`], [`hash`], [`quantity`], [`causes`], [`tally`] |
//! | Desired objects, and app contexts made of them | [`manifest`], [`app_context`] |
//! | Fields of objects and who holds them; fields that an API server fills in; parts without an effect; objects of controllers | [`fields`], [`defaults`], [`effect`], [`ignored`] |
//! | What is left to do to one cluster, and how far it is | [`plan`], [`status`] |
//! | Storage, clusters, time, keys, the synchronizer, the audit log: traits with written contracts | [`port`] |
//! | The audit log as documents of a store; what a store is looked through for | [`audit`], [`check`] |
//! | Corefiles, and stub domains in those that belong to others | [`corefile`] |
//! | Logical clouds, their documents, and how they are rendered (feature `logical-cloud`) | `logical_cloud`, `document`, `shape`, `render` |
//! | Keys, requests and checks of certificates (feature `pki`) | `pki` |
//! | Certificate authorities of logical clouds, one for each cluster (feature `pki`) | `authority` |
//! | Records of external programs that are called when an app context is made (feature `logical-cloud`) | `controller` |
//! | Kubeconfigs (written with the feature `logical-cloud`, read with `yaml`) | `kubeconfig` |
//! | Rights that a cluster must grant, the use cases (feature `logical-cloud`) | `preflight`, `service` |
//! | Kinds of problems that a server tells (feature `logical-cloud`) | `problem` |
//! | Names that are similar to an unknown one (feature `logical-cloud`) | `similar` |
//! | The reader of YAML and JSON from outside (feature `yaml`) | `yaml` |
//!
//! Without default features only the first seven rows remain: what the sync engine needs, with no model of logical clouds
//! and no cryptography but a digest.

mod hexadecimal;
#[cfg(feature = "logical-cloud")]
mod json;
#[cfg(any(feature = "pki", feature = "yaml"))]
mod pem_block;
#[cfg(feature = "logical-cloud")]
mod pod_security;
#[macro_use]
mod text_form;

pub mod app_context;
pub mod audit;
#[cfg(feature = "pki")]
pub mod authority;
pub mod causes;
pub mod check;
#[cfg(feature = "logical-cloud")]
pub mod controller;
pub mod corefile;
pub mod defaults;
#[cfg(feature = "logical-cloud")]
pub mod document;
pub mod effect;
pub mod fields;
pub mod hash;
pub mod host;
pub mod ignored;
#[cfg(feature = "yaml")]
pub mod kubeconfig;
#[cfg(feature = "logical-cloud")]
pub mod logical_cloud;
pub mod manifest;
pub mod name;
#[cfg(feature = "pki")]
pub mod pki;
pub mod plan;
pub mod port;
#[cfg(feature = "logical-cloud")]
pub mod preflight;
#[cfg(feature = "logical-cloud")]
pub mod problem;
pub mod quantity;
pub mod refusal;
#[cfg(feature = "logical-cloud")]
pub mod render;
pub mod secret;
#[cfg(all(feature = "logical-cloud", feature = "pki"))]
pub mod service;
#[cfg(feature = "logical-cloud")]
pub mod shape;
#[cfg(feature = "logical-cloud")]
pub mod similar;
pub mod status;
pub mod subject;
pub mod tally;
pub mod weight;
#[cfg(feature = "yaml")]
pub mod yaml;

/// Compiles the code in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
