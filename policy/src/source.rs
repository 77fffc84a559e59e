//! Reads Rust source just far enough to count its lines of code and to find its functions.
//!
//! No parser: comments and literals are blanked, then braces are matched. What formatting makes of any valid source is
//! all that it has to understand.

use std::ops::Range;

/// Rust source in which comments are blank and literals have lost their content. Lines stay where they are.
#[derive(Debug, Clone)]
pub struct Source {
    text: Vec<char>,
    test_modules: Vec<String>,
}

/// A function, from its `fn` to its closing brace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The line on which it begins, from 1.
    pub line: usize,
    /// How many lines of code it has, signature and braces included.
    pub code_lines: usize,
}

impl Source {
    /// Reads a file's text.
    #[must_use]
    pub fn read(text: &str) -> Self {
        Self { text: blanked(text), test_modules: Vec::new() }
    }

    /// Reads a file's text and takes out what is compiled for tests only.
    #[must_use]
    pub fn read_without_tests(text: &str) -> Self {
        let mut source = Self::read(text);
        while let Some(attribute) = find(&source.text, &chars("#[cfg(test)]"), 0) {
            let item = attribute..source.item_end(attribute);
            let words = source.text[item.clone()].iter().collect::<String>();
            let module = words.split_whitespace().skip_while(|word| *word != "mod").nth(1);
            source.test_modules.extend(module.and_then(|word| word.strip_suffix(';')).map(str::to_owned));
            blank(&mut source.text[item]);
        }
        source
    }

    /// The modules in files of their own that were taken out.
    #[must_use]
    pub fn test_modules(&self) -> &[String] {
        &self.test_modules
    }

    /// How many lines hold code.
    #[must_use]
    pub fn code_lines(&self) -> usize {
        self.code_lines_in(0..self.text.len())
    }

    /// True when the code holds this text, white space apart.
    #[must_use]
    pub fn holds(&self, text: &str) -> bool {
        self.count(text) > 0
    }

    /// How often the code holds this text, white space apart.
    #[must_use]
    pub fn count(&self, text: &str) -> usize {
        let dense: Vec<char> = self.text.iter().copied().filter(|c| !c.is_whitespace()).collect();
        let wanted = chars(text);
        dense.windows(wanted.len()).filter(|window| *window == wanted).count()
    }

