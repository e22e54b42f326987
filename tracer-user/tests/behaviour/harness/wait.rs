//! Waiting for a state, never for a time: the deadline only ends a wait that
//! would not end, and then the test fails.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Generous: a guest under software emulation with two tests' worth of work
/// ahead of it is slow, and no verdict depends on it.
const DEADLINE: Duration = Duration::from_secs(120);

/// Asks until there is an answer. `what` completes "waited for ...".
pub(crate) fn until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    until_or(what, ask, String::new)
}

/// The same; `state` says how things stand where there was none.
pub(crate) fn until_or<T>(
    what: &str,
    mut ask: impl FnMut() -> Option<T>,
    state: impl FnOnce() -> String,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        if start.elapsed() >= DEADLINE {
            panic!("waited {DEADLINE:?} in vain for {what}{}", state());
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// `until` for a yes.
pub(crate) fn until_true(what: &str, mut ask: impl FnMut() -> bool) {
    until(what, || ask().then_some(()));
}
