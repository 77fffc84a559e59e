//! What instantiating logical clouds costs.

mod cloud;
mod scale;
mod usage;

use anyhow::Result;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == scale::CHILD) {
        scale::child(&arguments[1..])?;
    }
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let mut all = Vec::new();
        for kind in [scale::Kind::Null, scale::Kind::Simulated] {
            for lanes in [100, 1000, 10_000] {
                let cost = scale::measure(kind, lanes).await?;
                println!(
                    "{kind:?} {lanes}: {:.0} us, {:.0} bytes a lane, wall {:.0} ms",
                    cost.cpu_us_a_lane(),
                    cost.bytes_a_lane(),
                    cost.wall_us / 1e3
                );
                all.push(cost);
            }
        }
        println!("exponent {:.3}", scale::growth_exponent(&all[0], &all[2]));
        Ok(())
    })
}
