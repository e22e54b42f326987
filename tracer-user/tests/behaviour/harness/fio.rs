//! Workloads: fio with a fixed number of requests, the same ones each time.

use std::fs;

use super::{device::Device, lab::Lab, process::run};

/// One fio job against one device, past the page cache.
pub(crate) struct Fio<'a> {
    device: &'a Device,
    ios: u64,
    lines: Vec<String>,
}

impl<'a> Fio<'a> {
    /// `ios` requests of mixed sizes at mixed places, written and read, one
    /// after the other.
    pub(crate) fn mixed(device: &'a Device, ios: u64) -> Self {
        let lines = [
            "ioengine=psync",
            "rw=randrw",
            "rwmixwrite=70",
            // Less than a block, a block, more, and no multiple of one; around
            // a chunk of 64 KiB and a stripe of 448 KiB.
            "bssplit=512/12:1k/8:3584/8:4k/24:4608/8:12k/10:60k/6:64k/10:68k/6:448k/5:960k/3",
            // Places on a grid of the logical block, so that ends are ragged.
            "blockalign=512",
        ];
        Self {
            device,
            ios,
            lines: lines.map(str::to_owned).to_vec(),
        }
    }

    /// One more line of the job file; the last of a name counts.
    pub(crate) fn set(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// Sixteen requests at a time.
    pub(crate) fn deep(self, engine: &str) -> Self {
        self.set(&format!("ioengine={engine}")).set("iodepth=16")
    }

    /// Runs to the end; fails unless exactly the requests asked for were made.
    pub(crate) fn run(self, lab: &Lab) {
        assert!(is_prime(self.ios), "{} is no prime number", self.ios);
        let job = format!(
            "[job]\nfilename={}\ndirect=1\nrandseed=20011\nallrandrepeat=1\nnorandommap=1\n\
             thread=1\nnumber_ios={}\n{}\n",
            self.device.node_text(),
            self.ios,
            self.lines.join("\n"),
        );
        let path = lab.path("job.fio");
        fs::write(&path, job).expect("a job file");
        let report = run("fio", &["--output-format=json", &path.to_string_lossy()]);
        let start = report.find('{').expect("fio's report");
        let report: serde_json::Value =
            serde_json::from_str(&report[start..]).expect("fio's report in JSON");
        let job = &report["jobs"][0];
        assert_eq!(job["error"], 0, "{job}");
        let done: u64 = ["read", "write", "trim"]
            .iter()
            .map(|op| job[*op]["total_ios"].as_u64().expect("total_ios"))
            .sum();
        assert_eq!(done, self.ios, "requests made by fio");
    }
}

/// A number that is no prime would also be right when everything was counted
/// twice and halved, or a multiple of the queue's depth.
fn is_prime(n: u64) -> bool {
    n > 1
        && (2..n)
            .take_while(|d| d * d <= n)
            .all(|d| !n.is_multiple_of(d))
}
