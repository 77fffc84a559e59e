//! Trees of lines.

use crate::output::visible;

/// One line of a tree, with what is below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) text: String,
    pub(crate) children: Vec<Self>,
}

impl Node {
    pub(crate) fn leaf(text: impl Into<String>) -> Self {
        Self { text: text.into(), children: Vec::new() }
    }

    pub(crate) fn new(text: impl Into<String>, children: Vec<Self>) -> Self {
        Self { text: text.into(), children }
    }

    /// The whole tree, one line each, ending in a line break.
    pub(crate) fn draw(&self) -> String {
        let mut drawn = format!("{}\n", visible(&self.text));
        draw_below(&self.children, "", &mut drawn);
        drawn
    }
}

fn draw_below(children: &[Node], indent: &str, drawn: &mut String) {
    for (index, child) in children.iter().enumerate() {
        let last = index + 1 == children.len();
        let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        drawn.push_str(&format!("{indent}{branch}{}\n", visible(&child.text)));
        draw_below(&child.children, &format!("{indent}{below}"), drawn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_nothing_that_a_terminal_obeys() {
        let tree = Node::new("root", vec![Node::leaf("Role a/b\u{1b}[A\n└─ done")]);
        assert_eq!(tree.draw(), "root\n└─ Role a/b\\u{1b}[A\\n└─ done\n");
    }

    #[test]
    fn branches_end_where_their_last_child_is() {
        let tree = Node::new(
            "root",
            vec![Node::new("a", vec![Node::leaf("a1")]), Node::new("b", vec![Node::leaf("b1")])],
        );
        assert_eq!(tree.draw(), "root\n├─ a\n│  └─ a1\n└─ b\n   └─ b1\n");
    }
}
