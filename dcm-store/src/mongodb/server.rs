//! Commands to one collection, each with a bound in time. The driver repeats none of them.

use std::time::{Duration, SystemTime};

use dcm_core::port::store::Error;
use futures::TryStreamExt as _;
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::{Error as DriverError, ErrorKind};
use mongodb::options::ClientOptions;
use mongodb::{Client, Database};

use super::clock::Clock;
use super::collection;
use super::failure::{not_an_answer, of_code, of_driver, of_update, timed_out, unavailable};
use super::location::Location;
use super::record::{CHANGED, ID, INDEXES, Index};

/// The code of an update that would make a record under another name than it asks for.
const IMMUTABLE_FIELD: i32 = 66;

/// The code of what asks about a collection that is not there.
const NAMESPACE_NOT_FOUND: i32 = 26;

/// The code of an insertion of what is there already.
const DUPLICATE_KEY: i32 = 11000;

/// What the server's log calls us.
const APPLICATION: &str = "dcm";

/// How many connections there are at most, where the URL says nothing (`maxPoolSize`). The driver's own 10 are few for an engine with
/// thousands of clusters: what waits for one is not sent, and the time of its answer goes by.
const CONNECTIONS_MAX: u32 = 100;

/// How fresh what is read has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Freshness {
    /// Every write that had returned before is seen.
    Latest,
    /// What is seen stays so.
    Lasting,
}

/// What is looked for.
pub(super) struct Find {
    pub(super) filter: Document,
    /// Only these fields; all when there are none.
    pub(super) fields: Document,
    pub(super) sort: Document,
    pub(super) limit: usize,
    pub(super) freshness: Freshness,
}

/// Where a list of updates stopped.
#[derive(Debug)]
pub(super) struct Stopped {
    /// Which of them failed; none where the server does not know it.
    pub(super) place: Option<usize>,
    /// None when it did not find what it asks for.
    pub(super) error: Option<Error>,
}

/// One collection of a server.
pub(super) struct Server {
    database: Database,
    collection: String,
    timeout: Duration,
    clock: Clock,
    /// The member is one of several: what it says of itself may be old.
    is_one_of_many: bool,
    /// It says which of several updates failed.
    counts_updates: bool,
}

impl Server {
    /// Connects, sees what the server can do, and makes the indexes.
    pub(super) async fn connect(location: &Location) -> Result<Self, Error> {
        let parsed = ClientOptions::parse(&location.connection).await;
        let mut options = parsed.map_err(|error| of_driver(&error))?;
        options.app_name.get_or_insert_with(|| APPLICATION.into());
        // Before we give up: the driver says which members it did not reach.
        options.server_selection_timeout.get_or_insert(location.timeout * 9 / 10);
        options.connect_timeout.get_or_insert(location.timeout);
        options.max_pool_size.get_or_insert(CONNECTIONS_MAX);
        let client = Client::with_options(options).map_err(|error| of_driver(&error))?;
        let mut server = Self {
            database: client.database(&location.database),
            collection: location.collection.clone(),
            timeout: location.timeout,
            clock: Clock::at(SystemTime::UNIX_EPOCH),
            is_one_of_many: false,
            counts_updates: false,
        };
        let hello = server.run(doc! { "hello": 1 }).await?;
        location.check_replica_set(&hello).map_err(|reason| Error::Invalid { reason })?;
        server.is_one_of_many =
            hello.contains_key("setName") || hello.get_str("msg").is_ok_and(|msg| msg == "isdbgrid");
        server.clock = Clock::at(time(&hello)?);
        let is_there = server.check_collection().await?;
        server.make_indexes().await?;
        if !is_there {
            // Another client may have been faster.
            server.check_collection().await?;
        }
        server.counts_updates = server.try_updates().await?;
        Ok(server)
    }

    /// Checks the collection, and returns whether it is there.
    async fn check_collection(&self) -> Result<bool, Error> {
        let command = doc! { "listCollections": 1, "filter": { "name": &self.collection } };
        let listed = self.records(command, usize::MAX).await?.map_err(|error| of_driver(&error))?;
        let of_name = |listed: &&Document| listed.get_str("name").is_ok_and(|name| name == self.collection);
        match listed.iter().find(of_name) {
            Some(listed) => self.refused_by(collection::check(listed)).map(|()| true),
            None => Ok(false),
        }
    }

