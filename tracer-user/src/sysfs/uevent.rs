//! Tells when block devices came, went or changed, from the kernel's uevents.
//!
//! Must not say which: whoever listens reads the topology anew.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
};

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_KOBJECT_UEVENT};

/// Multicast group of the kernel's own messages; udev's are in group 2.
const KERNEL_GROUP: u32 = 1;

/// Listens to the kernel's uevents; needs no privilege. Outside the first
/// network namespace nothing may arrive.
pub struct UeventListener {
    socket: Socket,
}

impl UeventListener {
    /// Starts to listen; changes before this call are not told.
    ///
    /// # Errors
    /// When the kernel refuses the socket.
    pub fn new() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_KOBJECT_UEVENT)?;
        socket.set_non_blocking(true)?;
        socket.bind(&SocketAddr::new(0, KERNEL_GROUP))?;
        Ok(Self { socket })
    }

    /// Takes all messages that wait; whether any told of a block device, or
    /// messages were lost. Never waits.
    ///
    /// # Errors
    /// When the socket is unusable.
    pub fn block_changed(&mut self) -> io::Result<bool> {
        let mut changed = false;
        loop {
            match self.socket.recv_from_full() {
                Ok((message, sender)) => {
                    // Any process may send to the group, but only as itself.
                    changed |= sender.port_number() == 0 && is_block(&message);
                }
                Err(error) => match error.raw_os_error() {
                    // The buffer overflowed: what was lost may have been ours.
                    Some(libc::ENOBUFS) => changed = true,
                    Some(libc::EAGAIN) => return Ok(changed),
                    Some(libc::EINTR) => {}
                    _ => return Err(error),
                },
            }
        }
    }
}

impl AsFd for UeventListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A message is `ACTION@DEVPATH` and `KEY=value` fields, each ended by NUL.
fn is_block(message: &[u8]) -> bool {
    message
        .split(|&byte| byte == 0)
        .any(|field| field == b"SUBSYSTEM=block")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_block_devices_count() {
        let message =
            b"change@/devices/virtual/block/md0\0ACTION=change\0SUBSYSTEM=block\0SEQNUM=4\0";
        assert!(is_block(message));
        assert!(!is_block(
            b"add@/module/block\0ACTION=add\0SUBSYSTEM=module\0"
        ));
        assert!(!is_block(b""));
    }

    #[test]
    fn a_change_of_a_block_device_is_told() {
        let mut listener = UeventListener::new().unwrap();
        let Some(disk) = std::fs::read_dir("/sys/block").unwrap().next() else {
            eprintln!("skipped: no block device here");
            return;
        };
        // Makes the kernel send the event before the write returns.
        let trigger = disk.unwrap().path().join("uevent");
        if let Err(error) = std::fs::write(&trigger, "change") {
            eprintln!("skipped: {}: {error}", trigger.display());
            return;
        }
        assert!(listener.block_changed().unwrap());
    }
}
