//! Tokens and comments of a Corefile, by the rules of CoreDNS' lexer (`caddyfile/lexer.go` of `coredns/caddy`).

use std::ops::Range;

use super::Comment;

/// A word, or a text in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) span: Range<usize>,
    /// The line that it begins in, counted from 1.
    pub(super) line: usize,
}

impl Token {
    /// The line that it ends in by CoreDNS' count.
    pub(super) fn last_line(&self) -> usize {
        self.line + self.text.matches('\n').count()
    }
}

/// Where the text of a Corefile begins: after a byte order mark.
pub(super) fn beginning(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// All tokens and all comments, in their order.
pub(super) fn read(text: &str) -> (Vec<Token>, Vec<Comment>) {
    let mut reader = Reader {
        text,
        line: 1,
        pending: None,
        state: State::Plain,
        tokens: Vec::new(),
        comments: Vec::new(),
    };
    let first = beginning(text);
    for (at, character) in text[first..].char_indices() {
        reader.take(first + at, character);
    }
    reader.end();
    (reader.tokens, reader.comments)
}

enum State {
    Plain,
    Quoted { is_escaped: bool },
    Comment { begin: usize, line: usize },
}

struct Reader<'t> {
    text: &'t str,
    line: usize,
    /// The token that is being read. A comment does not end it, white space does.
    pending: Option<Token>,
    state: State,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
}

impl Reader<'_> {
    fn take(&mut self, at: usize, character: char) {
        match self.state {
            State::Quoted { is_escaped } => self.take_quoted(at, character, is_escaped),
            State::Comment { begin, line } => {
                // A comment right behind a word ends where the word does: at the next white space, whatever follows on the line.
                let ends_word = self.pending.is_some() && character.is_whitespace() && character != '\r';
                if character == '\n' || ends_word {
                    self.comments.push(Comment { span: begin..at, line });
                    self.state = State::Plain;
                    self.take_plain(at, character);
                }
            }
            State::Plain => self.take_plain(at, character),
        }
    }

    fn take_plain(&mut self, at: usize, character: char) {
        match character {
            '\r' => {}
            '\n' => {
                self.line += 1;
                self.tokens.extend(self.pending.take());
            }
            white if white.is_whitespace() => self.tokens.extend(self.pending.take()),
            '#' => self.state = State::Comment { begin: at, line: self.line },
            '"' if self.pending.is_none() => {
                self.pending = Some(self.token(at));
                self.state = State::Quoted { is_escaped: false };
            }
            other => self.add(at, other),
        }
    }

    fn take_quoted(&mut self, at: usize, character: char, is_escaped: bool) {
        if character == '\n' {
            self.line += 1;
        }
        match (character, is_escaped) {
            ('\\', false) => self.state = State::Quoted { is_escaped: true },
            ('"', false) => {
                let mut token = self.pending.take();
                if let Some(token) = &mut token {
                    token.span.end = at + 1;
                }
                self.tokens.extend(token);
                self.state = State::Plain;
            }
            (other, _) => {
                if is_escaped && other != '"' {
                    self.add(at - 1, '\\');
                }
                self.add(at, other);
                self.state = State::Quoted { is_escaped: false };
            }
        }
    }

    fn token(&self, at: usize) -> Token {
        Token { text: String::new(), span: at..at, line: self.line }
    }

    fn add(&mut self, at: usize, character: char) {
        let fresh = self.token(at);
        let token = self.pending.get_or_insert(fresh);
        token.text.push(character);
        token.span.end = at + character.len_utf8();
    }

    fn end(&mut self) {
        if let State::Comment { begin, line } = self.state {
            self.comments.push(Comment { span: begin..self.text.len(), line });
        }
        // A quote that is never closed ends with the text; CoreDNS drops one without content.
        self.tokens.extend(self.pending.take().filter(|token| !token.text.is_empty()));
    }
}
