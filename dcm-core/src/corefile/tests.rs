//! Edits of Corefiles: each is undone to the byte, and what can't be edited safely is left alone.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::name::{ContextId, DnsZone};

const STOCK: &str = ".:53 {\n    errors\n    health {\n       lameduck 5s\n    }\n    kubernetes cluster.local in-addr.arpa ip6.arpa {\n       \
                     pods insecure\n       fallthrough in-addr.arpa ip6.arpa\n       ttl 30\n    }\n    forward . /etc/resolv.conf {\n       \
                     max_concurrent 1000\n    }\n    cache 30\n    loop\n    reload\n    loadbalance\n}\n";

const LINES: &str =
    "# dcm begin one\nlc1:53 {\n    errors\n    cache 30\n    forward . 10.96.0.77:53\n}\n# dcm end one\n";

fn stub(context: &str, zone: &str) -> StubDomain {
    let address = "10.96.0.77".parse().unwrap();
    StubDomain::new(ContextId::new(context).unwrap(), DnsZone::new(zone).unwrap(), address)
}

fn one() -> StubDomain {
    stub("one", "lc1")
}

fn addresses(text: &str) -> Vec<String> {
    let corefile = Corefile::parse(text).unwrap();
    corefile.blocks().flat_map(ServerBlock::addresses).map(|address| address.as_str().to_owned()).collect()
}

#[test]
fn the_block_comes_before_all_others_and_is_undone_to_the_byte() {
    let edited = one().edit(STOCK, &[]).unwrap();
    assert_eq!(edited, format!("{LINES}{STOCK}"));
    assert_eq!(one().edit(&edited, &[]).unwrap(), edited);
    assert_eq!(one().undo(&edited).unwrap(), STOCK);
    assert_eq!(one().undo(STOCK).unwrap(), STOCK);
}

#[test]
fn a_new_address_and_a_new_zone_replace_the_block_in_its_place() {
    let between = format!("a.example {{\n    errors\n}}\n{LINES}{STOCK}");
    let moved = StubDomain::new(
        ContextId::new("one").unwrap(),
        DnsZone::new("lc2").unwrap(),
        "fd00::7".parse().unwrap(),
    );
    let lines = LINES.replace("lc1", "lc2").replace("10.96.0.77:53", "[fd00::7]:53");
    assert_eq!(moved.edit(&between, &[]).unwrap(), between.replace(LINES, &lines));
    assert_eq!(moved.undo(&between).unwrap(), between.replace(LINES, ""));
    assert!(one().with_port(5353).edit(STOCK, &[]).unwrap().contains("forward . 10.96.0.77:5353\n"));
}

#[test]
fn the_block_is_served_on_the_port_of_the_root_zone() {
    for (root, address) in [
        (".:5353", "lc1:5353"),
        ("dns://.:1053", "lc1:1053"),
        (".", "lc1."),
        ("a.example b.example:54, .:55", "lc1:55"),
        (".:8053 .:53 .:8053", "lc1:8053"),
        ("tls://.", "lc1:53"),
        ("example.org:99", "lc1:53"),
    ] {
        let edited = one().edit(&format!("{root} {{\n    errors\n}}\n"), &[]).unwrap();
        assert_eq!(addresses(&edited)[0], address, "{root}");
    }
}

#[test]
fn the_block_is_served_on_each_port_of_the_root_zone() {
    let text = ".:8053 {\n}\n.:53 a.example {\n}\n";
    let edited = one().edit(text, &[]).unwrap();
    assert_eq!(addresses(&edited)[..2], ["lc1:8053", "lc1:53"]);
    assert_eq!(one().undo(&edited).unwrap(), text);
}

#[test]
fn a_zone_that_is_a_keyword_is_written_as_a_zone() {
    let import = stub("one", "import");
    let edited = import.edit(". {\n}\n", &[]).unwrap();
    assert_eq!(addresses(&edited), ["import.", "."]);
    assert_eq!(import.edit(&edited, &[]).unwrap(), edited);
    assert_eq!(import.undo(&edited).unwrap(), ". {\n}\n");
}