    /// The functions that have a body, in their order.
    #[must_use]
    pub fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        let mut from = 0;
        while let Some(start) = find(&self.text, &chars("fn "), from) {
            from = start + 1;
            let name: String =
                self.text[start + 3..].iter().take_while(|c| c.is_alphanumeric() || **c == '_').collect();
            let begins_word = start == 0 || !is_word(self.text[start - 1]);
            let end = self.item_end(start);
            if begins_word && !name.is_empty() && self.text[end - 1] == '}' {
                let line = 1 + self.text[..start].iter().filter(|c| **c == '\n').count();
                functions.push(Function { name, line, code_lines: self.code_lines_in(start..end) });
            }
        }
        functions
    }

    fn code_lines_in(&self, range: Range<usize>) -> usize {
        let lines = self.text[range].split(|c| *c == '\n');
        lines.filter(|line| line.iter().any(|c| !c.is_whitespace())).count()
    }

    /// Where the item ends that begins here: after its body, or its semicolon. Attributes belong to it.
    fn item_end(&self, start: usize) -> usize {
        let mut nested = 0_usize;
        let mut braces = 0_usize;
        for (index, c) in self.text.iter().enumerate().skip(start) {
            match c {
                '(' | '[' => nested += 1,
                ')' | ']' => nested = nested.saturating_sub(1),
                '{' => braces += 1,
                '}' if braces <= 1 && nested == 0 => {
                    return index + 1 + usize::from(self.text.get(index + 1) == Some(&';'));
                }
                '}' => braces = braces.saturating_sub(1),
                ';' if braces == 0 && nested == 0 => return index + 1,
                _ => {}
            }
        }
        self.text.len()
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn chars(text: &str) -> Vec<char> {
    text.chars().collect()
}

fn find(text: &[char], wanted: &[char], from: usize) -> Option<usize> {
    text[from..].windows(wanted.len()).position(|window| window == wanted).map(|index| index + from)
}

fn blank(text: &mut [char]) {
    text.iter_mut().filter(|c| **c != '\n').for_each(|c| *c = ' ');
}

fn blanked(text: &str) -> Vec<char> {
    let mut text = chars(text);
    let mut index = 0;
    while index < text.len() {
        let rest = &text[index..];
        let (end, fill) = match rest {
            ['/', '/', ..] => (line_end(rest), ' '),
            ['/', '*', ..] => (comment_end(rest), ' '),
            ['"', ..] => (quoted_end(rest, '"'), '_'),
            ['\'', '\\', ..] | ['\'', _, '\'', ..] => (quoted_end(rest, '\''), '_'),
            ['r', '"' | '#', ..] if index == 0 || !is_word(text[index - 1]) || is_prefix(&text, index) => {
                (raw_end(rest), '_')
            }
            _ => (0, ' '),
        };
        for c in text[index..index + end].iter_mut().filter(|c| **c != '\n') {
            *c = fill;
        }
        index += end.max(1);
    }
    text
}

/// True when a raw string's `r` follows the `b` or `c` of a byte or C string.
fn is_prefix(text: &[char], index: usize) -> bool {
    matches!(text[index - 1], 'b' | 'c') && (index == 1 || !is_word(text[index - 2]))
}

fn line_end(text: &[char]) -> usize {
    text.iter().position(|c| *c == '\n').unwrap_or(text.len())
}

/// Block comments nest.
fn comment_end(text: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut index = 0;
    while index < text.len() {
        match &text[index..] {
            ['/', '*', ..] => {
                depth += 1;
                index += 2;
            }
            ['*', '/', ..] => {
                depth -= 1;
                index += 2;
            }
            _ => index += 1,
        }
        if depth == 0 {
            return index;
        }
    }
    index
}

fn quoted_end(text: &[char], quote: char) -> usize {
    let mut index = 1;
    while index < text.len() {
        match text[index] {
            '\\' => index += 2,
            c if c == quote => return index + 1,
            _ => index += 1,
        }
    }
    text.len()
}

/// The end of a raw string, or 0 when this is a raw identifier.
fn raw_end(text: &[char]) -> usize {
    let hashes = text[1..].iter().take_while(|c| **c == '#').count();
    if text.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let mut close = vec!['"'];
    close.extend(std::iter::repeat_n('#', hashes));
    find(text, &close, 2 + hashes).map_or(text.len(), |end| end + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_no_code_and_strings_are() {
        let text =
            "//! doc {\n\nfn a() {\n    // fn b() {\n    /* { /* nested */\n } */\n    \"{\n\\\"fn\";\n}\n";
        let source = Source::read(text);
        assert_eq!(source.code_lines(), 4);
        let function = Function { name: "a".into(), line: 3, code_lines: 4 };
        assert_eq!(source.functions(), [function]);
    }

    #[test]
    fn raw_strings_characters_and_lifetimes_are_told_apart() {
        let text = "fn a<'a>(x: &'a str) -> char {\n let r#fn = r#\"}\"}\"#; let b = br\"{\"; '{'\n}\nfn b() { '\\''; }\n";
        let names: Vec<_> = Source::read(text).functions().into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn functions_without_body_and_function_pointers_are_passed_over() {
        let text = "trait T { fn a(&self, b: [u8; 2]); fn c() -> fn(u8) {} }\nstruct S { d: fn (u8) }\n";
        let names: Vec<_> = Source::read(text).functions().into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["c"]);
    }

    #[test]
    fn what_is_for_tests_only_is_taken_out() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n#[cfg(test)]\nmod more;\n#[cfg(test)]\nuse x::{y};\nfn c() {}\n";
        let source = Source::read_without_tests(text);
        let names: Vec<_> = source.functions().into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!(source.code_lines(), 2);
        assert_eq!(source.test_modules(), ["more"]);
    }

    #[test]
    fn code_is_found_and_what_comments_and_strings_say_is_not() {
        let source = Source::read("// dbg!(1)\nfn a() { \"dbg!(2)\"; todo! (); }\n");
        assert!(source.holds("todo!("));
        assert!(!source.holds("dbg!("));
    }
}
