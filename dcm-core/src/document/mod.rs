//! The document that users write: one logical cloud, in the shape of a Kubernetes object.
//!
//! ```yaml
//! apiVersion: dcm.internal/v1
//! kind: LogicalCloud
//! metadata:
//!   name: payments
//!   project: shop        # default: the project that the reader is told
//! spec:
//!   users:
//!   - name: developer
//!   permissions:
//!   - {name: work, apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
//!   clusterSelector: {matchLabels: {tier: edge}}
//! ```
//!
//! `objectPolicies` says, by kind, what happens to an object that is there already, and to one that somebody else changes
//! or deletes later:
//!
//! ```yaml
//! spec:
//!   objectPolicies:
//!     Namespace: {existing: adopt}                  # or adopt-if-equal, overwrite; default: refuse
//!     Role: {drift: report}                         # default: correct
//!     ResourceQuota: {reportOnly: [spec.hard.pods]} # these fields may be anybody's
//!     Certificate.cert-manager.io: {existing: overwrite}
//! ```
//!
//! `containerDefaults` says what containers get that name no requests or limits, by a LimitRange in the cloud's namespace. Without it, what a
//! quota holds gets small figures (cpu 100m and 500m, memory 128Mi and 512Mi, ephemeral storage 256Mi and 1Gi), as Kubernetes refuses pods
//! that are silent about it:
//!
//! ```yaml
//! spec:
//!   containerDefaults:
//!     requests: {cpu: 50m}
//!     limits: {cpu: 250m, memory: 256Mi}  # 0 gives none
//! ```
//!
//! `serviceMesh` gives each cluster the namespace `istio-<name>`, with a certificate authority of that cluster in the secret `cacerts`. All verify to one
//! root of the logical cloud:
//!
//! ```yaml
//! spec:
//!   serviceMesh: {key: rsa-3072}  # default: ecdsa-p256
//! ```
//!
//! A text is YAML 1.2 or JSON, in UTF-8. It holds several documents, divided by `---` or as the items of one list; empty
//! ones are passed over. The fields are those of [`Draft`]; [`json_schema`] describes them for editors and other
//! programs, and is also what [`parse`] checks the shape of a document by.
//!
//! What has two readings is refused: unknown fields, duplicate keys, fields without a value (`users:` with nothing
//! behind it), tags (`!…`, but for `!!str`, `!!seq` and `!!map`) and merge keys (`<<`). Aliases (`*…`) are read, within a
//! limit. All refusals of a text are named at once, but for two cases: a document whose shape is wrong is not looked
//! into further, as what its fields mean depends on each other; and what follows a syntax error can't be read.
//!
//! The value of a scalar without quotes depends on what belongs where it stands:
//!
//! | Where | Value |
//! |---|---|
//! | a text: names, labels, descriptions | the text as it is written: `0815`, `yes` and `1.50` stay these texts |
//! | key-value pairs | a number as JSON writes it, with all its digits; `true`, `false`; nothing for `null`, `~` and an empty place; any other is a text |
//! | quantities | an integer, or the text as it is written |
//! | integers and booleans; everywhere in a manifest | the value that YAML 1.2 and kubectl, which reads YAML 1.1, both give it |
//!
//! Where the two differ the scalar is refused with both values, and so is a key of a manifest that kubectl writes
//! differently: `0755` is 493 for kubectl, `no` is false, `1_000` is 1000, and the key `on` is `true`. An integer of more
//! than 64 bits is refused in a manifest, as it would be rounded. A fraction is refused where a kind of Kubernetes has
//! integers.
//!
//! Refusals show the start of a wrong number, name or word, never a text in a place where none belongs and never a
//! request of a user (`csr`), as people paste private keys there.

mod outline;
mod read;
mod refused;
mod resolve;
mod schema;
mod shape;
mod write;
mod written;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::logical_cloud::{Draft, LogicalCloud, LogicalCloudUid};
use crate::name::ProjectName;
use crate::refusal::{Checks, Path, Refusal, Refusals, Warning};
use crate::yaml::compose::Node;

use refused::Wrong;
use resolve::Resolved;
use written::Written;

pub use crate::refusal::REFUSALS_MAX;
pub use crate::yaml::{ALIASED_NODES_MAX, DEPTH_MAX, NODES_MAX, Place};
pub use refused::{Refused, RefusedText};
pub use schema::json_schema;
pub use write::{WriteError, to_json, to_yaml};

/// `apiVersion` of the documents.
pub const API_VERSION: &str = "dcm.internal/v1";

/// `kind` of the documents.
pub const KIND: &str = "LogicalCloud";

/// Largest text, in bytes. A cloud with 10,000 cluster references takes about 1 MiB.
pub const TEXT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Most documents in one text.
pub const DOCUMENTS_MAX: usize = 1000;

/// How much [`parse`] takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest text, in bytes; [`TEXT_BYTES_MAX`] by default.
    pub text_bytes_max: usize,
    /// Most documents in one text; [`DOCUMENTS_MAX`] by default.
    pub documents_max: usize,
    /// Deepest nesting; [`DEPTH_MAX`] by default.
    pub depth_max: usize,
    /// Most nodes that aliases may stand for; [`ALIASED_NODES_MAX`] by default.
    pub aliased_nodes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            text_bytes_max: TEXT_BYTES_MAX,
            documents_max: DOCUMENTS_MAX,
            depth_max: DEPTH_MAX,
            aliased_nodes_max: ALIASED_NODES_MAX,
        }
    }
}