#[test]
fn a_block_whose_marker_lines_were_dropped_belongs_to_the_context_that_wrote_it_word_by_word() {
    let migrated = "lc1:53 {\n\terrors\n\tcache 30\n\tforward . 10.96.0.77:53\n}\n";
    let text = format!("{STOCK}{migrated}");
    assert_eq!(one().undo(&text).unwrap(), STOCK);
    assert_eq!(one().edit(&text, &[one()]).unwrap(), format!("{STOCK}{LINES}"));
    // A new address is followed, also then.
    let moved = StubDomain::new(one().context().clone(), one().zone().clone(), "10.96.0.78".parse().unwrap());
    assert_eq!(moved.edit(&text, &[one()]).unwrap(), format!("{STOCK}{}", LINES.replace(".77:", ".78:")));
    assert_eq!(moved.undo(&text).unwrap(), text);
    // Without having written it, it belongs to others; so does one that was changed, has comments, or is not on a line of its own.
    assert!(matches!(one().edit(&text, &[]), Err(LeftAlone::ZoneTaken { line: 19, .. })));
    // The same words on other lines have another meaning.
    for (from, to) in [
        ("\terrors\n\tcache", "\terrors cache"),
        ("\tcache 30", "\timport x\n\tcache 30"),
        ("\tcache 30", "\tcache 31"),
        ("\terrors", "\terrors # all"),
        ("}\nlc1", "} lc1"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        assert_eq!(one().undo(&changed).unwrap(), changed);
        assert!(matches!(one().edit(&changed, &[one()]), Err(LeftAlone::ZoneTaken { .. })), "{changed}");
    }
}

#[test]
fn the_block_of_another_context_for_the_same_zone_and_address_is_not_taken() {
    let edited = one().edit(STOCK, &[]).unwrap();
    let two = stub("two", "lc1");
    assert_eq!(two.undo(&edited).unwrap(), edited);
    assert!(matches!(
        two.edit(&edited, std::slice::from_ref(&two)),
        Err(LeftAlone::ZoneTaken { line: 2, .. })
    ));
}

#[test]
fn zones_of_two_contexts_do_not_overlap() {
    let edited = stub("one", "b.c").edit(STOCK, &[]).unwrap();
    for zone in ["a.b.c", "c"] {
        let error = stub("two", zone).edit(&edited, &[]).unwrap_err();
        assert!(matches!(error, LeftAlone::ZoneOverlaps { line: 2, .. }), "{zone}: {error}");
    }
    for zone in ["ab.c", "b.d", "x.c"] {
        assert!(stub("two", zone).edit(&edited, &[]).is_ok(), "{zone}");
    }
}

#[test]
fn the_clusters_own_domain_is_left_alone() {
    let text = STOCK.replace("cluster.local", "K8s.Example.");
    for zone in ["k8s.example", "example", "a.svc.k8s.example"] {
        let error = stub("one", zone).edit(&text, &[]).unwrap_err();
        assert!(matches!(error, LeftAlone::ClusterDomain { line: 6, .. }), "{zone}: {error}");
    }
    assert!(stub("one", "k9s.example").edit(&text, &[]).is_ok());
    let of_block = "k8s.example:53 {\n    kubernetes {\n        pods insecure\n    }\n}\n";
    assert!(matches!(
        stub("one", "example").edit(of_block, &[]),
        Err(LeftAlone::ClusterDomain { line: 2, .. })
    ));
    let unknown = STOCK.replace("cluster.local", "{$CLUSTER_DOMAIN}");
    assert!(matches!(one().edit(&unknown, &[]), Err(LeftAlone::ZoneUnknown { line: 6, .. })));
}

#[test]
fn a_root_zone_that_listens_otherwise_is_left_alone() {
    for plugin in ["bind 169.254.20.10", "multisocket 2"] {
        let text = STOCK.replace("    loop\n", &format!("    {plugin}\n"));
        let error = one().edit(&text, &[]).unwrap_err();
        assert!(
            matches!(error, LeftAlone::Listening { line: 15, plugin: name } if plugin.starts_with(name)),
            "{error}"
        );
        assert_eq!(one().undo(&text).unwrap(), text);
    }
}

#[test]
fn another_block_for_the_zone_is_left_alone() {
    for address in ["lc1", "LC1.:53", "dns://lc1", "tls://lc1:853", "a.example:53, lc1:54"] {
        let text = format!("{STOCK}{address} {{\n    errors\n}}\n");
        let error = one().edit(&text, &[]).unwrap_err();
        assert!(matches!(error, LeftAlone::ZoneTaken { line: 19, .. }), "{address}: {error}");
        assert_eq!(one().undo(&text).unwrap(), text);
    }
    for address in ["a.lc1", "lc1.example", "xlc1", "10.0.0.0/8"] {
        assert!(one().edit(&format!("{STOCK}{address} {{\n}}\n"), &[]).is_ok(), "{address}");
    }
    let unknown = one().edit(&format!("{STOCK}{{$ZONE}}:53 {{\n}}\n"), &[]).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "line 19 of the Corefile: the zone of \"{$ZONE}:53\" depends on an environment variable of CoreDNS; \
         write the zone instead"
    );
}

