//! A stub domain: the server block that forwards a zone to a resolver of its own.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::region::{self, Damaged};
use super::{
    Address, COREFILE_BYTES_MAX, Corefile, DNS_PORT, Plugin, ServerBlock, Unreadable, domain, has_variable,
    lexer,
};
use crate::name::{ContextId, DnsZone};

/// How long CoreDNS keeps an answer of the resolver, in seconds.
pub const CACHE_SECONDS: u32 = 30;

/// Characters of a foreign address that a message shows.
const SHOWN_MAX: usize = 200;

/// Plugins that set where and how a server block listens. A stub domain does not repeat them.
const LISTENING_PLUGINS: [&str; 2] = ["bind", "multisocket"];

/// A zone that a Corefile forwards to a resolver, on behalf of one app context.
///
/// # Ownership
/// The lines from `# dcm begin CONTEXT` to `# dcm end CONTEXT` belong to the app context, and no others do; the text between them is
/// replaced. Programs that migrate Corefiles drop comments, as upgrades by kubeadm do. So keep the value that you wrote last, and pass it to
/// [`Self::edit`]; call [`Self::undo`] on it: a block that is word by word the one that it wrote belongs to the app context as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StubDomain {
    context: ContextId,
    zone: DnsZone,
    resolver: SocketAddr,
}

/// Why a Corefile is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeftAlone {
    /// The text is not a Corefile.
    #[error("the Corefile can't be read")]
    Unreadable(#[from] Unreadable),
    /// Another server block serves the zone, on any port and transport. CoreDNS refuses two on one.
    #[error(
        "line {line} of the Corefile: another server block has the address {address:?} for the zone {zone}; \
         remove it, or choose another zone"
    )]
    ZoneTaken {
        /// The zone.
        zone: DnsZone,
        /// The line of the other block.
        line: usize,
        /// Its address, cut to 200 characters.
        address: String,
    },
    /// The zone of another app context contains the zone, or is in it: one would take names of the other.
    #[error(
        "line {line} of the Corefile: the zone {zone} overlaps with {address:?} of another app context; choose another zone"
    )]
    ZoneOverlaps {
        /// The zone.
        zone: DnsZone,
        /// The line of the other block.
        line: usize,
        /// Its address, cut to 200 characters.
        address: String,
    },
    /// The zone of another server block, or the cluster's domain, is not known.
    #[error(
        "line {line} of the Corefile: the zone of {address:?} depends on an environment variable of CoreDNS; write the zone instead"
    )]
    ZoneUnknown {
        /// The line.
        line: usize,
        /// The address or argument, cut to 200 characters.
        address: String,
    },
    /// The zone is the cluster's domain, contains it, or is in it: Services would not resolve any more.
    #[error(
        "line {line} of the Corefile: the zone {zone} overlaps with the cluster's domain {domain:?}; choose another zone"
    )]
    ClusterDomain {
        /// The zone.
        zone: DnsZone,
        /// The line of the plugin `kubernetes`.
        line: usize,
        /// The cluster's domain, cut to 200 characters.
        domain: String,
    },
    /// The server block of the root zone listens in a way that a stub domain does not know.
    #[error(
        "line {line} of the Corefile: the root zone's server block has the plugin `{plugin}`, which a stub domain does not support; \
         add a server block for the zone by hand"
    )]
    Listening {
        /// The line of the plugin.
        line: usize,
        /// The plugin.
        plugin: &'static str,
    },
    /// The Corefile has no server block. CoreDNS then serves its default one, which a first block would end.
    #[error("the Corefile has no server block; write the blocks that CoreDNS serves")]
    NoBlock,
    /// The lines of the app context were changed.
    #[error(
        "line {line} of the Corefile: the lines `{begin}` and `{end}` must each occur exactly once, in this order, with at most one \
         server block between them; remove them with the block of the zone"
    )]
    Markers {
        /// The line of the first of them.
        line: usize,
        /// The line before the block.
        begin: String,
        /// The line after the block.
        end: String,
    },
    /// The edited Corefile would be larger than [`COREFILE_BYTES_MAX`].
    #[error("the Corefile would have more than 1 MiB with the stub domain")]
    TooLarge,
}

