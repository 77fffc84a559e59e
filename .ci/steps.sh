# Functions for scripts that consist of steps: each step is logged, a failed one stops no other, and the end names all that failed.
# Sourced by `.ci/run` and `scripts/prove-all`, which set `logs` (a folder) and call `steps_begin` first.

# shellcheck shell=bash

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
    # In a pipeline, so that `set -e` holds in functions, too.
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

# Reads the output of `cargo test --no-fail-fast` and prints, for each test that failed, a line with the command that runs it alone.
failed_tests() {
    awk '
        /^     Running |^   Doc-tests / { count = 0 }
        /^test .* \.\.\. FAILED/ {
            name = $0
            sub(/^test /, "", name)
            sub(/( - should panic)? \.\.\. FAILED.*$/, "", name)
            failed[++count] = name
        }
        /^error: test failed, to rerun pass `/ {
            target = $0
            sub(/^error: test failed, to rerun pass `/, "", target)
            sub(/`.*$/, "", target)
            run = "cargo test --workspace --all-features " target
            # With --workspace, cargo takes the package of no target that is named without it.
            sub(/ --workspace --all-features -p /, " --all-features -p ", run)
            if (count == 0) print run "   (ended before its tests did)"
            for (i = 1; i <= count; i++) {
                # The name of a doc test is a file and a line.
                if (target ~ /--doc$/) print run " -- \x27" failed[i] "\x27"
                else print run " -- --exact " failed[i]
            }
            count = 0
        }
    ' "$@"
}

# Prints what was left out, each failed step and test with how to run it alone, and where the logs are. Returns 1 where something failed.
steps_end() {
    local passed failed
    failed="$(grep -c '^FAILED' "$results")"
    echo
    echo "seconds of each step:"
    awk -F '\t' '{ printf "%6d  %s (%s)\n", $3, $2, $1 }' "$results"
    awk -F '\t' '$1 == "left out" { print $2 }' "$results" | while IFS= read -r name; do
        echo "$name: $(tail -n 1 "$logs/$name.log")"
    done
    passed=0
    if [[ $failed != 0 ]]; then
        passed=1
        echo "FAILED: $failed of $(wc -l <"$results") steps, after $((SECONDS / 60)) min $((SECONDS % 60)) s; logs: $logs"
        if [[ -f $logs/tests.log ]]; then
            failed_tests "$logs/tests.log" | sed 's/^/test   /'
        fi
        awk -F '\t' -v logs="$logs" '$1 == "FAILED" { print "step   " $2 ": " $4 "   (" logs "/" $2 ".log)" }' "$results"
    else
        echo "all steps passed in $((SECONDS / 60)) min $((SECONDS % 60)) s"
    fi
    # Whatever reads only the last line learns how many tests there were.
    if [[ -f $logs/tests.log ]]; then
        awk '/^test result: / { passed += $4; failed += $6 } END { print "tests: " passed + 0 " passed, " failed + 0 " failed" }' "$logs/tests.log"
    fi
    return "$passed"
}
