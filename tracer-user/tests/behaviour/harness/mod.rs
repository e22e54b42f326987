//! What the tests stand on: devices, workloads, the two tracers, the kernel's
//! books. Nothing here knows what is expected.

#[path = "../../support/agent.rs"]
pub(crate) mod agent;
pub(crate) mod blktrace;
pub(crate) mod device;
pub(crate) mod direct;
pub(crate) mod dm;
pub(crate) mod expect;
pub(crate) mod fio;
pub(crate) mod hidden;
pub(crate) mod ioctl;
pub(crate) mod lab;
pub(crate) mod loopdev;
pub(crate) mod lvm;
pub(crate) mod mapping;
pub(crate) mod md;
pub(crate) mod partition;
pub(crate) mod process;
pub(crate) mod programs;
pub(crate) mod prometheus;
#[expect(
    dead_code,
    reason = "legends and runbooks are for tests without a kernel"
)]
#[path = "../../support/queries.rs"]
pub(crate) mod queries;
pub(crate) mod scsi_debug;
pub(crate) mod stat;
pub(crate) mod terminal;
pub(crate) mod tracer;
pub(crate) mod wait;
