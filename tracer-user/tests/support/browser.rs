//! A headless Chromium, told what to do over a pipe (the DevTools protocol).

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use tempfile::TempDir;

/// It only ends a wait that would not end.
const DEADLINE: Duration = Duration::from_secs(120);

/// A browser with one page; ended when dropped.
pub(crate) struct Browser {
    child: Child,
    orders: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
    session: Option<String>,
    /// What the page did, in order.
    events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let profile = TempDir::new().expect("a folder");
        // Orders come on descriptor 3, answers go to 4.
        let line = "exec 3<&0 4>&1 </dev/null >/dev/null 2>&1; exec \"$@\"";
        let mut child = Command::new("sh")
            .args(["-c", line, "sh", "chromium", "--remote-debugging-pipe"])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "about:blank",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("chromium");
        let orders = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let (message, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for text in answers.split(0) {
                let text = text.expect("a message");
                let value = serde_json::from_slice(&text).expect("JSON");
                if message.send(value).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            child,
            orders,
            messages,
            last_id: 0,
            session: None,
            events: Vec::new(),
            _profile: profile,
        };
        browser.open_page();
        browser
    }

    fn open_page(&mut self) {
        let page = self.order("Target.createTarget", &json!({"url": "about:blank"}));
        let target = json!({"targetId": page["targetId"], "flatten": true});
        let attached = self.order("Target.attachToTarget", &target);
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Runtime", "Log", "Network", "Page"] {
            self.order(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Sends an order and waits for its answer.
    pub(crate) fn order(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let mut order = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = &self.session {
            order["sessionId"] = json!(session);
        }
        let mut text = order.to_string().into_bytes();
        text.push(0);
        self.orders.write_all(&text).expect("an order");
        loop {
            let message = self.messages.recv_timeout(DEADLINE);
            let mut message = message.unwrap_or_else(|error| panic!("{method}: {error}"));
            if message["id"] == self.last_id {
                assert_eq!(message["error"], Value::Null, "{method}");
                return message["result"].take();
            }
            self.events.push(message);
        }
    }

    pub(crate) fn open(&mut self, url: &str) {
        let answer = self.order("Page.navigate", &json!({"url": url}));
        assert_eq!(answer["errorText"], Value::Null, "{url}");
    }

    /// What a piece of script says in the page.
    pub(crate) fn ask(&mut self, script: &str) -> Value {
        let params = json!({"expression": script, "returnByValue": true});
        let mut answer = self.order("Runtime.evaluate", &params);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{script}");
        answer["result"]["value"].take()
    }

    /// Presses a key that writes nothing.
    pub(crate) fn press(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            self.order(
                "Input.dispatchKeyEvent",
                &json!({"type": kind, "key": key, "code": key}),
            );
        }
    }

    /// Presses Enter, on whatever has the focus.
    pub(crate) fn press_enter(&mut self) {
        let key = |kind: &str| {
            json!({"type": kind, "key": "Enter", "code": "Enter", "text": "\r",
                "windowsVirtualKeyCode": 13})
        };
        for kind in ["keyDown", "keyUp"] {
            self.order("Input.dispatchKeyEvent", &key(kind));
        }
    }

    /// A screen of that many pixels.
    pub(crate) fn resize(&mut self, width: u64, height: u64) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": width < 600});
        self.order("Emulation.setDeviceMetricsOverride", &size);
    }

    /// `light` or `dark`.
    pub(crate) fn prefer(&mut self, scheme: &str) {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        self.order(
            "Emulation.setEmulatedMedia",
            &json!({"features": [feature]}),
        );
    }

    /// The screen as PNG.
    pub(crate) fn picture(&mut self) -> Vec<u8> {
        let answer = self.order("Page.captureScreenshot", &json!({"format": "png"}));
        let text = answer["data"].as_str().expect("a picture");
        STANDARD.decode(text).expect("base64")
    }

    fn of(&self, method: &str) -> impl Iterator<Item = &Value> {
        let all = self.events.iter();
        all.filter(move |event| event["method"] == method)
            .map(|event| &event["params"])
    }

    /// Every address that the page has asked for.
    pub(crate) fn requests(&self) -> Vec<String> {
        let urls = self.of("Network.requestWillBeSent");
        urls.filter_map(|event| Some(event["request"]["url"].as_str()?.to_owned()))
            .collect()
    }

    /// All that was said on the console, and every script that failed.
    pub(crate) fn complaints(&self) -> Vec<String> {
        [
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
        ]
        .into_iter()
        .flat_map(|method| self.of(method))
        .map(Value::to_string)
        .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