/// One document that follows all rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The project that owns the cloud.
    pub project: ProjectName,
    /// The cloud as it was written. It was checked: [`LogicalCloud::new`] takes it, whatever the UID.
    pub draft: Draft,
    /// What is accepted and perhaps not meant.
    pub warnings: Vec<Warning>,
}

/// Reads all documents of a text. A cloud whose document names no project is in `default_project`.
///
/// # Errors
/// [`RefusedText`] with the refusals of the text, at most [`REFUSALS_MAX`], each with its document, line and column.
/// Nothing of a text with a refusal is used.
///
/// ```
/// use dcm_core::document::{Limits, parse};
/// use dcm_core::name::ProjectName;
///
/// let text = b"{apiVersion: dcm.internal/v1, kind: LogicalCloud, metadata: {name: payments}, spec: {level: high}}";
/// let refused = parse(text, &ProjectName::new("shop")?, &Limits::default()).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "document 1, line 1, column 86: spec.level: must be standard, privileged or admin (or EMCO's 1 or 0) (found \"high\")"
/// );
/// # Ok::<(), dcm_core::name::InvalidName>(())
/// ```
pub fn parse(
    text: &[u8],
    default_project: &ProjectName,
    limits: &Limits,
) -> Result<Vec<Document>, RefusedText> {
    let text = read::utf8(text, limits)?;
    let mut wrong = Vec::new();
    let mut accepted = Vec::new();
    for (stream, read) in read::documents(text, limits).enumerate() {
        match read? {
            Err(unreadable) => wrong.push(((stream, 0), Wrong::Unreadable(unreadable))),
            Ok(items) => {
                for (item, node) in items.into_iter().enumerate() {
                    match check(&node, default_project) {
                        Ok(document) => accepted.push(((stream, item), document)),
                        Err(refused) => wrong.extend(refused.into_iter().map(|one| ((stream, item), one))),
                    }
                }
            }
        }
    }
    wrong.extend(same_names(&accepted));
    if wrong.is_empty() && accepted.is_empty() {
        return Err(RefusedText::of_text(Place::START, "the text holds no document"));
    }
    if wrong.is_empty() {
        return Ok(accepted.into_iter().map(|(_, document)| document).collect());
    }
    Err(refused::locate(wrong, &outline::Outline::of(text)))
}

/// Which document: its number in the text and, when that is a list, the item.
type Position = (usize, usize);

/// Checks a document. One whose shape is wrong, or a scalar of which has two values, is not looked into further.
fn check(node: &Node, default_project: &ProjectName) -> Result<Document, Vec<Wrong>> {
    let Resolved { value, pairs, refused } = resolve::resolve(node);
    let refused_twice = |refusal: &Refusal| refused.iter().any(|(_, earlier)| earlier.path == refusal.path);
    let shape = shape::check(&value).err().and_then(|refusals| {
        Refusals::of(refusals.into_iter().filter(|refusal| !refused_twice(refusal)).collect())
    });
    if shape.is_some() || !refused.is_empty() {
        return Err(shape.map(Wrong::Fields).into_iter().chain([Wrong::Values(refused)]).collect());
    }
    read(value, pairs)
        .and_then(|written| check_rules(written, default_project))
        .map_err(|refusals| vec![Wrong::Fields(refusals)])
}

/// Reads a document of the right shape.
fn read(value: Value, pairs: Vec<(usize, String)>) -> Result<Written, Refusals> {
    // The shape was checked, so this can't be; if it is, a refusal is better than a panic.
    let unreadable = || shape::refusal(&Path::root(), "can't be read as a logical cloud");
    let mut written: Written = serde_json::from_value(value).map_err(|_| unreadable())?;
    for (index, pairs) in pairs {
        if let Some(set) = written.spec.key_values.get_mut(index) {
            set.kv = pairs.parse().map_err(|_| unreadable())?;
        }
    }
    Ok(written)
}

/// Checks the rules of a document.
fn check_rules(written: Written, default_project: &ProjectName) -> Result<Document, Refusals> {
    let mut checks = Checks::default();
    let project = match &written.metadata.project {
        None => Some(default_project.clone()),
        Some(project) => {
            let at = Path::root().field("metadata").field("project");
            checks.accept(&at, project, ProjectName::new(project))
        }
    };
    let draft = Draft::from(written);
    // The UID is made with the cloud and no rule is about it, so any will do for a check.
    let checked = LogicalCloud::new(default_project.clone(), LogicalCloudUid::from_random(0), draft.clone());
    let (warnings, mut refusals) = match checked {
        Ok((_, warnings)) => (warnings, Vec::new()),
        Err(refusals) => (Vec::new(), refusals.into_iter().collect()),
    };
    let project = match checks.finish(project) {
        Ok(project) => Some(project),
        Err(of_project) => {
            refusals.splice(0..0, of_project);
            None
        }
    };
    match (project, Refusals::of(refusals)) {
        (Some(project), None) => Ok(Document { project, draft, warnings }),
        (_, Some(refusals)) => Err(refusals),
        (None, None) => unreachable!("a project that is refused has a refusal"),
    }
}

/// Refuses each document whose cloud an earlier one has, too.
fn same_names(accepted: &[(Position, Document)]) -> Vec<(Position, Wrong)> {
    let mut seen: BTreeMap<(&ProjectName, &str), Position> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (position, document) in accepted {
        let cloud = (&document.project, document.draft.metadata.name.as_str());
        match seen.get(&cloud) {
            Some(earlier) => wrong.push((*position, Wrong::SameName(cloud.1.to_owned(), *earlier))),
            None => {
                seen.insert(cloud, *position);
            }
        }
    }
    wrong
}
