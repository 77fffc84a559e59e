//! Kubeconfigs that cost far more than their size, with the limit or rule that each breaks.

const ALIASES: &str = "must have aliases (*…) for at most 10000 nodes in all";
const DEPTH: &str = "must be nested at most 64 deep";
const MERGE: &str = "must not have merge keys (<<): write the fields out";
const NODES: &str = "must have at most 250000 nodes";

/// A name, a text, and the limit or rule.
pub(crate) type Bomb = (&'static str, String, &'static str);

/// Those of a few hundred bytes to some kilobytes, behind the lines of a kubeconfig.
pub(crate) fn small(head: &str) -> Vec<Bomb> {
    let of = |name, text: &str, rule| (name, format!("{head}{text}\n"), rule);
    vec![
        of("aliases of aliases", &doubling(9, |before| [before; 9].join(",")), ALIASES),
        of("aliases of aliases as fields", &format!("users_: {{{}}}", fields_of_aliases()), ALIASES),
        of(
            "one long list, ten times",
            &format!("a: &a [{}]\nb: [{}]", "x,".repeat(2000), "*a,".repeat(10)),
            ALIASES,
        ),
        of(
            "anchors in anchors",
            &format!("a: {}{}{}", "&a [".repeat(60), "x,".repeat(500), "]".repeat(60)),
            ALIASES,
        ),
        of("lists in lists", &format!("a: {}{}", "[".repeat(200), "]".repeat(200)), DEPTH),
        of("mappings in mappings", &format!("a: {}1{}", "{a: ".repeat(200), "}".repeat(200)), DEPTH),
        of("lists in lists by dashes", &format!("a:\n{}x", "- ".repeat(400)), DEPTH),
    ]
}

/// Merge keys, which kubeconfigs may have as client-go reads them, and no other text.
#[allow(dead_code, reason = "not every program that has this module reads other texts")]
pub(crate) fn merges(head: &str) -> Vec<Bomb> {
    let of = |name, text: &str| (name, format!("{head}{text}\n"), MERGE);
    vec![
        of("merge keys of merge keys", &doubling(9, |before| format!("{{<<: [{}]}}", [before; 9].join(",")))),
        of("one merge key", "a: &a {x: y}\nb: {<<: *a}"),
    ]
}

/// Those of half a megabyte and more.
pub(crate) fn large(head: &str) -> Vec<Bomb> {
    // Four letters each: the largest body of a registration is 1 MiB.
    let letter =
        |number: u32, place: u32| char::from_u32(u32::from('a') + number / 26_u32.pow(place) % 26).unwrap();
    let key = |number: u32| (0..4).rev().map(|place| letter(number, place)).chain([',']).collect::<String>();
    let keys: String = (0..126_000).map(key).collect();
    vec![
        ("very many keys", format!("{head}zzzz: {{{keys}}}\n"), NODES),
        ("very many items", format!("{head}a: [{}]\n", "x,".repeat(260_000)), NODES),
    ]
}

/// So many lines, each of which names the one before it as often as this writes it.
fn doubling(lines: u8, list: impl Fn(&str) -> String) -> String {
    let name = |line: u8| char::from(b'a' + line);
    let mut text = "a: &a [x]".to_owned();
    for line in 1..=lines {
        text += &format!("\n{0}: &{0} [{1}]", name(line), list(&format!("*{}", name(line - 1))));
    }
    text
}

fn fields_of_aliases() -> String {
    let line = |line: u8| {
        let (name, before) = (char::from(b'a' + line), char::from(b'a' + line - 1));
        format!("{name}: &{name} {{x: *{before}, y: *{before}, z: *{before}}}")
    };
    format!("a: &a {{x: 1}}, {}", (1..12).map(line).collect::<Vec<_>>().join(", "))
}
