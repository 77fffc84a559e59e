//! As much of Markdown as the words of the document have: paragraphs, lists and code in a line.

use maud::{Markup, html};

/// Paragraphs and lists.
pub(super) fn blocks(text: &str) -> Markup {
    let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    html! {
        @for block in blocks {
            @if let Some(items) = block.strip_prefix("- ") {
                ul { @for item in items.split("\n- ") { li { (line(item)) } } }
            } @else {
                p { (line(block)) }
            }
        }
    }
}

/// Text with code between backticks.
pub(super) fn line(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_lists_and_code_are_told_apart_and_escaped() {
        let text = "One `<b>`.\n\n- a & b\n- c\n  d";
        let expected = "<p>One <code>&lt;b&gt;</code>.</p><ul><li>a &amp; b</li><li>c\n  d</li></ul>";
        assert_eq!(blocks(text).into_string(), expected);
    }
}
