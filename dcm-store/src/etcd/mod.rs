//! Documents in etcd: durable, and shared by any number of hosts.
//!
//! A document is the value of the key `PREFIX/PATH`, its version the revision in which the key was last written. Reads are
//! linearizable. A batch is one transaction: etcd's default limits of 128 operations and 1.5 MiB hold what the contract allows.
//! A watch begins behind everything that was written before it, whichever member is asked, and ends as lost when its member has
//! no leader any more, is gone, or does not even say that it is there.
//!
//! With several members the next one is asked when one does not answer; a write only when it was not sent, as it would be done
//! twice otherwise.

mod api;
mod connection;
mod failure;
mod keys;
mod location;
mod watching;

use async_trait::async_trait;
use dcm_core::port::store::{
    BatchError, Capabilities, Entry, Error, Page, PageRequest, Path, Prefix, Store, Version, Watch, Write,
};

use self::api::{
    Compare, DeleteRangeRequest, Operation, PutRequest, RangeRequest, RangeResponse, RequestOp, TARGET_MOD,
    TxnRequest, TxnResponse, method,
};
use self::connection::{Again, Connection};
use self::keys::{Keys, version};
pub use self::location::{Location, Tls, User};
use crate::rules;

/// Documents in etcd.
pub struct EtcdStore {
    connection: Connection,
    keys: Keys,
}

impl EtcdStore {
    /// Opens it, and sees whether a member answers.
    ///
    /// # Errors
    /// [`Error::Failed`] when etcd refuses us, or a file of the location can't be read; [`Error::Unavailable`] when no member
    /// answers; [`Error::Invalid`] for a location that breaks a rule.
    pub async fn open(location: &Location) -> Result<Self, Error> {
        location.check().map_err(|reason| Error::Invalid { reason })?;
        let store = Self { connection: Connection::new(location)?, keys: Keys::new(&location.prefix) };
        store.revision().await?;
        Ok(store)
    }

    async fn range(&self, request: RangeRequest) -> Result<RangeResponse, Error> {
        self.connection.call(method::RANGE, request, Again::May).await
    }

    /// The revision that etcd is in now, as the whole of it knows.
    async fn revision(&self) -> Result<i64, Error> {
        // Any key that we may read.
        let key = self.keys.below(&Prefix::everything()).first;
        let answer = self.range(RangeRequest { key, keys_only: true, ..RangeRequest::default() }).await?;
        Ok(answer.header.unwrap_or_default().revision)
    }
}

#[async_trait]
impl Store for EtcdStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities { atomic_batches: true, durable: true, shared: true, holds_secrets: false }
    }

    async fn get(&self, path: &Path) -> Result<Option<Entry>, Error> {
        let answer = self.range(RangeRequest { key: self.keys.key(path), ..RangeRequest::default() }).await?;
        Ok(answer.kvs.into_iter().next().and_then(|kv| self.keys.entry(kv)))
    }

    async fn list(&self, prefix: &Prefix, page: &PageRequest) -> Result<Page, Error> {
        let limit = rules::page_limit(page)?;
        let range = self.keys.below(prefix);
        let mut rest = match &page.after {
            Some(after) => range.after(self.keys.key(after)),
            None => Some(range),
        };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        while let Some(range) = rest {
            let (key, range_end) = (range.first.clone(), range.end.clone());
            let request = RangeRequest { key, range_end, limit, keys_only: false };
            let RangeResponse { kvs, more, .. } = self.range(request).await?;
            let last = kvs.last().map(|kv| kv.key.clone());
            let entries: Vec<Entry> = kvs.into_iter().filter_map(|kv| self.keys.entry(kv)).collect();
            if !entries.is_empty() {
                let next = entries.last().filter(|_| more).map(|last| last.path.clone());
                return Ok(Page { entries, next });
            }
            // What is here is none of ours.
            rest = last.filter(|_| more).and_then(|last| range.after(last));
        }
        Ok(Page { entries: Vec::new(), next: None })
    }

    async fn write(&self, batch: &[Write]) -> Result<Vec<Version>, BatchError> {
        let refused = |source| BatchError { applied: 0, source };
        rules::check_batch(batch, false).map_err(refused)?;
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let answer = self.connection.call(method::TXN, transaction(&self.keys, batch), Again::MayNot).await;
        written(batch, answer.map_err(refused)?).map_err(refused)
    }

    async fn watch(&self, prefix: &Prefix) -> Result<Watch, Error> {
        // A member that is behind would tell what is older than the watch.
        let revision = self.revision().await?;
        watching::follow(&self.connection, self.keys.clone(), self.keys.below(prefix), revision).await
    }
}

/// All writes if each finds what it expects; else what there is instead.
fn transaction(keys: &Keys, batch: &[Write]) -> TxnRequest {
    let mut transaction = TxnRequest::default();
    for write in batch {
        let key = keys.key(write.path());
        let done = match write {
            Write::Create { document, .. } | Write::Update { document, .. } => {
                Operation::Put(PutRequest { key: key.clone(), value: document.as_str().into() })
            }
            Write::Delete { .. } => Operation::DeleteRange(DeleteRangeRequest { key: key.clone() }),
        };
        let found =
            Operation::Range(RangeRequest { key: key.clone(), keys_only: true, ..RangeRequest::default() });
        let mod_revision = Some(expected(write));
        transaction.compare.push(Compare { target: TARGET_MOD, key, mod_revision });
        transaction.success.push(RequestOp { operation: Some(done) });
        transaction.failure.push(RequestOp { operation: Some(found) });
    }
    transaction
}

/// The revision in which a key has to have been written last: 0 for one that is not there, and one in which none was for a
/// version that no document has.
fn expected(write: &Write) -> i64 {
    match write {
        Write::Create { .. } => 0,
        Write::Update { version, .. } | Write::Delete { version, .. } => {
            i64::try_from(version.0).ok().filter(|revision| *revision > 0).unwrap_or(-1)
        }
    }
}

/// The versions that were written, or the first write that did not find what it expected.
fn written(batch: &[Write], answer: TxnResponse) -> Result<Vec<Version>, Error> {
    if answer.succeeded {
        let revision = version(answer.header.unwrap_or_default().revision);
        let of = |write: &Write| match write {
            Write::Delete { version, .. } => *version,
            Write::Create { .. } | Write::Update { .. } => revision,
        };
        return Ok(batch.iter().map(of).collect());
    }
    for (write, found) in batch.iter().zip(answer.responses) {
        let found = found.range.and_then(|range| range.kvs.into_iter().next()).map(|kv| kv.mod_revision);
        if found.unwrap_or(0) != expected(write) {
            return Err(Error::Conflict { path: write.path().clone(), found: found.map(version) });
        }
    }
    Err(Error::Failed {
        reason: "etcd refused a transaction whose every condition holds".into(),
        source: None,
    })
}
