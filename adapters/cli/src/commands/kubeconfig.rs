//! `dcm kubeconfig`: what a user works with.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use dcm_core::kubeconfig::{Access, CurrentContext, Kubeconfig};
use dcm_core::name::{ReferenceName, UserName};
use dcm_core::secret::Secret;

use crate::arguments::Global;
use crate::exit::Exit;
use crate::in_place;
use crate::output::{self, Notation};
use crate::own_kubeconfig::merging::{Merged, OwnFiles};
use crate::place::Handed;
use crate::plugin;
use crate::private_file;
use crate::session::{Named, Session};
use crate::work;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    cloud: Named,
    /// Name of the user; optional when the logical cloud has one user.
    #[arg(short, long, value_name = "NAME")]
    user: Option<UserName>,
    /// Limits the kubeconfig to one cluster reference. Default: all, with a context each.
    #[arg(short = 'r', long, value_name = "NAME")]
    cluster_reference: Option<ReferenceName>,
    /// Writes a file with mode 0600 instead of standard output.
    #[arg(short, long, value_name = "FILE", conflicts_with = "merge")]
    file: Option<PathBuf>,
    /// Merges the entries into a kubeconfig, as kubectl config does; creates the file if needed.
    ///
    /// Other entries stay as they are. Default: the files in KUBECONFIG, otherwise ~/.kube/config. An existing entry stays in its
    /// file; new entries go to the first existing file.
    #[arg(short, long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    merge: Option<Option<PathBuf>>,
    /// Sets the current context to the first of the entries. Default: only if no context is set.
    #[arg(long = "use", requires = "merge")]
    is_used: bool,
    /// Configures dcm as a credential plugin instead of writing credentials: clients always get the newest credential.
    ///
    /// The plugin needs dcm and its store on the client's machine. A store URL with a user or a password is not written to the
    /// file: the client needs it in its environment (DCM_STORE). With a server, the file names the context, or the server alone:
    /// then the client needs the token in its environment (DCM_TOKEN).
    ///
    /// The addresses of clusters and their certificate authorities are in the file all the same. When those of a cluster
    /// change (dcm cluster update), fetch the file again, as one with credentials; dcm status lists the affected users.
    #[arg(long)]
    exec: bool,
}

pub(crate) async fn run(global: &Global, arguments: &Arguments) -> anyhow::Result<Exit> {
    let session = Session::open(global).await?;
    let (user, reference) = (arguments.user.as_ref(), arguments.cluster_reference.as_ref());
    let clouds = session.clouds();
    let found = clouds.hand_out(&session.project, &arguments.cloud.name, user, reference).await?;
    let Handed { access, left_out } = found;
    left_out.iter().for_each(output::note);
    // A server has warned of them.
    access.warnings().filter(|warning| !left_out.contains(warning)).for_each(output::note);
    let access = if arguments.exec { plugin::by_plugins(global, access)? } else { access };
    match &arguments.merge {
        Some(file) => match merge_into(file.clone(), &access, arguments.is_used).await? {
            Exit::Done => {}
            ended => return Ok(ended),
        },
        None => {
            let kubeconfig = kubeconfig_of(&access, reference)?;
            let text = write(&kubeconfig, session.format.for_programs().unwrap_or(Notation::Yaml))?;
            match &arguments.file {
                Some(file) => private_file::write(file, &text)?,
                None => output::print(text.expose())?,
            }
            note_keyless(&kubeconfig, arguments.file.as_deref());
        }
    }
    // It is given by now, whatever is remembered of it.
    if let Err(error) = clouds.handed_out(&access).await {
        let error = anyhow::Error::new(error);
        output::note(format_args!("dcm status can't report when this kubeconfig is out of date: {error:#}"));
    }
    Ok(Exit::Done)
}

fn kubeconfig_of(access: &Access, reference: Option<&ReferenceName>) -> anyhow::Result<Kubeconfig> {
    match reference {
        // The service gives nothing only with the reason, as an error.
        Some(reference) => access.for_cluster(reference).context("there is no credential for this reference"),
        None => Ok(access.for_all_clusters()),
    }
}

fn write(kubeconfig: &Kubeconfig, notation: Notation) -> anyhow::Result<Secret> {
    Ok(match notation {
        Notation::Json => kubeconfig.to_json()?,
        Notation::Yaml => kubeconfig.to_yaml()?,
    })
}

/// Says how whoever keeps the private key adds it to what was written.
fn note_keyless(kubeconfig: &Kubeconfig, file: Option<&Path>) {
    let file = file.map(|file| format!(" --kubeconfig={}", file.display())).unwrap_or_default();
    for (index, entry) in kubeconfig.keyless_users().enumerate() {
        if index == 0 {
            output::note("the user keeps the private key; it is added to an entry by");
        }
        output::note(format_args!("kubectl config set-credentials {entry} --client-key=KEY_FILE{file}"));
    }
}

async fn merge_into(file: Option<PathBuf>, access: &Access, is_used: bool) -> anyhow::Result<Exit> {
    let current = if is_used { CurrentContext::Use } else { CurrentContext::Keep };
    let own = OwnFiles::of(file.clone())?;
    // From here on a signal ends nothing in the middle of a write, and no lock stays.
    let interrupted = work::interrupted();
    let Merged { changed, removed_current } = tokio::select! {
        biased;
        merged = own.merge(access, current) => merged?,
        interrupted = interrupted => return interrupted.map(|()| Exit::Interrupted),
    };
    if changed.is_empty() {
        output::note("the kubeconfig has all entries already");
    }
    for file in changed {
        let shown = file.display();
        output::note(format_args!("merged into {shown}"));
        if in_place::is_open_to_others(&file) {
            output::note(format_args!(
                "warning: {shown} can be read by others than its owner; chmod 600 {shown}"
            ));
        }
    }
    if let Some(context) = removed_current {
        output::note(format_args!(
            "warning: the current context {context} is removed; kubectl config use-context NAME selects another one"
        ));
    }
    // Of the files of KUBECONFIG, kubectl finds the one that has the entry.
    note_keyless(&access.for_merging(), file.as_deref());
    Ok(Exit::Done)
}
