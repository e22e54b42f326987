//! Shows the log of the programs while a command runs.
//!
//! Must not know what is in it.

use std::{
    future::Future,
    os::fd::{AsFd as _, OwnedFd},
};

use anyhow::Context as _;
use tokio::io::unix::AsyncFd;

use super::{tell, until_readable};
use crate::source::live::BpfLog;

/// Waits for `command`, writing out `log` meanwhile; then the rest of it.
///
/// # Errors
/// Those of `command`, or when the log cannot be waited for.
pub(super) async fn beside(
    mut log: BpfLog,
    command: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let more = until_readable(log.as_fd()).context("cannot wait for the programs' log")?;
    let done = tokio::select! {
        done = command => done,
        error = follow(&mut log, &more) => error,
    };
    log.flush();
    if let Some(dropped) = log.dropped().filter(|&dropped| dropped != 0) {
        tell(&format!(
            "{dropped} lines of the programs' log were lost: they came faster than they could be \
             written"
        ));
    }
    done
}

async fn follow(log: &mut BpfLog, more: &AsyncFd<OwnedFd>) -> anyhow::Result<()> {
    loop {
        let mut ready = more
            .readable()
            .await
            .context("cannot wait for the programs' log")?;
        // Before reading: what comes meanwhile wakes us up again.
        ready.clear_ready();
        log.flush();
    }
}
