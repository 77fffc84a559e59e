//! Corefiles: the configuration of CoreDNS, read without loss, and changed in one place alone.
//!
//! [`Corefile::parse`] reads a text as CoreDNS reads it, and keeps where each part of it stands. [`StubDomain`] is a server block that
//! forwards a zone to a resolver of its own. [`StubDomain::edit`] puts it into a Corefile that belongs to others, between two comment lines
//! with the id of an app context, and [`StubDomain::undo`] takes it out again. Every other byte of the text stays as it is.
//!
//! ```
//! use dcm_core::corefile::StubDomain;
//! use dcm_core::name::{ContextId, DnsZone};
//!
//! let current = ".:53 {\n    forward . /etc/resolv.conf\n}\n";
//! let stub = StubDomain::new(ContextId::new("lc1")?, DnsZone::new("lc1")?, "10.96.77.10".parse()?);
//! let edited = stub.edit(current, &[])?;
//! assert_eq!(
//!     edited,
//!     "# dcm begin lc1\nlc1:53 {\n    errors\n    cache 30\n    forward . 10.96.77.10:53\n}\n# dcm end lc1\n".to_owned() + current
//! );
//! assert_eq!(stub.undo(&edited)?, current);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A text that can't be changed safely is refused with [`LeftAlone`], which names the line and what to do.

mod lexer;
mod parser;
mod region;
mod stub_domain;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use parser::Unreadable;
pub use stub_domain::{CACHE_SECONDS, LeftAlone, StubDomain};

/// Largest Corefile that is read, in bytes: a ConfigMap has at most 1 MiB in all.
pub const COREFILE_BYTES_MAX: usize = 1024 * 1024;

/// Port of a server block whose address has none, unless CoreDNS is started with another one.
pub const DNS_PORT: u16 = 53;

/// A Corefile: its text, and where its parts stand in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corefile<'t> {
    text: &'t str,
    items: Vec<Item>,
    comments: Vec<Comment>,
}

/// A part of a Corefile at its top level, or an import in a server block.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Block(ServerBlock),
    /// Reads other files in its place, or a snippet.
    Import(Import),
    /// Named lines, which have no effect where they stand.
    Snippet(Range<usize>),
}

/// A server block: the zones that it serves, and the plugins with which it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerBlock {
    addresses: Vec<Address>,
    plugins: Vec<Plugin>,
    span: Range<usize>,
    line: usize,
}

/// A plugin of a server block, or an import in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plugin {
    /// Its name, and its arguments before its braces.
    words: Vec<String>,
    has_braces: bool,
    line: usize,
}

impl Plugin {
    fn is(&self, name: &str) -> bool {
        self.words.first().is_some_and(|first| first == name)
    }

    fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// An address of a server block, such as `example.org:53` or `tls://.`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    text: String,
}

/// An `import` at the beginning of a line: CoreDNS reads files in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pattern: String,
    is_in_block: bool,
    span: Range<usize>,
}

/// A comment, from its `#` to the end of its line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Comment {
    span: Range<usize>,
    line: usize,
}

impl<'t> Corefile<'t> {
    /// Reads a text as CoreDNS does, but for the names of plugins and their options, and for the files that it imports.
    ///
    /// # Errors
    /// [`Unreadable`] with the line and the rule.
    pub fn parse(text: &'t str) -> Result<Self, Unreadable> {
        parser::parse(text)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The server blocks, in their order.
    pub fn blocks(&self) -> impl Iterator<Item = &ServerBlock> {
        self.items.iter().filter_map(|item| match item {
            Item::Block(block) => Some(block),
            Item::Import(_) | Item::Snippet(_) => None,
        })
    }

    /// The imports, those outside of server blocks and those in them.
    pub fn imports(&self) -> impl Iterator<Item = &Import> {
        self.items.iter().filter_map(|item| match item {
            Item::Import(import) => Some(import),
            Item::Block(_) | Item::Snippet(_) => None,
        })
    }

    /// The server blocks of the root zone.
    fn roots(&self) -> impl Iterator<Item = &ServerBlock> {
        self.blocks().filter(|block| block.addresses.iter().any(Address::is_root))
    }

    /// The ports on which the root zone is served, which pods ask, as its addresses have them: empty, or a colon and digits.
    fn root_ports(&self) -> Vec<&str> {
        let mut ports = Vec::new();
        for address in self.roots().flat_map(|block| &block.addresses).filter(|address| address.is_root()) {
            if !ports.contains(&address.port_text()) {
                ports.push(address.port_text());
            }
        }
        if ports.is_empty() { vec![":53"] } else { ports }
    }
}

impl Item {
    fn span(&self) -> &Range<usize> {
        match self {
            Self::Block(block) => &block.span,
            Self::Import(import) => &import.span,
            Self::Snippet(span) => span,
        }
    }
}

impl ServerBlock {
    /// The addresses, in their order.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The line that it begins in, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }
}

impl Import {
    /// The file, the pattern for files, or the name of a snippet.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// True for an import in a server block: it adds plugins to the block, and no blocks to the Corefile.
    #[must_use]
    pub fn is_in_block(&self) -> bool {
        self.is_in_block
    }
}

impl Address {
    /// The address as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The zone: lower case, without transport, port and last dot; empty for the root zone. None where it depends on an environment variable
    /// of CoreDNS.
    #[must_use]
    pub fn zone(&self) -> Option<String> {
        (!has_variable(&self.text)).then(|| domain(self.host_and_port().0))
    }

    /// The address without its transport, and its port with the colon before it.
    fn host_and_port(&self) -> (&str, &str) {
        let text = self.text.split_once("://").map_or(self.text.as_str(), |(_, rest)| rest);
        match text.rfind(':') {
            Some(colon) if text[colon + 1..].parse::<u16>().is_ok() => text.split_at(colon),
            Some(_) | None => (text, ""),
        }
    }

    fn port_text(&self) -> &str {
        self.host_and_port().1
    }

    fn is_root(&self) -> bool {
        let is_plain = !self.text.contains("://") || self.text.starts_with("dns://");
        is_plain && self.host_and_port().0 == "."
    }
}

/// A domain as it is compared: lower case, without a last dot.
fn domain(text: &str) -> String {
    text.strip_suffix('.').unwrap_or(text).to_lowercase()
}

/// True for a text that depends on an environment variable of CoreDNS.
fn has_variable(text: &str) -> bool {
    text.contains("{$") || text.contains("{%")
}
