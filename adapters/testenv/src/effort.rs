//! How long tests wait and how much they try: little by default and the same in each run, more on request.
//!
//! | Variable | Effect | Default |
//! |---|---|---|
//! | `DCM_TEST_PATIENCE` | multiplies [`patience`], for a slow machine; a number from 0.1 to 100 | 1 |
//! | `DCM_PROVE` | `all`: tests run their whole [`budget`], and a [`seed`] is chosen by chance | unset |
//! | `DCM_PROVE_NAME` | the budget of this name, such as `DCM_PROVE_KILLED=40` | unset |
//! | `DCM_SEED` | the seed of each test that uses one, to repeat a failed run | unset |
//! | `DCM_TEST_LEFT_OUT` | a file to which a line is added for all that a test [leaves out](leaves_out) | unset |

use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

/// The longest wait for an event that must happen, before `DCM_TEST_PATIENCE`. A test that passes never waits so long, so the value only
/// decides when a test that waits in vain fails: much later than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(300);

/// The seed of each test by default.
const SEED: u64 = 1;

/// Returns the longest time that a test waits for an event that must happen: 300 seconds, multiplied by `DCM_TEST_PATIENCE`.
///
/// # Panics
/// When the variable is not a number from 0.1 to 100.
pub fn patience() -> Duration {
    PATIENCE.mul_f64(number("DCM_TEST_PATIENCE", variable).map_or(1.0, |factor: f64| {
        assert!(
            (0.1..=100.0).contains(&factor),
            "DCM_TEST_PATIENCE is {factor}; a number from 0.1 to 100 is expected"
        );
        factor
    }))
}

/// Returns how many of something a test tries: `small` by default, `full` with `DCM_PROVE=all`, or the number in `DCM_PROVE_` and the name
/// in upper case.
///
/// # Panics
/// When the variable of the name is not a number.
pub fn budget(name: &str, small: usize, full: usize) -> usize {
    budget_of(name, small, full, variable)
}

/// Returns whether tests run their whole budgets, by `DCM_PROVE=all`.
pub fn proves_all() -> bool {
    variable("DCM_PROVE").is_some_and(|value| value == "all")
}

/// Returns whether a test leaves something out: by default yes, with `DCM_PROVE=all` no. What is left out is printed, and added to the file
/// that `DCM_TEST_LEFT_OUT` names.
pub fn leaves_out(what: &str) -> bool {
    let leaves_out = !proves_all();
    if leaves_out {
        report_left_out(&format!("{what} (without DCM_PROVE=all)"));
    }
    leaves_out
}

/// Reports that something is left out because this machine does not allow it.
///
/// # Panics
/// When the file that `DCM_TEST_LEFT_OUT` names can't be written.
pub fn report_left_out(what: &str) {
    eprintln!("left out: {what}");
    if let Some(file) = std::env::var_os("DCM_TEST_LEFT_OUT") {
        let mut file =
            File::options().create(true).append(true).open(file).expect("DCM_TEST_LEFT_OUT can be written");
        file.write_all(format!("{what}\n").as_bytes()).expect("DCM_TEST_LEFT_OUT can be written");
    }
}

/// Returns the seed of a test: the same in each run by default, another one by chance with `DCM_PROVE=all`, or that in `DCM_SEED`. Prints it
/// with how to repeat the run; the test harness shows that when the test fails.
///
/// # Panics
/// When `DCM_SEED` is not a number, or the system has no random numbers.
pub fn seed(name: &str) -> u64 {
    let chosen = number("DCM_SEED", variable).unwrap_or_else(|| {
        if proves_all() { getrandom::u64().expect("the system has random numbers") } else { SEED }
    });
    eprintln!("{name}: seed {chosen}; to repeat: DCM_SEED={chosen}");
    chosen
}

fn budget_of(name: &str, small: usize, full: usize, variable: impl Fn(&str) -> Option<String>) -> usize {
    let own = format!("DCM_PROVE_{}", name.to_uppercase());
    let all = variable("DCM_PROVE").is_some_and(|value| value == "all");
    number(&own, &variable).unwrap_or(if all { full } else { small })
}

fn number<N: std::str::FromStr>(name: &str, variable: impl Fn(&str) -> Option<String>) -> Option<N> {
    let value = variable(name)?;
    let parsed = value.parse().ok();
    assert!(parsed.is_some(), "{name} is {value:?}; a number is expected");
    parsed
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_small_unless_all_or_a_number_is_asked_for() {
        let with = |set: &'static [(&str, &str)]| {
            budget_of("kills", 3, 90, |name| {
                set.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[]), 3);
        assert_eq!(with(&[("DCM_PROVE", "all")]), 90);
        assert_eq!(with(&[("DCM_PROVE", "some"), ("DCM_PROVE_OTHERS", "7")]), 3);
        assert_eq!(with(&[("DCM_PROVE", "all"), ("DCM_PROVE_KILLS", "7")]), 7);
    }

    #[test]
    #[should_panic(expected = "DCM_PROVE_KILLS is \"many\"; a number is expected")]
    fn a_budget_that_is_no_number_is_refused() {
        budget_of("kills", 3, 90, |name| (name == "DCM_PROVE_KILLS").then(|| "many".to_owned()));
    }
}