#[test]
fn a_corefile_without_a_block_is_left_alone_but_one_that_imports_is_not() {
    for text in ["", "\n", "# nothing yet\n", "(snippet) {\n    errors\n}\n", "{\n    errors\n}\n"] {
        assert_eq!(one().edit(text, &[]), Err(LeftAlone::NoBlock), "{text:?}");
    }
    assert!(one().edit("import /etc/coredns/custom/*.server\n", &[]).is_ok());
    // With ours in it, it stays ours after the others are gone.
    assert_eq!(one().edit(LINES, &[]).unwrap(), LINES);
}

#[test]
fn markers_that_are_not_as_they_were_written_stop_every_change() {
    let other = "b.example {\n}\n";
    for text in [
        LINES.replace("# dcm end one\n", ""),
        LINES.replace("# dcm begin one\n", ""),
        format!("{LINES}{LINES}"),
        LINES.replace("# dcm end one", &format!("{other}# dcm end one")),
        LINES.replace("# dcm end one", "import x\n# dcm end one"),
        LINES.replace("}\n# dcm", "} # dcm"),
        LINES.replace("    errors\n", "    errors\n# dcm begin one\n").replacen("# dcm begin one\n", "", 1),
        "# dcm end one\n# dcm begin one\n".to_owned(),
    ] {
        let text = format!("{text}{STOCK}");
        for result in [one().edit(&text, &[]), one().undo(&text)] {
            assert!(matches!(result, Err(LeftAlone::Markers { .. })), "{text}: {result:?}");
        }
        // What is not ours goes on.
        assert!(stub("two", "lc2").edit(&text, &[]).is_ok());
    }
    // Text in quotes is no comment, and another context's lines are not ours.
    let glued = format!("{STOCK}b.example {{\n    template x#y \"\n# dcm begin one\n\"\n}}\n");
    assert_eq!(one().undo(&one().edit(&glued, &[]).unwrap()).unwrap(), glued);
    let quoted = format!("{STOCK}b.example {{\n    template \"\n# dcm begin one\n\"\n}}\n# dcm begin one2\n");
    assert_eq!(one().undo(&one().edit(&quoted, &[]).unwrap()).unwrap(), quoted);
}

#[test]
fn markers_with_an_indent_or_other_line_breaks_are_still_ours() {
    let indented = LINES.lines().map(|line| format!("  {line}\r\n")).collect::<String>();
    let text = format!("{indented}{STOCK}");
    assert_eq!(one().undo(&text).unwrap(), STOCK);
    assert_eq!(one().edit(&text, &[]).unwrap(), format!("{LINES}{STOCK}"));
}

#[test]
fn what_coredns_refuses_is_refused_with_its_line() {
    for (text, line) in [
        (".:53 {\n    errors\n", 2),
        (".:53 {\n    forward . 1.1.1.1 {\n", 2),
        (".:53 {\n    errors }\n", 2),
        (".:53 {", 1),
        (".:53 {\n    {\n    }\n}\n", 2),
        ("a.example,\n", 1),
        ("a.example, {\n}\n", 1),
        (".:53 {\n    import\n}\n", 2),
        (".:53 {\n    import a b\n}\n", 2),
        ("(s) {\n    errors\n", 2),
        ("(s)\nerrors\n", 2),
        ("(s) {\n}\n(s) {\n}\n", 3),
    ] {
        let error = Corefile::parse(text).unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert_eq!(one().edit(text, &[]), Err(error.clone().into()));
        assert_eq!(one().undo(text), Err(error.into()));
    }
}

#[test]
fn limits_of_this_reader_are_named_as_such() {
    let many = format!("{STOCK}#{}\n", "x".repeat(COREFILE_BYTES_MAX));
    for text in ["a.example,\nimport b\n", "(s) {\n    .:53 {\n    }\n}\nimport s\n", &many] {
        let error = Corefile::parse(text).unwrap_err();
        assert!(error.rule.contains("limit") || error.rule.contains("1 MiB"), "{error}");
    }
    let full = format!("{STOCK}#{}\n", "x".repeat(COREFILE_BYTES_MAX - STOCK.len() - 2));
    assert_eq!(full.len(), COREFILE_BYTES_MAX);
    assert_eq!(one().edit(&full, &[]), Err(LeftAlone::TooLarge));
}

