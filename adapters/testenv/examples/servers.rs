//! Builds the server programs that are missing, and prints where each one is: `cargo run -p dcm-testenv --example servers`.

use dcm_testenv::Lookup;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (program, file) in Lookup::from_environment().prepare().await? {
        eprintln!("{program}: {}", file.display());
    }
    Ok(())
}
