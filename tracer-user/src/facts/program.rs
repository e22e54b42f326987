//! What the kernel says of a loaded program: `/proc/self/fdinfo`, which needs
//! no privilege.
//!
//! Must not load or attach.

use std::os::fd::RawFd;

/// The kernel's own figures of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramFacts {
    /// Runs that the kernel skipped because the program was already running
    /// on that CPU; `None` before 5.12 (kernel/bpf/syscall.c, `bpf_prog_show_fdinfo`).
    pub recursion_misses: Option<u64>,
    /// Runs and nanoseconds in them, kept while `kernel.bpf_stats_enabled`.
    pub run_count: Option<u64>,
    pub run_time_ns: Option<u64>,
}

/// Reads the figures behind a program's file descriptor of this process.
#[must_use]
pub fn read(fd: RawFd) -> Option<ProgramFacts> {
    Some(parse(
        &std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?,
    ))
}

fn parse(fdinfo: &str) -> ProgramFacts {
    let value = |name: &str| {
        fdinfo.lines().find_map(|line| {
            line.strip_prefix(name)?
                .strip_prefix(':')?
                .trim()
                .parse()
                .ok()
        })
    };
    ProgramFacts {
        recursion_misses: value("recursion_misses"),
        run_count: value("run_cnt"),
        run_time_ns: value("run_time_ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_old_kernel_does_not_print_is_none() {
        let old = "pos:\t0\nprog_type:\t26\nrun_time_ns:\t660\nrun_cnt:\t10\n";
        let facts = parse(old);
        assert_eq!(facts.run_count, Some(10));
        assert_eq!(facts.run_time_ns, Some(660));
        assert_eq!(facts.recursion_misses, None);
        assert_eq!(
            parse(&format!("{old}recursion_misses:\t3\n")).recursion_misses,
            Some(3)
        );
        assert_eq!(parse("garbage"), ProgramFacts::default());
    }
}