    fn refused_by(&self, checked: Result<(), String>) -> Result<(), Error> {
        checked.map_err(|why| Error::Failed {
            reason: format!("the collection {:?} can't be used: {why}", self.collection),
            source: None,
        })
    }

    /// Makes those of the indexes that are missing: whoever prepares the collection need not let us make any.
    async fn make_indexes(&self) -> Result<(), Error> {
        let there = self.indexes().await?;
        for index in &there {
            self.refused_by(collection::check_index(index))?;
        }
        for Index { name, fields, is_sparse } in INDEXES {
            if !there.iter().any(|there| there.get_str("name").is_ok_and(|there| there == name)) {
                let key: Document =
                    fields.iter().map(|field| ((*field).to_owned(), Bson::Int32(1))).collect();
                let index = doc! { "key": key, "name": name, "sparse": is_sparse };
                self.run(doc! { "createIndexes": &self.collection, "indexes": [index] }).await?;
            }
        }
        Ok(())
    }

    /// The indexes that are there.
    async fn indexes(&self) -> Result<Vec<Document>, Error> {
        match self.records(doc! { "listIndexes": &self.collection }, usize::MAX).await? {
            Err(refusal) if is_about(&refusal, NAMESPACE_NOT_FOUND) => Ok(Vec::new()),
            listed => listed.map_err(|error| of_driver(&error)),
        }
    }

    /// Tries, without writing anything, whether an update that does not find its record stops those after it, as our batches
    /// need, and whether the server says which one it was.
    async fn try_updates(&self) -> Result<bool, Error> {
        let nothing = doc! { ID: "" };
        let finds_nothing = doc! { "q": &nothing, "u": { "$set": { CHANGED: 0 } } };
        let stops = doc! { "q": &nothing, "u": { "$setOnInsert": { ID: "-" } }, "upsert": true };
        let answer = self.run(self.updates(vec![finds_nothing, stops])).await?;
        match write_error(&answer) {
            Some((place, IMMUTABLE_FIELD)) => Ok(place == 1),
            _ => Err(Error::Failed {
                reason: "this MongoDB will not do: an update that makes a record under another name is not refused"
                    .into(),
                source: None,
            }),
        }
    }

    /// Runs a command on the primary.
    pub(super) async fn run(&self, command: Document) -> Result<Document, Error> {
        self.ask(command).await?.map_err(|error| of_driver(&error))
    }

    async fn ask(&self, command: Document) -> Result<Result<Document, DriverError>, Error> {
        self.in_time(self.database.run_command(self.bounded(command))).await
    }

