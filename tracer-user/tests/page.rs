//! The page of `iotrace serve` in a browser, while a device is written to.
//! Needs root, and chromium.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "what the tests share is a test too"
)]

use std::{
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

#[expect(dead_code, reason = "shared with tests that do more with it")]
#[path = "support/agent.rs"]
mod agent;
#[path = "support/browser.rs"]
mod browser;

#[expect(dead_code, reason = "shared with tests that do more with it")]
#[path = "behaviour/harness"]
mod harness {
    pub(crate) mod device;
    pub(crate) mod direct;
    pub(crate) mod ioctl;
    pub(crate) mod lab;
    pub(crate) mod loopdev;
    pub(crate) mod partition;
    pub(crate) mod process;
    pub(crate) mod wait;
}

use agent::Agent;
use browser::Browser;
use harness::{
    device::Device,
    direct::Direct,
    lab::{Lab, Needs},
    loopdev::Loop,
    partition::Partition,
    wait,
};

const DISK_BYTES: u64 = 64 << 20;
/// Where old partitions begin: 3584 bytes past a block of 4 KiB.
const START_SECTOR: i64 = 63;
const BLOCK: usize = 4096;

/// Set when dropped: a test that fails must not wait for its workload.
struct DoneWhenDropped<'a>(&'a AtomicBool);

impl Drop for DoneWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Writes blocks until `done`; not as fast as it can, which would help nobody.
fn write_until(done: &AtomicBool, device: &Device) {
    let device = Direct::open(device);
    while !done.load(Ordering::Relaxed) {
        device.write(0, BLOCK, 8);
        thread::sleep(Duration::from_millis(20));
    }
}

fn wait_for(browser: &mut Browser, script: &str) {
    wait::until_true(script, || browser.ask(script) == json!(true));
}

/// A piece of script for the row of a device.
fn row(name: &str) -> String {
    format!("document.getElementById('device-{name}').parentNode")
}

fn keep_picture(browser: &mut Browser, name: &str) {
    if let Some(folder) = std::env::var_os("IOTRACE_PICTURES") {
        let file = std::path::Path::new(&folder).join(name);
        std::fs::write(file, browser.picture()).expect("a picture");
    }
}

#[test]
fn a_device_under_load_in_a_browser() {
    let needs = [Needs::Program("chromium"), Needs::File("/dev/loop-control")];
    let Some(lab) = Lab::open("a_device_under_load_in_a_browser", &needs) else {
        return;
    };
    let disk = Loop::new(&lab, DISK_BYTES);
    let sectors = DISK_BYTES.cast_signed() / 512 - START_SECTOR;
    let partition = Partition::create(&disk.device(), START_SECTOR, sectors);
    let (disk, part) = (disk.device().name().to_owned(), partition.name().to_owned());
    let mut serve = Command::new(env!("CARGO_BIN_EXE_iotrace"));
    serve.args(["serve", "--listen", "127.0.0.1:0", "--dev", &disk]);
    serve.args(["--geometry", &format!("{disk}=physical:4k")]);
    let agent = Agent::start(&mut serve);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _done = DoneWhenDropped(&done);
        scope.spawn(|| write_until(&done, &partition));
        let mut browser = Browser::start();
        browser.resize(1200, 900);
        browser.open(&format!("http://{}/", agent.address));
        shows(&mut browser, &disk, &part);
        keyboard(&mut browser, &disk, &part);
        screens(&mut browser);
        nothing_else(&browser, &agent);
    });
}

/// The devices, the load, what it means, and what comes next.
fn shows(browser: &mut Browser, disk: &str, part: &str) {
    let names = "[...document.querySelectorAll('.open')].map((one) => one.textContent)";
    wait_for(browser, &format!("{names}.length > 0"));
    assert_eq!(browser.ask(names), json!([disk, part]));
    let row = row(part);
    wait_for(
        browser,
        "document.getElementById('state').className === 'live'",
    );
    wait_for(
        browser,
        &format!("{row}.querySelector('.share').textContent === '100%'"),
    );
    let costs = browser.ask("document.getElementById('costs').textContent");
    let costs = costs.as_str().expect("a text");
    assert!(
        costs.contains("misaligned to the 4096-byte physical block")
            && costs.contains("move it to 64"),
        "{costs}"
    );
    // The figures are the agent's of a second, one after another.
    let bars =
        format!("{row}.querySelector('path.misaligned').getAttribute('d').split('Z').length");
    wait_for(browser, &format!("{bars} > 4"));
}

/// By keyboard alone; what is open and what has the focus stays so.
fn keyboard(browser: &mut Browser, disk: &str, part: &str) {
    // The sentences above the table have buttons of the same names.
    let focus = "document.activeElement.matches('.open') ? document.activeElement.textContent : ''";
    for _ in 0..20 {
        if browser.ask(focus) == json!(disk) {
            break;
        }
        browser.order(
            "Input.dispatchKeyEvent",
            &json!({"type": "rawKeyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}),
        );
    }
    assert_eq!(browser.ask(focus), json!(disk));
    browser.press("ArrowDown");
    assert_eq!(browser.ask(focus), json!(part));
    browser.press_enter();
    let below = format!("document.getElementById('device-{part}')");
    assert_eq!(browser.ask(&format!("{below}.hidden")), json!(false));
    let about = "document.getElementById('about').textContent";
    let before = browser.ask(about);
    wait_for(browser, &format!("{about} !== {before}"));
    // The sentence is the one above the table, which has the name before it.
    let sentence = format!("'{part}: ' + {below}.querySelector('.finding').lastChild.textContent");
    let above = "document.querySelector('#costs').lastChild.lastChild.textContent";
    let same = browser.ask(&format!("{sentence} === {above}"));
    assert_eq!(same, json!(true), "{}", browser.ask(&sentence));
    let text = browser.ask(&format!("{below}.textContent"));
    let text = text.as_str().expect("a text");
    for part in ["normal: 0%", "+3584", "4 KiB", "Requests a second"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert_eq!(browser.ask(focus), json!(part));
    assert_eq!(browser.ask(&format!("{below}.hidden")), json!(false));
}

/// On a phone, nothing has to be moved sideways; and at night.
fn screens(browser: &mut Browser) {
    // A history to look at.
    if std::env::var_os("IOTRACE_PICTURES").is_some() {
        wait_for(
            browser,
            "document.querySelector('path.misaligned').getAttribute('d').split('Z').length > 40",
        );
    }
    let back = "getComputedStyle(document.body).backgroundColor";
    browser.resize(1200, 1300);
    browser.prefer("light");
    let light = browser.ask(back);
    keep_picture(browser, "page.png");
    browser.prefer("dark");
    let dark = browser.ask(back);
    assert!(light != Value::Null && light != dark, "{light} {dark}");
    keep_picture(browser, "page_dark.png");
    browser.resize(390, 844);
    let width = browser.ask("document.documentElement.scrollWidth");
    keep_picture(browser, "page_phone.png");
    assert!(width.as_u64().is_some_and(|width| width <= 390), "{width}");
}

fn nothing_else(browser: &Browser, agent: &Agent) {
    assert_eq!(browser.complaints(), [""; 0]);
    let own = format!("http://{}/", agent.address);
    let requests = browser.requests();
    assert!(requests.len() > 10, "{requests:?}");
    for url in &requests {
        assert!(url.starts_with(&own), "{url}");
    }
}
