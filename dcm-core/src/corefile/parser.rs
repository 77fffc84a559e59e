//! The parts of a Corefile, by the rules of CoreDNS' parser (`caddyfile/parse.go` of `coredns/caddy`).

use std::collections::BTreeSet;
use std::ops::Range;

use super::lexer::{self, Token};
use super::{Address, COREFILE_BYTES_MAX, Corefile, Import, Item, Plugin, ServerBlock};

/// Why a text is not a Corefile. CoreDNS refuses it as well, unless [`Self::rule`] names a limit of this reader.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the Corefile: {rule}")]
pub struct Unreadable {
    /// The line, counted from 1.
    pub line: usize,
    /// The rule that it breaks.
    pub rule: &'static str,
}

impl Unreadable {
    /// True when the same call may succeed later: never, before the text is changed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        false
    }
}

const BYTES_RULE: &str = "the Corefile must have at most 1 MiB";
const COMMA_RULE: &str = "an address must follow a comma";
const CLOSE_RULE: &str = "an opening brace needs a closing one";
const UNEXPECTED_RULE: &str = "a closing brace needs an opening one before it";
const DIRECTIVE_RULE: &str = "a plugin's name is expected, not a brace";
const IMPORT_RULE: &str = "`import` takes exactly one argument: a file, a pattern or a snippet";
const IMPORT_PLACE_RULE: &str = "`import` must not be in a list of addresses (a limit of this reader)";
const IMPORT_BLOCKS_RULE: &str = "server blocks must not be imported from a snippet (a limit of this reader)";
const SNIPPET_RULE: &str = "a snippet's name must be followed by an opening brace";
const SNIPPET_TWICE_RULE: &str = "a snippet must be declared only once";

pub(super) fn parse(text: &str) -> Result<Corefile<'_>, Unreadable> {
    if text.len() > COREFILE_BYTES_MAX {
        return Err(Unreadable { line: 1, rule: BYTES_RULE });
    }
    let (tokens, comments) = lexer::read(text);
    let mut parser = Parser { tokens: &tokens, next: 0, items: Vec::new(), snippets: BTreeSet::new() };
    while parser.next < tokens.len() {
        parser.item()?;
    }
    Ok(Corefile { text, items: parser.items, comments })
}

struct Parser<'k> {
    tokens: &'k [Token],
    next: usize,
    items: Vec<Item>,
    /// The names of the snippets so far.
    snippets: BTreeSet<String>,
}

/// The addresses before the braces of a server block, or the name of a snippet.
struct Head {
    begin: usize,
    addresses: Vec<Address>,
}

