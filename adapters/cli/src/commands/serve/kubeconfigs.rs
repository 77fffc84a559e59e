//! What kubeconfigs of registered clusters may do, on the command line.

use dcm_server::KubeconfigSettings;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Kubeconfigs of registered clusters")]
pub(crate) struct Allowing {
    /// Programs that kubeconfigs may run (exec), spelled as in the kubeconfigs; `*` is any. Default: none.
    #[arg(long, env = "DCM_KUBECONFIG_EXEC_COMMANDS", value_delimiter = ',', value_name = "COMMAND")]
    kubeconfig_exec_commands: Vec<String>,
    /// Allows kubeconfigs that name files, which the server reads as its own user. Default: false.
    #[arg(
        long,
        env = "DCM_KUBECONFIG_FILES",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    kubeconfig_files: Option<bool>,
    /// Allows kubeconfigs that don't verify the API server (insecure-skip-tls-verify, http). Default: false.
    #[arg(
        long,
        env = "DCM_KUBECONFIG_INSECURE",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    kubeconfig_insecure: Option<bool>,
    /// Allows kubeconfigs that name a proxy. Default: false.
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
