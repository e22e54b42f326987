//! The connections there are, no more than a limit: who has been still for
//! longest makes room for who comes.
//!
//! Must not read or write them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Notify, time::sleep};

use super::activity::Activity;

const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// All connections.
#[derive(Debug)]
pub(super) struct Connections {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    all: BTreeMap<u64, Arc<One>>,
}

#[derive(Debug)]
struct One {
    activity: Arc<Activity>,
    evicted: Notify,
}

/// A connection's place among the others, given up when this is dropped.
#[derive(Debug)]
pub(super) struct Entry {
    connections: Arc<Connections>,
    number: u64,
    one: Arc<One>,
}

impl Connections {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            open: Mutex::default(),
        }
    }

    /// A place for one more.
    pub(super) fn enter(self: &Arc<Self>) -> Entry {
        let mut open = self.lock();
        if open.all.len() >= self.most {
            let stillest = open.all.iter().min_by_key(|(_, one)| one.activity.moved());
            if let Some(number) = stillest.map(|(number, _)| *number)
                && let Some(one) = open.all.remove(&number)
            {
                one.evicted.notify_one();
            }
        }
        let number = open.next;
        open.next += 1;
        let one = Arc::new(One {
            activity: Arc::new(Activity::new()),
            evicted: Notify::new(),
        });
        open.all.insert(number, Arc::clone(&one));
        Entry {
            connections: Arc::clone(self),
            number,
            one,
        }
    }

    /// Ready when no answer is under way.
    pub(super) async fn answered(&self) {
        while self
            .lock()
            .all
            .values()
            .any(|one| one.activity.is_answering())
        {
            sleep(LOOK_AGAIN).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    pub(super) fn activity(&self) -> Arc<Activity> {
        Arc::clone(&self.one.activity)
    }

    /// Ready when another needs the place.
    pub(super) async fn evicted(&self) {
        self.one.evicted.notified().await;
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.connections.lock().all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_stillest_makes_room() {
        let connections = Arc::new(Connections::new(2));
        let first = connections.enter();
        sleep(Duration::from_secs(1)).await;
        let second = connections.enter();
        sleep(Duration::from_secs(1)).await;
        drop(first.activity().answering());
        let third = connections.enter();
        second.evicted().await;
        assert_eq!(connections.lock().all.len(), 2);
        drop((first, second, third));
        assert_eq!(connections.lock().all.len(), 0);
    }
}