impl Parser<'_> {
    fn item(&mut self) -> Result<(), Unreadable> {
        if self.is("import") && self.begins_line() {
            return self.import(false).map(drop);
        }
        let head = self.head()?;
        let snippet = match head.addresses.as_slice() {
            [one] => one.text.strip_prefix('(').and_then(|name| name.strip_suffix(')')).map(str::to_owned),
            _ => None,
        };
        match snippet {
            Some(name) if self.next < self.tokens.len() => self.snippet(&head, name),
            Some(_) | None => self.block(head),
        }
    }

    /// The addresses: those of one line, and of the next where a comma ends it.
    fn head(&mut self) -> Result<Head, Unreadable> {
        let begin = self.next;
        let mut addresses = Vec::new();
        let mut is_open = false;
        while let Some(token) = self.tokens.get(self.next) {
            if token.text == "{" {
                break;
            }
            let begins_line = self.begins_line();
            if self.next > begin && begins_line && !is_open {
                break;
            }
            if self.next > begin && begins_line && token.text == "import" {
                return self.refused(IMPORT_PLACE_RULE);
            }
            if !token.text.is_empty() {
                let text = token.text.strip_suffix(',');
                is_open = text.is_some();
                addresses.push(Address { text: text.unwrap_or(&token.text).to_owned() });
            }
            self.next += 1;
        }
        if is_open { self.refused(COMMA_RULE) } else { Ok(Head { begin, addresses }) }
    }

    fn snippet(&mut self, head: &Head, name: String) -> Result<(), Unreadable> {
        if !self.is("{") {
            return self.refused(SNIPPET_RULE);
        }
        if !self.snippets.insert(name) {
            return self.refused(SNIPPET_TWICE_RULE);
        }
        let mut depth = 0_usize;
        while let Some(token) = self.tokens.get(self.next) {
            self.next += 1;
            match token.text.as_str() {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let span = self.span(head.begin);
                self.items.push(Item::Snippet(span));
                return Ok(());
            }
        }
        self.refused(CLOSE_RULE)
    }

    fn block(&mut self, head: Head) -> Result<(), Unreadable> {
        let has_brace = self.is("{");
        self.next += usize::from(has_brace);
        // A block without braces goes to the end of the text, and needs no braces.
        let mut is_closed = !has_brace;
        let mut plugins = Vec::new();
        while let Some(token) = self.tokens.get(self.next) {
            match token.text.as_str() {
                "}" => {
                    self.next += 1;
                    is_closed = true;
                    break;
                }
                "{" => return self.refused(DIRECTIVE_RULE),
                "import" => {
                    let words = vec!["import".to_owned(), self.import(true)?];
                    plugins.push(Plugin { words, has_braces: false, line: token.line });
                }
                _ => plugins.push(self.directive()?),
            }
        }
        // CoreDNS takes the closing brace of the last plugin for that of the block.
        is_closed |= !plugins.is_empty() && self.tokens.last().is_some_and(|token| token.text == "}");
        if !is_closed {
            return self.refused(CLOSE_RULE);
        }
        let span = self.span(head.begin);
        let line = self.tokens[head.begin].line;
        self.items.push(Item::Block(ServerBlock { addresses: head.addresses, plugins, span, line }));
        Ok(())
    }

    /// A plugin with its arguments: the rest of its line, and of those of the braces that it opens.
    fn directive(&mut self) -> Result<Plugin, Unreadable> {
        let named = &self.tokens[self.next];
        let mut plugin = Plugin { words: vec![named.text.clone()], has_braces: false, line: named.line };
        let mut depth = 0_usize;
        self.next += 1;
        while let Some(token) = self.tokens.get(self.next) {
            match token.text.as_str() {
                "{" => {
                    depth += 1;
                    plugin.has_braces = true;
                }
                _ if depth == 0 && self.begins_line() => return Ok(plugin),
                "}" if depth == 0 => return self.refused(UNEXPECTED_RULE),
                "}" => depth -= 1,
                "import" if self.begins_line() => {
                    self.import(true)?;
                    continue;
                }
                argument if depth == 0 => plugin.words.push(argument.to_owned()),
                _ => {}
            }
            self.next += 1;
        }
        if depth == 0 { Ok(plugin) } else { self.refused(CLOSE_RULE) }
    }

    /// An import; returns its argument.
    fn import(&mut self, is_in_block: bool) -> Result<String, Unreadable> {
        let begin = self.next;
        let line = self.tokens[begin].last_line();
        let is_argument = |token: &&Token| token.line == line;
        let pattern = self.tokens.get(begin + 1).filter(is_argument).filter(|token| !token.text.is_empty());
        let Some(pattern) = pattern else { return self.refused(IMPORT_RULE) };
        let next = self.tokens.get(begin + 2);
        if next.is_some_and(|next| next.line == pattern.last_line()) {
            return self.refused(IMPORT_RULE);
        }
        if !is_in_block && self.snippets.contains(&pattern.text) {
            return self.refused(IMPORT_BLOCKS_RULE);
        }
        self.next = begin + 2;
        let span = self.span(begin);
        self.items.push(Item::Import(Import { pattern: pattern.text.clone(), is_in_block, span }));
        Ok(pattern.text.clone())
    }

    fn is(&self, text: &str) -> bool {
        self.tokens.get(self.next).is_some_and(|token| token.text == text)
    }

    fn begins_line(&self) -> bool {
        match self.next.checked_sub(1) {
            Some(before) => self.tokens[before].last_line() < self.tokens[self.next].line,
            None => true,
        }
    }

    /// From the first byte of a token to the last one of the token before the next.
    fn span(&self, begin: usize) -> Range<usize> {
        self.tokens[begin].span.start..self.tokens[self.next - 1].span.end
    }

    /// The rule is broken at the next token, or at the end.
    fn refused<T>(&self, rule: &'static str) -> Result<T, Unreadable> {
        let at = self.tokens.get(self.next).or(self.tokens.last());
        Err(Unreadable { line: at.map_or(1, |token| token.line), rule })
    }
}
