//! One example for each command, which its `--help` and `docs/cli.md` show.

use clap::Command;

/// The commands by their words, each with its example.
pub(crate) const EXAMPLES: &[(&[&str], &str)] = &[
    (&["apply"], "dcm apply -f web.yaml"),
    (&["audit"], "dcm audit --cloud web --since 24h"),
    (&["ca"], "dcm ca status web"),
    (&["ca", "status"], "dcm ca status web"),
    (&["cluster"], "dcm cluster list"),
    (&["cluster", "accept"], "dcm cluster accept on-premises/edge-1"),
    (&["cluster", "add"], "dcm cluster add on-premises/edge-1 --kubeconfig edge-1.yaml --label tier=edge"),
    (&["cluster", "check"], "dcm cluster check on-premises/edge-1 --for web.yaml"),
    (&["cluster", "list"], "dcm cluster list -o wide"),
    (&["cluster", "remove"], "dcm cluster remove on-premises/edge-1"),
    (&["cluster", "resume"], "dcm cluster resume on-premises/edge-1"),
    (
        &["cluster", "role"],
        "dcm cluster role --for web.yaml --guard --user system:serviceaccount:dcm-system:dcm | kubectl apply -f -",
    ),
    (&["cluster", "stop"], "dcm cluster stop on-premises/edge-1"),
    (&["cluster", "update"], "dcm cluster update on-premises/edge-1 --kubeconfig renewed.yaml"),
    (&["completions"], "dcm completions bash > ~/.local/share/bash-completion/completions/dcm"),
    (&["context"], "dcm context list"),
    (&["context", "delete"], "dcm context delete dcm.example.com"),
    (&["context", "leave"], "dcm context leave"),
    (&["context", "list"], "dcm context list"),
    (&["context", "use"], "dcm context use dcm.example.com"),
    (&["credential"], "dcm credential web developer edge-1"),
    (&["delete"], "dcm delete web"),
    (&["demo"], "dcm demo --clusters 100"),
    (&["get"], "dcm get web -o yaml > web.yaml"),
    (&["kubeconfig"], "dcm kubeconfig web --user developer --merge"),
    (&["login"], "dcm login https://dcm.example.com --bearer-token token.txt"),
    (&["orphans"], "dcm orphans list"),
    (&["orphans", "list"], "dcm orphans list on-premises/edge-1"),
    (&["orphans", "release"], "dcm orphans release on-premises/edge-1 lc-7f3a"),
    (&["orphans", "remove"], "dcm orphans remove on-premises/edge-1 lc-7f3a"),
    (&["plan"], "dcm plan -f web.yaml"),
    (&["reconcile"], "dcm reconcile web"),
    (&["renew"], "dcm renew web --user developer"),
    (&["resume"], "dcm resume web"),
    (&["schema"], "dcm schema > logical-cloud.schema.json"),
    (&["serve"], "dcm serve --listen 127.0.0.1:9077"),
    (&["status"], "dcm status web --watch"),
    (&["stop"], "dcm stop web"),
    (&["store"], "dcm store check"),
    (&["store", "check"], "dcm store check --store etcd://127.0.0.1:2379"),
    (&["store", "export"], "dcm store export --file backup.jsonl"),
    (&["store", "import"], "dcm store import backup.jsonl --store etcd://127.0.0.1:2379"),
    (&["store", "new-keys"], "dcm store new-keys keys.json"),
    (&["store", "rekey"], "dcm store rekey --forget-earlier"),
    (&["subject"], "dcm subject web developer"),
    (&["terminate"], "dcm terminate web --deadline 2m"),
    (&["token"], "dcm token list --token-file tokens.json"),
    (&["token", "delete"], "dcm token delete operations --token-file tokens.json"),
    (&["token", "list"], "dcm token list --token-file tokens.json"),
    (&["token", "new"], "dcm token new operations --user operator --valid-for 90d --token-file tokens.json"),
    (&["user"], "dcm user revoke web developer"),
    (&["user", "revoke"], "dcm user revoke web developer"),
];

/// Adds its example to the help of each command.
pub(crate) fn with_examples(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (words, example)| with_example(command, words, example))
}

fn with_example(command: Command, words: &[&'static str], example: &str) -> Command {
    match words {
        [] => command.after_help(format!("Example:\n\n    {example}")),
        [first, rest @ ..] => command.mut_subcommand(first, |command| with_example(command, rest, example)),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::Arguments;

    /// The words of a command and of all below it.
    fn words(command: &Command, above: &[String]) -> Vec<Vec<String>> {
        let below = command.get_subcommands().flat_map(|one| {
            let own = [above, &[one.get_name().to_owned()]].concat();
            let deeper = words(one, &own);
            [vec![own], deeper].concat()
        });
        below.collect()
    }

    #[test]
    fn each_command_has_one_example_and_a_first_sentence_of_its_own() {
        let command = with_examples(Arguments::command());
        let mut with_example: Vec<Vec<String>> =
            EXAMPLES.iter().map(|(words, _)| words.iter().map(|&word| word.to_owned()).collect()).collect();
        let mut all = words(&command, &[]);
        with_example.sort();
        all.sort();
        assert_eq!(with_example, all);
        for words in all {
            let one = words.iter().fold(&command, |command, word| command.find_subcommand(word).unwrap());
            let about = one.get_about().unwrap_or_else(|| panic!("{words:?}")).to_string();
            assert!(about.split(' ').count() >= 3, "{words:?}: {about}");
            assert!(
                about.split(' ').next().unwrap().trim_end_matches(',').ends_with('s'),
                "{words:?}: {about}"
            );
        }
    }

    #[test]
    fn each_example_is_a_command_line_of_its_command() {
        for (words, example) in EXAMPLES {
            // A shell does the rest.
            let command_line = example.split(" | ").flat_map(|part| part.split(" > ")).next().unwrap();
            if let Err(error) = Arguments::read(command_line.split(' ')) {
                panic!("{example}: {error}");
            }
            let named: Vec<&str> = command_line.split(' ').skip(1).take(words.len()).collect();
            assert_eq!(named, *words, "{example}");
        }
    }
}