impl LeftAlone {
    /// True when the same call may succeed later: never, before the Corefile is changed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        false
    }
}

impl StubDomain {
    /// A stub domain of an app context: the zone is forwarded to port 53 of an address.
    #[must_use]
    pub fn new(context: ContextId, zone: DnsZone, resolver: IpAddr) -> Self {
        Self { context, zone, resolver: SocketAddr::new(resolver, DNS_PORT) }
    }

    /// Forwards to another port.
    #[must_use]
    pub fn with_port(mut self, port: u16) -> Self {
        self.resolver.set_port(port);
        self
    }

    /// The app context that it belongs to.
    #[must_use]
    pub fn context(&self) -> &ContextId {
        &self.context
    }

    /// The zone that is forwarded.
    #[must_use]
    pub fn zone(&self) -> &DnsZone {
        &self.zone
    }

    /// The address and port that the zone is forwarded to.
    #[must_use]
    pub fn resolver(&self) -> SocketAddr {
        self.resolver
    }

    /// The lines in a Corefile: the block listens on the ports on which the Corefile serves the root zone.
    #[must_use]
    pub fn lines(&self, corefile: &Corefile<'_>) -> String {
        let begin = region::begin_line(&self.context);
        let end = region::end_line(&self.context);
        let addresses = self.addresses(corefile).join(" ");
        let plugins = self.plugins().map(|plugin| format!("    {plugin}\n")).concat();
        format!("{begin}\n{addresses} {{\n{plugins}}}\n{end}\n")
    }

    /// A Corefile with this stub domain: equal to the current one where it has it already. `written` are the stub domains that may have
    /// been written for the app context before: the last one, and one whose write had no answer.
    ///
    /// New lines come before all others. There they depend on nothing that follows: a last line without a line break, or a block without
    /// braces. CoreDNS chooses a server block by its zone, not by its place.
    ///
    /// # Errors
    /// [`LeftAlone`] where the Corefile can't be changed safely.
    pub fn edit(&self, current: &str, written: &[Self]) -> Result<String, LeftAlone> {
        let corefile = Corefile::parse(current)?;
        let place = self.find(&corefile, written)?;
        let others = || corefile.blocks().filter(|block| !place.contains(&block.span.start));
        let serves_nothing =
            others().all(|block| block.addresses.is_empty()) && corefile.imports().next().is_none();
        if place.is_empty() && serves_nothing {
            return Err(LeftAlone::NoBlock);
        }
        others().try_for_each(|block| self.check_other(&corefile, block))?;
        check_listening(&corefile)?;
        let edited = replaced(current, place.clone(), &self.lines(&corefile));
        if edited.len() > COREFILE_BYTES_MAX { Err(LeftAlone::TooLarge) } else { Ok(edited) }
    }

    /// A Corefile without this stub domain: equal to the current one where it does not have it. Call it on the stub domain that was
    /// written last.
    ///
    /// # Errors
    /// [`LeftAlone`] where the Corefile can't be changed safely.
    pub fn undo(&self, current: &str) -> Result<String, LeftAlone> {
        let corefile = Corefile::parse(current)?;
        Ok(replaced(current, self.find(&corefile, std::slice::from_ref(self))?, ""))
    }

    /// The lines of the context; where it has none, the empty range at which new ones go in.
    fn find(&self, corefile: &Corefile<'_>, written: &[Self]) -> Result<Range<usize>, LeftAlone> {
        let marked =
            region::find(corefile, &self.context).map_err(|Damaged { line }| LeftAlone::Markers {
                line,
                begin: region::begin_line(&self.context),
                end: region::end_line(&self.context),
            })?;
        let first = lexer::beginning(corefile.text);
        let unmarked = || written.iter().find_map(|written| written.find_unmarked(corefile));
        Ok(marked.or_else(unmarked).unwrap_or(first..first))
    }

