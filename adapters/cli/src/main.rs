//! The `dcm` command.

fn main() -> std::process::ExitCode {
    dcm_cli::main()
}
