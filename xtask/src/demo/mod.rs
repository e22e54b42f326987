//! `cargo xtask demo`: a fault in a guest, found by iotrace and repaired.
//!
//! Must not show anything that did not happen: what it prints comes from the
//! guest.

use anyhow::{Result, ensure};

use crate::{build::host, vm};

/// A story to play.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Story {
    /// 10% reads while a RAID6 is only written to, out of nothing but
    /// defaults.
    Raid6Reads,
}

/// Plays a fault in a guest with real md: iotrace sees it and says why, it is
/// repaired, and it is gone.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  cargo xtask demo raid6-reads
  cargo xtask demo raid6-reads --kernel 5.10")]
pub struct Args {
    story: Story,
    /// As for `cargo xtask vm`.
    #[arg(long, value_name = "5.10|6.1|6.12|sid|PATH", default_value = "6.12")]
    kernel: String,
}

pub fn run(args: &Args) -> Result<()> {
    let script = match args.story {
        Story::Raid6Reads => include_str!("raid6_reads.sh"),
    };
    let payload = [host::build_static()?];
    let status = vm::run_in_guest(&args.kernel, &payload, script)?;
    ensure!(
        status == 0,
        "the demo failed in its guest, exit status {status}"
    );
    Ok(())
}