    /// The block that this value wrote, after a program dropped the comments around it, with the line break after it.
    fn find_unmarked(&self, corefile: &Corefile<'_>) -> Option<Range<usize>> {
        let addresses = self.addresses(corefile);
        let plugins = self.plugins();
        let is_same =
            |plugin: &Plugin, line: &String| !plugin.has_braces && line.split(' ').eq(&plugin.words);
        let is_ours = |block: &&ServerBlock| {
            block.addresses.iter().map(|address| &address.text).eq(&addresses)
                && block.plugins.len() == plugins.len()
                && block.plugins.iter().zip(&plugins).all(|(plugin, line)| is_same(plugin, line))
                && region::begins_line(corefile, block.span.start)
                && !region::is_marked(corefile, block.span.start)
                && !corefile.comments.iter().any(|comment| block.span.contains(&comment.span.start))
        };
        let block = corefile.blocks().find(is_ours)?;
        let after = &corefile.text[block.span.end..];
        let line_break = if after.starts_with("\r\n") { 2 } else { usize::from(after.starts_with('\n')) };
        Some(block.span.start..block.span.end + line_break)
    }

    /// With a last dot where no port follows: the zone `import` would else be a keyword.
    fn addresses(&self, corefile: &Corefile<'_>) -> Vec<String> {
        let with_port = |port: &&str| format!("{}{}", self.zone, if port.is_empty() { "." } else { port });
        corefile.root_ports().iter().map(with_port).collect()
    }

    fn plugins(&self) -> [String; 3] {
        ["errors".to_owned(), format!("cache {CACHE_SECONDS}"), format!("forward . {}", self.resolver)]
    }

    fn check_other(&self, corefile: &Corefile<'_>, block: &ServerBlock) -> Result<(), LeftAlone> {
        let line = block.line();
        let is_of_context = region::is_marked(corefile, block.span.start);
        for address in block.addresses() {
            let (text, zone) = (shown(address.as_str()), self.zone.clone());
            match address.zone() {
                None => return Err(LeftAlone::ZoneUnknown { line, address: text }),
                Some(other) if other == zone.as_str() => {
                    return Err(LeftAlone::ZoneTaken { zone, line, address: text });
                }
                Some(other) if is_of_context && (zone.contains(&other) || zone.is_within(&other)) => {
                    return Err(LeftAlone::ZoneOverlaps { zone, line, address: text });
                }
                Some(_) => {}
            }
        }
        let mut of_cluster = block.plugins.iter().filter(|plugin| plugin.is("kubernetes"));
        of_cluster.try_for_each(|plugin| self.check_cluster(plugin, block))
    }

    /// Checks the zone against the domains of a plugin `kubernetes`, which without arguments serves the zones of its block.
    fn check_cluster(&self, plugin: &Plugin, block: &ServerBlock) -> Result<(), LeftAlone> {
        let line = plugin.line;
        let arguments = plugin.arguments();
        if let Some(unknown) = arguments.iter().find(|argument| has_variable(argument)) {
            return Err(LeftAlone::ZoneUnknown { line, address: shown(unknown) });
        }
        let domains: Vec<String> = match arguments {
            [] => block.addresses.iter().filter_map(Address::zone).filter(|zone| !zone.is_empty()).collect(),
            given => given.iter().map(|argument| domain(argument)).collect(),
        };
        let overlaps = |domain: &&String| self.zone.contains(domain) || self.zone.is_within(domain);
        match domains.iter().find(overlaps) {
            Some(domain) => {
                Err(LeftAlone::ClusterDomain { zone: self.zone.clone(), line, domain: shown(domain) })
            }
            None => Ok(()),
        }
    }
}

fn check_listening(corefile: &Corefile<'_>) -> Result<(), LeftAlone> {
    let mut plugins = corefile.roots().flat_map(|block| &block.plugins);
    let found = plugins.find_map(|plugin| {
        let name = LISTENING_PLUGINS.into_iter().find(|name| plugin.is(name))?;
        Some(LeftAlone::Listening { line: plugin.line, plugin: name })
    });
    found.map_or(Ok(()), Err)
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}

fn replaced(text: &str, place: Range<usize>, by: &str) -> String {
    [&text[..place.start], by, &text[place.end..]].concat()
}
