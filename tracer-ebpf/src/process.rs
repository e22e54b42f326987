//! Who issued bios, and how many: key and value of `PROCESSES`.
//!
//! Must not say who a process is.

/// Key of `PROCESSES`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessKey {
    pub slot: u32,
    /// Thread group: what user space calls the pid.
    pub tgid: u32,
    /// kernfs id of the cgroup that the bio is charged to; 0 where not known.
    pub cgroup: u64,
    pub comm: [u8; 16],
}

/// Value of `PROCESSES`: bios queued to the device by this process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessCells {
    pub read_requests: u64,
    pub read_bytes: u64,
    pub read_misaligned: u64,
    pub write_requests: u64,
    pub write_bytes: u64,
    pub write_misaligned: u64,
    pub write_partial_blocks: u64,
    pub write_partial_stripe: u64,
    pub write_partial_stripe_bytes: u64,
    pub other_requests: u64,
    /// Reads out of its write calls, and out of its page faults.
    pub write_fill_requests: u64,
    pub write_fill_bytes: u64,
    pub fault_requests: u64,
    pub fault_bytes: u64,
}

impl ProcessCells {
    /// Adds what another process did.
    pub fn add(&mut self, other: &Self) {
        self.each(other, u64::wrapping_add);
    }

    /// What has been done since `before`; 0 where a counter is lower than it
    /// was.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        self.each(before, u64::saturating_sub);
        self
    }

    fn each(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) {
        macro_rules! fields {
            ($($field:ident)*) => {$(self.$field = with(self.$field, other.$field);)*};
        }
        fields!(read_requests read_bytes read_misaligned write_requests write_bytes
            write_misaligned write_partial_blocks write_partial_stripe write_partial_stripe_bytes
            other_requests write_fill_requests write_fill_bytes fault_requests fault_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_has_been_done_since() {
        let before = ProcessCells {
            read_requests: 5,
            write_partial_stripe_bytes: 7,
            ..ProcessCells::default()
        };
        let more = ProcessCells {
            read_requests: 3,
            other_requests: 1,
            ..ProcessCells::default()
        };
        let mut after = before;
        after.add(&more);
        assert_eq!(after.since(&before), more);
        assert_eq!(before.since(&after), ProcessCells::default());
    }
}
