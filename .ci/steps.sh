# Functions for scripts that consist of steps: each step is logged, a failed one stops no other, and the end names all that failed.
# Sourced by `.ci/run` and `scripts/prove-all`, which set `logs` (a folder) and call `steps_begin` first.

# shellcheck shell=bash

# Git gives hooks its folder in variables, and these scripts read others.
# shellcheck disable=SC2046
unset $(git rev-parse --local-env-vars 2>/dev/null)

# begin_alone LOCK SCRIPT ARGUMENTS...: runs the script again as the only one that holds the lock, and ends as it does. A program that it leaves
# behind does not hold the lock.
begin_alone() {
    local lock="$1" status=0
    shift
    [[ ${DCM_LOCK_HELD:-} != "$lock" ]] || return 0
    mkdir -p "$(dirname "$lock")"
    DCM_LOCK_HELD="$lock" flock --nonblock --close --conflict-exit-code 75 "$lock" bash "$@" || status=$?
    ((status != 75)) || echo "another run of $1 is going on: it holds $lock" >&2
    exit "$status"
}

# Prints the build folder of a checkout: of this one alone, as Cargo takes the same crate in two checkouts for one, and recognises by times
# alone what is out of date.
build_folder() {
    echo "$1/target-$(printf '%s' "$PWD" | sha256sum | cut -c1-12)"
}

# Sets up an empty folder of logs, and keeps that of the last run beside it.
steps_begin() {
    results="$logs/results"
    rm -rf "$logs.previous"
    [[ ! -d $logs ]] || mv "$logs" "$logs.previous"
    mkdir -p "$logs"
    : >"$results"
}

# step NAME AGAIN COMMAND...: runs a command with its output in the log NAME, and records how it ended. AGAIN is how a user runs the step alone.
# An exit code of 77 means that something is left out, for the reason in the last line. Returns 1 where the step failed.
step() {
    local name="$1" again="$2" log="$logs/$1.log" started=$SECONDS status
    shift 2
    echo
    echo "== $name"
    # In a pipeline, so that `set -e` holds in functions, too; but not where `step` itself stands in a condition.
    (
        set -e
        "$@"
    ) 2>&1 | tee "$log"
    status="${PIPESTATUS[0]}"
    record "$name" "$again" "$status" $((SECONDS - started))
}

# As `step`, without output until it ends; for steps beside others.
quiet_step() {
    local name="$1" again="$2" log="$logs/$1.log" started=$SECONDS status
    shift 2
    (
        set -e
        "$@"
    ) >"$log" 2>&1
    status=$?
    ((status == 0)) || tail -n 60 "$log"
    record "$name" "$again" "$status" $((SECONDS - started))
}

# record NAME AGAIN STATUS SECONDS
record() {
    local outcome=ok
    case "$3" in
        0) ;;
        77) outcome="left out" ;;
        *) outcome=FAILED ;;
    esac
    echo "== $1: $outcome, $4 s"
    printf '%s\t%s\t%s\t%s\n' "$outcome" "$1" "$4" "$2" >>"$results"
    [[ $outcome != FAILED ]]
}

# Reads the output of `cargo test --no-fail-fast` and prints, for each test that failed or did not end, a line with the command that runs it alone.
failed_tests() {
    awk '
        /^     Running |^   Doc-tests / { count = 0; split("", unfinished) }
        /^test .* has been running for over / { unfinished[$2] = 1 }
        /^test .* \.\.\. / { delete unfinished[$2] }
        /^test .* \.\.\. FAILED/ {
            name = $0
            sub(/^test /, "", name)
            sub(/( - should panic)? \.\.\. FAILED.*$/, "", name)
            failed[++count] = name
        }
        /^error: (doc)?test failed, to rerun pass `/ {
            target = $0
            sub(/^error: (doc)?test failed, to rerun pass `/, "", target)
            sub(/`.*$/, "", target)
            run = "cargo test --workspace --all-features " target
            # With --workspace, cargo takes the package of no target that is named without it.
            sub(/ --workspace --all-features -p /, " --all-features -p ", run)
            if (count == 0) {
                for (name in unfinished) failed[++count] = name
                if (count == 0) print run "   (ended before its tests did)"
            }
            for (i = 1; i <= count; i++) {
                # The name of a doc test is a file and a line.
                if (target ~ /--doc$/) print run " -- \x27" failed[i] "\x27"
                else print run " -- --exact " failed[i]
            }
            count = 0
        }
    ' "$@"
}

# steps_end STEP...: prints what was left out, each failed step and test with how to run it alone, and where the logs are. Returns 1 where
# something failed, or one of these steps was not run.
steps_end() {
    local name passed failed
    for name in "$@"; do
        cut -f 2 "$results" | grep -qxF "$name" || printf 'FAILED\t%s\t0\tit was not run\n' "$name" >>"$results"
    done
    failed="$(grep -c '^FAILED' "$results")"
    echo
    echo "seconds of each step:"
    awk -F '\t' '{ printf "%6d  %s (%s)\n", $3, $2, $1 }' "$results"
    awk -F '\t' '$1 == "left out" { print $2 }' "$results" | while IFS= read -r name; do
        echo "$name: $(tail -n 1 "$logs/$name.log")"
    done
    [[ ! -s $logs/left-out ]] || sort -u "$logs/left-out" | sed 's/^/left out of the tests: /'
    passed=0
    if [[ $failed != 0 ]]; then
        passed=1
        echo "FAILED: $failed of $(wc -l <"$results") steps, after $((SECONDS / 60)) min $((SECONDS % 60)) s; logs: $logs"
        failed_tests "$logs"/*.log | sort -u | sed 's/^/test   /'
        awk -F '\t' -v logs="$logs" '$1 == "FAILED" { print "step   " $2 ": " $4 "   (" logs "/" $2 ".log)" }' "$results"
    else
        echo "all steps passed in $((SECONDS / 60)) min $((SECONDS % 60)) s"
    fi
    # A reader of the last line alone sees how many tests ran.
    if [[ -f $logs/tests.log ]]; then
        awk '/^test result: / { passed += $4; failed += $6 } END { print "tests: " passed + 0 " passed, " failed + 0 " failed" }' "$logs/tests.log"
    fi
    return "$passed"
}
