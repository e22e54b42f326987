//! Ctrl-C and SIGTERM end the bench by way of an error, so that what was
//! changed is put back.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::{Context as _, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether somebody wants this program to end.
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on these signals end nothing by themselves.
    pub fn watch() -> Result<Self> {
        let wanted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&wanted))
                .context("watching for signals")?;
        }
        Ok(Self(wanted))
    }

    /// An error once one has come.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        Ok(())
    }
}
