//! The lines of a context in a Corefile: from one marker line to the other.

use std::ops::Range;

use super::{Comment, Corefile, Item};
use crate::name::ContextId;

/// The beginnings of the comments before and after a block of ours; the id of its context follows.
const BEGIN: &str = "# dcm begin ";
const END: &str = "# dcm end ";

/// The line before our block.
pub(super) fn begin_line(context: &ContextId) -> String {
    format!("{BEGIN}{context}")
}

/// The line after our block.
pub(super) fn end_line(context: &ContextId) -> String {
    format!("{END}{context}")
}

/// The lines of a context are not as we write them. Holds the line of the first marker.
pub(super) struct Damaged {
    pub(super) line: usize,
}

/// The whole lines from the first marker of a context to the second; none where the text has neither.
///
/// # Errors
/// [`Damaged`] where a marker is missing, is there twice, or is not a line of its own outside of all blocks, and where more than one
/// server block is between them: it would be removed with ours.
pub(super) fn find(corefile: &Corefile<'_>, context: &ContextId) -> Result<Option<Range<usize>>, Damaged> {
    let markers = |line: &str| -> Vec<&Comment> {
        let is_marker = |comment: &&Comment| corefile.text[comment.span.clone()].trim_end() == line;
        corefile.comments.iter().filter(is_marker).collect()
    };
    let begins = markers(&begin_line(context));
    let ends = markers(&end_line(context));
    match (begins.as_slice(), ends.as_slice()) {
        ([], []) => Ok(None),
        ([begin], [end]) => between(corefile, begin, end).map(Some).ok_or(Damaged { line: begin.line }),
        ([first, ..], _) | ([], [first, ..]) => Err(Damaged { line: first.line }),
    }
}

/// True where the last comment before a place is the first marker of any context: the block there is that context's.
pub(super) fn is_marked(corefile: &Corefile<'_>, place: usize) -> bool {
    let before = corefile.comments.partition_point(|comment| comment.span.start < place);
    let last = before.checked_sub(1).map(|index| &corefile.text[corefile.comments[index].span.clone()]);
    last.is_some_and(|text| text.starts_with(BEGIN))
}

/// True where nothing but white space stands before a place on its line.
pub(super) fn begins_line(corefile: &Corefile<'_>, place: usize) -> bool {
    corefile.text[line_start(corefile, place)..place].trim().is_empty()
}

fn line_start(corefile: &Corefile<'_>, place: usize) -> usize {
    let start = corefile.text[..place].rfind('\n').map_or(0, |at| at + 1);
    start.max(super::lexer::beginning(corefile.text))
}

fn between(corefile: &Corefile<'_>, begin: &Comment, end: &Comment) -> Option<Range<usize>> {
    let region = own_line(corefile, begin)?.start..own_line(corefile, end)?.end;
    let is_in_order = begin.span.start < end.span.start;
    let mut within = corefile.items.iter().filter(|item| overlaps(item.span(), &region));
    let is_one_block = matches!((within.next(), within.next()), (None | Some(Item::Block(_)), None));
    (is_in_order && is_one_block).then_some(region)
}

/// The line of a comment with its line break, if nothing else is on it and it is in no part of the Corefile.
fn own_line(corefile: &Corefile<'_>, comment: &Comment) -> Option<Range<usize>> {
    let start = line_start(corefile, comment.span.start);
    let is_alone = begins_line(corefile, comment.span.start);
    let is_outside = !corefile.items.iter().any(|item| item.span().contains(&comment.span.start));
    let end = comment.span.end + usize::from(comment.span.end < corefile.text.len());
    (is_alone && is_outside).then_some(start..end)
}

fn overlaps(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}
