//! Says how long an environment takes to start and to end: `cargo run --example start_time -- 3`.

use dcm_testenv::Environment;
use tokio::time::Instant;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clusters = std::env::args().nth(1).map_or(Ok(1), |argument| argument.parse())?;
    let start = Instant::now();
    let environment = Environment::builder().clusters(clusters).start().await?;
    eprintln!("{clusters} clusters: started in {:.1} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    drop(environment);
    eprintln!("{clusters} clusters: ended in {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}
