//! What kubeconfigs of registered clusters may do, as it is set.

use dcm_core::refusal::{Checks, Path};
use dcm_kube::kubeconfig::{Allowed, Commands};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stands for any program.
const ANY: &str = "*";

/// What kubeconfigs of registered clusters may do beyond holding their credentials. A cluster whose kubeconfig needs more is not
/// connected to. Kubeconfigs that are registered over the API may do nothing of it in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KubeconfigSettings {
    /// Programs that they may run as the server's user, spelled as their users[].user.exec.command spells them. These get their
    /// arguments, and no environment variables from the kubeconfig. "*" is any program, also with such variables and through
    /// auth-provider. Default: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exec_commands: Vec<String>,
    /// Whether they may name files, which are read as the server's user. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<bool>,
    /// Whether they may do without proof of the server's identity: insecure-skip-tls-verify, or a server at http://. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
    /// Whether they may choose a proxy by proxy-url. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<bool>,
}

impl KubeconfigSettings {
    /// These, and what is not set in them as it is in others.
    pub(super) fn over(self, below: Self) -> Self {
        let is_unset = self.exec_commands.is_empty();
        Self {
            exec_commands: if is_unset { below.exec_commands } else { self.exec_commands },
            files: self.files.or(below.files),
            insecure: self.insecure.or(below.insecure),
            proxy: self.proxy.or(below.proxy),
        }
    }

    /// What is allowed by them, and what breaks a rule.
    pub(super) fn read(self, path: &Path, checks: &mut Checks) -> Allowed {
        for (index, command) in self.exec_commands.iter().enumerate() {
            if command.is_empty() {
                let path = path.field("execCommands").item(index);
                checks.refuse(&path, command, "must be a program, or * for any");
            }
        }
        let exec_commands = match self.exec_commands.iter().any(|command| command == ANY) {
            true => Commands::Any,
            false => Commands::Named(self.exec_commands.into_iter().collect()),
        };
        Allowed {
            exec_commands,
            files: self.files.unwrap_or(false),
            insecure: self.insecure.unwrap_or(false),
            proxy: self.proxy.unwrap_or(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Allowed, Vec<String>) {
        let settings: KubeconfigSettings = serde_saphyr::from_str(text).unwrap();
        let mut checks = Checks::default();
        let allowed = settings.read(&Path::root().field("kubeconfigs"), &mut checks);
        let refusals = checks.finish(Some(())).err().into_iter().flatten();
        (allowed, refusals.map(|refusal| refusal.to_string()).collect())
    }

    #[test]
    fn nothing_is_allowed_that_is_not_named() {
        assert_eq!(read("{}"), (Allowed::default(), vec![]));
        let named = Commands::Named(["aws".to_owned(), "kubelogin".to_owned()].into());
        let allowed = Allowed { exec_commands: named, proxy: true, ..Allowed::default() };
        assert_eq!(read("{execCommands: [aws, kubelogin], proxy: true, files: false}"), (allowed, vec![]));
        let everything = "{execCommands: ['*'], files: true, insecure: true, proxy: true}";
        assert_eq!(read(everything), (Allowed::everything(), vec![]));
    }

    #[test]
    fn a_program_has_a_name() {
        let rule = "kubeconfigs.execCommands[1]: must be a program, or * for any";
        assert!(read("{execCommands: [aws, '']}").1[0].starts_with(rule));
    }
}
