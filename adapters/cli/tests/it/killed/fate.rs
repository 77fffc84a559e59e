//! Where a process dies: before or after one of the calls that change something.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// What a line of a doomed process begins with that names a point.
pub(crate) const POINT: &str = "point: ";

/// What a line of a doomed process begins with that holds a token which nobody else has heard of.
pub(crate) const TOKEN: &str = "token: ";

/// Where a process is to be killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Death {
    /// The point.
    pub(crate) at: String,
    /// What else is under way at that moment.
    pub(crate) others: Others,
}

/// What becomes of calls that are under way when the process comes to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Others {
    /// They are cut off, wherever they are.
    CutOff,
    /// They take effect first, and nobody hears of it.
    TakeEffect,
}

/// What becomes of a process. It tells the points that it passes, or stops for ever at the one where it is to be
/// killed: then nothing that it asks for leaves any more, and no answer comes in.
pub(crate) struct Fate {
    death: Option<Death>,
    over: AtomicBool,
    under_way: watch::Sender<usize>,
}

impl Fate {
    /// With no death it passes every point, and tells each.
    pub(crate) fn new(death: Option<Death>) -> Self {
        Self { death, over: AtomicBool::new(false), under_way: watch::Sender::new(0) }
    }

    /// A call that changes nothing.
    pub(crate) async fn reads<T>(&self, call: impl Future<Output = T>) -> T {
        self.stop_if_over().await;
        let answer = call.await;
        self.stop_if_over().await;
        answer
    }

    /// A call that changes something, unless it fails. It is at a point for each thing that it changes.
    pub(crate) async fn changes<T, E>(
        &self,
        things: &[String],
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.pass("before", things).await;
        let under_way = UnderWay::new(&self.under_way);
        let answer = call.await;
        drop(under_way);
        if answer.is_ok() {
            self.pass("after", things).await;
        }
        self.stop_if_over().await;
        answer
    }

    /// Tells of a token, where it is lost with the process.
    pub(crate) fn sees_token(&self, what: &str, token: &str) {
        if self.death.as_ref().is_some_and(|death| death.at == format!("after {what}")) {
            tell(TOKEN, token);
        }
    }

    async fn pass(&self, when: &str, things: &[String]) {
        self.stop_if_over().await;
        for point in things.iter().map(|thing| format!("{when} {thing}")) {
            match &self.death {
                None => tell(POINT, &point),
                Some(death) if death.at == point && !self.over.swap(true, Ordering::SeqCst) => {
                    if death.others == Others::TakeEffect {
                        self.no_call_is_under_way().await;
                    }
                    tell(POINT, &point);
                }
                Some(_) => {}
            }
        }
        self.stop_if_over().await;
    }

    async fn no_call_is_under_way(&self) {
        let mut under_way = self.under_way.subscribe();
        under_way.wait_for(|calls| *calls == 0).await.unwrap();
    }

    async fn stop_if_over(&self) {
        if self.over.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }
}

/// Counts a call until it has ended, or nobody waits for it any more.
struct UnderWay<'a>(&'a watch::Sender<usize>);

impl<'a> UnderWay<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|calls| *calls += 1);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|calls| *calls -= 1);
    }
}

/// One line on standard output, whole: several threads may tell something.
fn tell(what: &str, text: &str) {
    writeln!(std::io::stdout().lock(), "{what}{text}").unwrap();
}