#[test]
fn what_coredns_takes_is_read_as_coredns_reads_it() {
    for (text, expected) in [
        (". {\n}\n", vec!["."]),
        (".\n{\n}\n", vec!["."]),
        (".\nerrors\nforward . 1.1.1.1", vec!["."]),
        ("a b,\nc {\n}\nd {\n}", vec!["a", "b", "c", "d"]),
        ("a\r\n{\r\n  errors\r\n}\r\n", vec!["a"]),
        ("\u{feff}a { # b {\n}\n# }\n", vec!["a"]),
        ("a {\n errors # }\n}#c\nd {\n}\n", vec!["a", "d"]),
        ("\"a\" {\n template \"}\n \\\" }\"\n}\nb {\n}\n", vec!["a", "b"]),
        ("a#b\n{\n}\n", vec!["a"]),
        // A comment right behind a word ends with the word.
        ("a#old b {\n}\n", vec!["a", "b"]),
        ("a # old b\n{\n}\n", vec!["a"]),
        ("(s) {\n  x {\n  }\n}\na {\n  import s\n}\n", vec!["a"]),
        // The closing brace of the last plugin stands for that of the block.
        ("a {\n  forward . 1.1.1.1 {\n  }\n", vec!["a"]),
        ("a", vec!["a"]),
    ] {
        assert_eq!(addresses(text), expected, "{text:?}");
    }
    let text = "import top/*.server\na {\n  import in/*.override\n  health {\n    import deep\n  }\n}\n";
    let corefile = Corefile::parse(text).unwrap();
    let imports: BTreeSet<_> = corefile.imports().map(|one| (one.pattern(), one.is_in_block())).collect();
    assert_eq!(imports, BTreeSet::from([("deep", true), ("in/*.override", true), ("top/*.server", false)]));
}

/// A part of a Corefile as others write it.
fn part() -> impl Strategy<Value = String> {
    let word = "[a-z]{1,6}";
    let quoted = "\"[ -!#-\\[\\]-~\n]{0,8}\"";
    let argument = prop_oneof![word, "[0-9]{1,3}", quoted, Just("/etc/resolv.conf".to_owned())];
    let plugin = (word, prop::collection::vec(argument, 0..3), "( ?#[ -~]{0,12})?")
        .prop_filter("imports are parts of their own", |(name, ..)| name != "import")
        .prop_map(|(name, arguments, comment)| format!("{name} {}{comment}", arguments.join(" ")));
    let nested = (plugin.clone(), prop::collection::vec(plugin.clone(), 0..3)).prop_map(|(head, inner)| {
        let head = head.split('#').next().unwrap_or_default();
        format!("{head} {{\n{}\n}}", inner.join("\n"))
    });
    let line = prop_oneof![plugin, nested, Just("import custom/*.override".to_owned()), Just(String::new())];
    let zone = prop_oneof!["[a-z]{1,5}\\.example", "[a-z]{1,5}\\.test:[0-9]{2,4}", Just(".:53".to_owned())];
    let block = (prop::collection::vec(zone, 1..3), prop::collection::vec(line, 0..5))
        .prop_map(|(zones, lines)| format!("{} {{\n{}\n}}", zones.join(" "), lines.join("\n")));
    let comment =
        prop_oneof!["#[ -~]{0,20}", Just("# dcm begin other".to_owned()), Just("# dcm end other".to_owned())];
    prop_oneof![4 => block, 1 => comment, 1 => Just("import custom/*.server".to_owned()), 1 => "[ \t]{0,3}"]
}

/// A whole Corefile, with the line breaks, beginnings and ends that files have.
fn generated() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(part(), 0..6);
    let beginning = prop_oneof![Just(""), Just("\u{feff}"), Just("\n\n")];
    let end =
        prop_oneof![Just("\n"), Just(""), Just("\n# the end"), Just("\nlast.example\nerrors"), Just("\n \n")];
    (beginning, parts, end, any::<bool>()).prop_map(|(beginning, parts, end, is_windows)| {
        let text = format!("{beginning}.:53 {{\n}}\n{}{end}", parts.join("\n"));
        if is_windows { text.replace('\n', "\r\n") } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_edit_is_undone_to_the_byte_and_twice_is_once(text in generated()) {
        let edited = one().edit(&text, &[]).unwrap();
        prop_assert_ne!(&edited, &text);
        prop_assert_eq!(&one().edit(&edited, &[]).unwrap(), &edited);
        prop_assert_eq!(&one().undo(&edited).unwrap(), &text);
        let mut expected = vec!["lc1:53".to_owned()];
        expected.extend(addresses(&text));
        prop_assert_eq!(addresses(&edited), expected);
    }

    #[test]
    fn edits_of_two_contexts_do_not_touch_each_other(text in generated()) {
        let two = stub("two", "lc2");
        let both = two.edit(&one().edit(&text, &[]).unwrap(), &[]).unwrap();
        prop_assert_eq!(one().undo(&both).unwrap(), two.edit(&text, &[]).unwrap());
        prop_assert_eq!(two.undo(&one().undo(&both).unwrap()).unwrap(), text);
    }

    #[test]
    fn no_text_makes_the_reader_fail_otherwise_than_with_an_error(text in "[a.:,{}\"\\\\#()\r\n import]{0,60}") {
        if let Ok(edited) = one().edit(&text, &[]) {
            prop_assert_eq!(one().undo(&edited).unwrap(), text);
        }
    }
}
