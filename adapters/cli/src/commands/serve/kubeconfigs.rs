//! What kubeconfigs of registered clusters may do, on the command line.

use dcm_server::KubeconfigSettings;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Kubeconfigs of registered clusters")]
pub(crate) struct Allowing {
    /// Programs that kubeconfigs may run, spelled as they spell them. `*` is any. Default: none.
    #[arg(long, env = "DCM_KUBECONFIG_EXEC_COMMANDS", value_delimiter = ',', value_name = "COMMAND")]
    kubeconfig_exec_commands: Vec<String>,
    /// Whether kubeconfigs may name files, which are read as the server's user. Default: false.
    #[arg(
        long,
        env = "DCM_KUBECONFIG_FILES",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    kubeconfig_files: Option<bool>,
    /// Whether kubeconfigs may do without proof of the server's identity (insecure-skip-tls-verify, or http). Default: false.
    #[arg(
        long,
        env = "DCM_KUBECONFIG_INSECURE",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    kubeconfig_insecure: Option<bool>,
    /// Whether kubeconfigs may choose a proxy. Default: false.
    #[arg(
        long,
        env = "DCM_KUBECONFIG_PROXY",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    kubeconfig_proxy: Option<bool>,
}

impl Allowing {
    /// The settings that they make, if any is set.
    pub(crate) fn settings(&self) -> Option<KubeconfigSettings> {
        let settings = KubeconfigSettings {
            exec_commands: self.kubeconfig_exec_commands.clone(),
            files: self.kubeconfig_files,
            insecure: self.kubeconfig_insecure,
            proxy: self.kubeconfig_proxy,
        };
        (settings != KubeconfigSettings::default()).then_some(settings)
    }
}