    /// Runs a command that gives records, and takes up to so many of them. A server ends its answer early where that would get too
    /// large: the rest is asked of the same one.
    async fn records(
        &self,
        command: Document,
        most: usize,
    ) -> Result<Result<Vec<Document>, DriverError>, Error> {
        let mut cursor = match self.in_time(self.database.run_cursor_command(self.bounded(command))).await? {
            Ok(cursor) => cursor,
            Err(error) => return Ok(Err(error)),
        };
        let mut records = Vec::new();
        while records.len() < most {
            match self.in_time(cursor.try_next()).await? {
                Ok(Some(record)) => records.push(record),
                Ok(None) => break,
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(records))
    }

    /// What nobody waits for any more should not happen late.
    fn bounded(&self, mut command: Document) -> Document {
        command.insert("maxTimeMS", millis(self.timeout));
        command
    }

    async fn in_time<T>(&self, what: impl IntoFuture<Output = T>) -> Result<T, Error> {
        tokio::time::timeout(self.timeout, what.into_future()).await.map_err(|_| timed_out())
    }

    /// The time of the server.
    pub(super) async fn time(&self) -> Result<SystemTime, Error> {
        time(&self.run(doc! { "hello": 1 }).await?)
    }

    /// The time of the server now, by what it was at the beginning.
    pub(super) fn now(&self) -> SystemTime {
        self.clock.now()
    }

    /// The records that there are first, and whether there are more.
    pub(super) async fn find(&self, find: Find) -> Result<(Vec<Document>, bool), Error> {
        let limit = find.limit;
        let found = self.records(self.find_command(find), limit.saturating_add(1)).await?;
        let mut found = found.map_err(|error| of_driver(&error))?;
        let is_more = found.len() > limit;
        found.truncate(limit);
        Ok((found, is_more))
    }

    /// Up to when everything that was written is seen by whoever looks from now on for what stays ([`Freshness::Lasting`]): what was
    /// written later may not have reached enough members. None where one server is all there is.
    pub(super) async fn lasting(&self) -> Result<Option<SystemTime>, Error> {
        if !self.is_one_of_many {
            return Ok(None);
        }
        let nothing = Find {
            filter: doc! { ID: "" },
            fields: doc! { ID: 1 },
            sort: doc! {},
            limit: 1,
            freshness: Freshness::Lasting,
        };
        let answer = self.run(self.find_command(nothing)).await?;
        let time = answer.get_timestamp("operationTime").ok();
        Ok(time.map(|time| SystemTime::UNIX_EPOCH + Duration::from_secs(time.time.into())))
    }

    fn find_command(&self, find: Find) -> Document {
        let one_more = i64::try_from(find.limit).unwrap_or(i64::MAX).saturating_add(1);
        let mut command = doc! {
            "find": &self.collection,
            "filter": find.filter,
            "sort": find.sort,
            "limit": one_more,
            // More than there can be: not every server ends a list with the last that it may give.
            "batchSize": one_more.saturating_add(1),
        };
        if !find.fields.is_empty() {
            command.insert("projection", find.fields);
        }
        if self.is_one_of_many {
            let level = match find.freshness {
                Freshness::Latest => "linearizable",
                Freshness::Lasting => "majority",
            };
            command.insert("readConcern", doc! { "level": level });
        }
        command
    }

    /// Makes updates in order, until one does not find what it asks for.
    pub(super) async fn update(&self, updates: Vec<Document>) -> Result<Result<(), Stopped>, Error> {
        let answer = self.ask(self.updates(updates)).await?.map_err(|error| of_update(&error))?;
        if let Some((place, code)) = write_error(&answer) {
            let is_conflict = [IMMUTABLE_FIELD, DUPLICATE_KEY].contains(&code);
            let error = if is_conflict { None } else { Some(of_code(code, "")) };
            return Ok(Err(Stopped { place: self.counts_updates.then_some(place), error }));
        }
        match answer.get_document("writeConcernError") {
            Ok(_) => Err(unavailable("not enough members have what was written")),
            Err(_) => Ok(Ok(())),
        }
    }

    fn updates(&self, updates: Vec<Document>) -> Document {
        doc! {
            "update": &self.collection,
            "updates": updates,
            "ordered": true,
            "writeConcern": { "w": "majority", "wtimeout": millis(self.timeout) },
        }
    }

    /// Removes all records that a filter finds.
    pub(super) async fn remove(&self, filter: Document) -> Result<(), Error> {
        let deletes = vec![doc! { "q": filter, "limit": 0 }];
        self.run(doc! { "delete": &self.collection, "deletes": deletes }).await.map(drop)
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The time at which a server said hello.
fn time(hello: &Document) -> Result<SystemTime, Error> {
    let time = hello.get_datetime("localTime").map_err(|_| not_an_answer("its time"))?;
    Ok(time.to_system_time())
}

/// True for a refusal with a code.
fn is_about(error: &DriverError, code: i32) -> bool {
    matches!(&*error.kind, ErrorKind::Command(refusal) if refusal.code == code)
}

/// The place and the code of the first update that failed.
fn write_error(answer: &Document) -> Option<(usize, i32)> {
    let errors = answer.get_array("writeErrors").ok()?;
    let error = errors.first()?.as_document()?;
    let place = error.get_i32("index").ok().and_then(|place| usize::try_from(place).ok());
    Some((place.unwrap_or(0), error.get_i32("code").unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use dcm_testenv::Standalone;
    use futures::future;

    use super::*;

    #[tokio::test]
    async fn an_answer_in_many_parts_is_taken_whole_while_others_ask() {
        let ferretdb = Standalone::mongodb().await.unwrap();
        let server =
            Server::connect(&Location::at(format!("mongodb://{}", ferretdb.address()))).await.unwrap();
        let made =
            (0..20).map(|id| doc! { "q": { ID: id }, "u": { "$set": { CHANGED: 0 } }, "upsert": true });
        server.update(made.collect()).await.unwrap().unwrap();
        let find = doc! { "find": &server.collection, "sort": { ID: 1 }, "batchSize": 2 };
        let all = async || server.records(find.clone(), usize::MAX).await.unwrap().unwrap();
        let found = future::join_all((0..8).map(|_| all())).await;
        assert!(found.iter().all(|one| one.len() == 20 && *one == found[0]));
        assert_eq!(server.records(find.clone(), 5).await.unwrap().unwrap(), found[0][..5]);
    }
}
