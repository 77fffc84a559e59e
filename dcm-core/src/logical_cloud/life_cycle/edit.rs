//! What an edit must leave alone.

use crate::logical_cloud::LogicalCloud;
use crate::refusal::{Checks, Path, Refusals};

/// Checks that an edit leaves alone what can't be changed under a cloud that is on clusters: its namespace holds what
/// its users made, and an admin cloud has none.
///
/// # Errors
/// A refusal for each such field.
pub fn fixed_while_applied(applied: &LogicalCloud, edited: &LogicalCloud) -> Result<(), Refusals> {
    let at = Path::root().field("spec");
    let mut checks = Checks::default();
    match (applied.namespace(), edited.namespace()) {
        (Some(old), Some(new)) if old != new => {
            let rule = format!(
                "stays {old} while the cloud is on clusters: it holds what the users made; terminate first"
            );
            checks.refuse(&at.field("namespace"), new.as_str(), rule);
        }
        (Some(_), None) | (None, Some(_)) => {
            let rule = "can't become or leave admin while the cloud is on clusters; terminate first";
            checks.refuse(&at.field("level"), edited.level().as_str(), rule);
        }
        _ => {}
    }
    checks.finish(Some(()))
}
