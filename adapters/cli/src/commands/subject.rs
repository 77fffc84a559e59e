//! `dcm subject`: the subject that a user's own certificate request must have.

use dcm_core::subject::Subject;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::output;
use crate::session::{NamedUser, Session};

pub(crate) async fn run(global: &Global, NamedUser { cloud, user }: &NamedUser) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let subject = session.clouds().subject(&session.project, &cloud.name, user).await?;
    output::print_either(session.format, &subject, || format!("{subject}\n"))?;
    if session.format.for_programs().is_none() {
        let for_openssl = for_openssl(&subject);
        output::note(format_args!(
            "the request is made by\nopenssl req -new -key KEY_FILE -subj '{for_openssl}'\nand put into the document, as \
             spec.users[].csr of {user}"
        ));
    }
    Ok(Exit::Done)
}

/// The subject as openssl reads it. Our names have nothing in them that would have to be escaped there, or in a shell.
fn for_openssl(subject: &Subject) -> String {
    let organization = subject.organization().map(|organization| format!("/O={organization}"));
    format!("{}/CN={}", organization.unwrap_or_default(), subject.common_name())
}
