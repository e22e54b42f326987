//! Out of which system call a read came: a write of less than a page-cache
//! block makes the kernel read the block first.
//!
//! Must not read memory.

/// Write calls of an architecture that can be told ([`Calls::write`]).
pub const MAX_WRITE_CALLS: usize = 8;

/// Who is behind a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Caller {
    /// A write call.
    Write,
    /// A page fault: to read and to write cannot be told apart there.
    Fault,
    /// Another system call, a thread of the kernel's, or not known.
    Other,
}

impl Caller {
    /// Back from `self as u32`.
    #[inline(always)]
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Write,
            1 => Self::Fault,
            _ => Self::Other,
        }
    }
}

/// Numbers of the calls that write, 0 for none: no kernel's 0 writes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    pub write: [u16; MAX_WRITE_CALLS],
}

impl Calls {
    /// write, pwrite64, writev, pwritev, pwritev2, splice, sendfile,
    /// copy_file_range (arch/x86/entry/syscalls/syscall_64.tbl).
    pub const X86_64: Self = Self {
        write: [1, 18, 20, 296, 328, 275, 40, 326],
    };
    /// The same (include/uapi/asm-generic/unistd.h).
    pub const GENERIC: Self = Self {
        write: [64, 68, 66, 70, 287, 76, 71, 285],
    };

    /// Of the architecture that this is compiled for; none where its calls are
    /// not known.
    #[must_use]
    pub const fn native() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86_64)
        } else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64")) {
            Some(Self::GENERIC)
        } else {
            None
        }
    }

    /// Who is behind the number in a task's saved registers: −1 where it did
    /// not come by a system call.
    #[inline(always)]
    #[must_use]
    pub fn caller(&self, call: i64) -> Caller {
        if call == -1 {
            return Caller::Fault;
        }
        for write in self.write {
            if write != 0 && call == i64::from(write) {
                return Caller::Write;
            }
        }
        Caller::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls() {
        let calls = Calls::X86_64;
        assert_eq!(calls.caller(1), Caller::Write);
        assert_eq!(calls.caller(326), Caller::Write);
        assert_eq!(calls.caller(-1), Caller::Fault);
        // read, msync, and a number that no call has.
        for call in [0, 26, i64::MAX] {
            assert_eq!(calls.caller(call), Caller::Other);
        }
        assert_eq!(Calls::default().caller(0), Caller::Other);
    }
}
