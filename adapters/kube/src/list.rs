//! Lists, page by page.
//!
//! A page is taken as it came, and read when it is needed. One that is too large is asked for again with fewer objects; one
//! object that is too large, and a list that goes on for ever, are errors that name the kind.

use std::ops::Range;
use std::sync::Arc;

use dcm_core::manifest::GroupVersionKind;
use dcm_core::port::cluster::{Call, Error, Object, PageToken};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::apart;
use crate::failure::{Failure, unreadable};
use crate::object;
use crate::resource::escape;
use crate::slices::slice;
use crate::transport::{Answer, Request, Transport};

/// Most pages of a list beyond one for each object. It ends a list of empty pages, which a broken cluster goes on with for
/// ever.
const EMPTY_PAGES_MAX: usize = 1000;

/// A list that is read page by page.
#[derive(Debug)]
pub(crate) struct Pages {
    path: String,
    query: String,
    accept: &'static str,
    /// What is listed, for errors.
    what: String,
    /// Objects that a page is asked for with.
    limit: usize,
    next: Option<String>,
    is_begun: bool,
    pages: usize,
    objects: usize,
    bytes: u64,
}

impl Pages {
    pub(crate) fn new(
        transport: &Transport,
        path: String,
        query: String,
        accept: &'static str,
        what: String,
    ) -> Self {
        let limit = transport.sizes().page_objects;
        let (next, is_begun) = (None, false);
        Self { path, query, accept, what, limit, next, is_begun, pages: 0, objects: 0, bytes: 0 }
    }

    /// Goes on where a page ended that named this. What another list named is as if it was too old.
    pub(crate) fn after(mut self, token: &PageToken) -> Result<Self, Error> {
        let mut parts = token.0.splitn(4, ':');
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
        let (limit, bytes, pages) = (number(), number(), number());
        let (Some(limit), Some(bytes), Some(pages), Some(next)) = (limit, bytes, pages, parts.next()) else {
            return Err(Error::Gone);
        };
        self.limit = usize::try_from(limit).unwrap_or(self.limit).clamp(1, self.limit);
        (self.bytes, self.pages) = (bytes, usize::try_from(pages).unwrap_or(usize::MAX));
        (self.next, self.is_begun) = (Some(next.to_owned()), true);
        Ok(self)
    }

    /// Names the next page; none after the last one.
    pub(crate) fn token(&self) -> Option<PageToken> {
        let Self { limit, bytes, pages, objects, next, .. } = self;
        // The token has no count of objects: only pages without any count against the limit.
        let pages = pages.saturating_sub(*objects);
        next.as_ref().map(|next| PageToken(format!("{limit}:{bytes}:{pages}:{next}").into()))
    }

    /// True when the first page was read.
    pub(crate) fn is_begun(&self) -> bool {
        self.is_begun
    }

    /// True when the last page was read.
    pub(crate) fn is_over(&self) -> bool {
        self.is_begun && self.next.is_none()
    }

    /// The next page.
    pub(crate) async fn page(&mut self, transport: &Transport, call: &Call) -> Result<Page, Failure> {
        let answer = self.ask(transport, call).await?;
        let page = Page::of(answer).await?;
        self.is_begun = true;
        self.pages += 1;
        self.objects += page.items.len();
        self.bytes += page.answer.text().len() as u64;
        self.next = Some(page.after.clone()).filter(|after| !after.is_empty());
        self.check(transport)?;
        Ok(page)
    }

    /// The answer with a page that is not too large.
    async fn ask(&mut self, transport: &Transport, call: &Call) -> Result<Answer, Failure> {
        let sizes = transport.sizes();
        loop {
            let mut uri = format!("{}?limit={}{}", self.path, self.limit, self.query);
            if let Some(next) = &self.next {
                uri = format!("{uri}&continue={}", escape(next));
            }
            let bytes_max = if self.limit > 1 { sizes.page_bytes_max } else { sizes.object_bytes_max };
            let request = Request::get_within(uri, bytes_max).accepting(self.accept);
            match transport.send(call, request).await {
                // Those that were read in the room for a page, and not more than half: servers look at the objects alone.
                Err(Failure::Large(large)) if self.limit > 1 => {
                    self.limit = (self.limit / 2).min(large.items).max(1);
                }
                Err(Failure::Large(large)) => {
                    return Err(large.error_of(&format!("a list with one {}", self.what)).into());
                }
                answer => return answer,
            }
        }
    }

    /// Ends a list that goes on for ever.
    fn check(&self, transport: &Transport) -> Result<(), Error> {
        let sizes = transport.sizes();
        let limit = if self.bytes > sizes.list_bytes_max {
            format!("{} bytes", sizes.list_bytes_max)
        } else if self.objects > sizes.list_objects_max {
            format!("{} objects", sizes.list_objects_max)
        } else if self.pages > self.objects.saturating_add(EMPTY_PAGES_MAX) {
            format!("{EMPTY_PAGES_MAX} empty pages")
        } else {
            return Ok(());
        };
        Err(Error::Unsupported { what: format!("a list of {} with more than {limit}", self.what) })
    }
}

/// A page as it came.
pub(crate) struct Page {
    answer: Answer,
    items: Arc<[Range<usize>]>,
    /// The resource version that the list is of.
    pub(crate) version: String,
    after: String,
}

impl Page {
    async fn of(answer: Answer) -> Result<Self, Error> {
        let text = answer.text().clone();
        let (metadata, items) = apart::reading(text.len(), move || head(&text)).await?;
        let ListMetadata { resource_version: version, page_after: after } = metadata;
        Ok(Self { items: items.into(), version, after, answer })
    }

    /// What is taken of each item, which is read for it.
    pub(crate) async fn items<T: DeserializeOwned, U: Send + 'static>(
        &self,
        take: impl Fn(T) -> Result<U, Error> + Send + 'static,
    ) -> Result<Vec<U>, Error> {
        let (text, items) = (self.answer.text().clone(), self.items.clone());
        let read = move |item: &Range<usize>| {
            take(serde_json::from_slice(&text[item.clone()]).map_err(|error| unreadable(&error))?)
        };
        apart::reading(self.answer.text().len(), move || items.iter().map(read).collect()).await
    }

    /// The items as objects of a kind.
    pub(crate) async fn objects(&self, kind: &GroupVersionKind) -> Result<Vec<Object>, Error> {
        let kind = kind.clone();
        self.items(move |body| object::read(&kind, body)).await
    }
}

/// What a list says beside its items, which are read one by one, and where these are.
fn head(text: &[u8]) -> Result<(ListMetadata, Vec<Range<usize>>), Error> {
    let slices = slice(text, usize::MAX);
    let rest = match slices.inner {
        Some(inner) => [&text[..inner.start], &text[inner.end..]].concat(),
        None => text.to_vec(),
    };
    let List { metadata, items: _ } = serde_json::from_slice(&rest).map_err(|error| unreadable(&error))?;
    Ok((metadata, slices.items))
}

#[derive(Deserialize)]
struct List {
    metadata: ListMetadata,
    /// Null for none, in some answers.
    #[allow(dead_code, reason = "a list without is none")]
    items: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
struct ListMetadata {
    #[serde(rename = "resourceVersion", default)]
    resource_version: String,
    #[serde(rename = "continue", default)]
    page_after: String,
}
