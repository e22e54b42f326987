//! A real Prometheus with the rules that are shipped, and a machine on paper
//! for it to scrape beside the real one.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use serde_json::Value;

use super::{lab::Lab, queries::RULES, wait};

const ANY_PORT: &str = "127.0.0.1:0";

/// Ended when dropped.
pub(crate) struct Prometheus {
    child: Child,
    address: String,
}

impl Prometheus {
    /// One that scrapes `targets` as job `iotrace`, and evaluates the rules as
    /// often: each `every`, as in `1s`. Returns when it answers.
    pub(crate) fn start(lab: &Lab, targets: &[&str], every: &str) -> Self {
        for (name, rules) in RULES {
            fs::write(lab.path(name), rules).expect("rules");
        }
        let files = RULES.map(|(name, _)| name).join(", ");
        let targets: Vec<String> = targets.iter().map(|target| format!("'{target}'")).collect();
        let config = format!(
            "global: {{scrape_interval: {every}, scrape_timeout: {every}, evaluation_interval: {every}}}\n\
             rule_files: [{files}]\n\
             scrape_configs: [{{job_name: iotrace, static_configs: [{{targets: [{}]}}]}}]\n",
            targets.join(", ")
        );
        let file = lab.path("prometheus.yml");
        fs::write(&file, config).expect("a configuration");
        let log = File::create(lab.path("prometheus.log")).expect("a log");
        // A port that was free a moment ago: it does not say which it took.
        let address = listener().local_addr().expect("its address").to_string();
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                lab.path("series").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("prometheus");
        let mut prometheus = Self { child, address };
        wait::until_true("prometheus to answer", || {
            let ended = prometheus.child.try_wait().expect("its status");
            let log = || fs::read_to_string(lab.path("prometheus.log")).unwrap_or_default();
            assert!(ended.is_none(), "prometheus ended: {}", log());
            prometheus.get("/-/ready").is_some()
        });
        prometheus
    }

    /// The values of an expression now, those that are numbers.
    pub(crate) fn values(&self, expr: &str) -> Vec<f64> {
        let answer = self.get(&format!("/api/v1/query?query={}", in_a_url(expr)));
        let answer = answer.unwrap_or_else(|| panic!("prometheus does not know {expr}"));
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let samples = answer["data"]["result"].as_array().expect("samples");
        let values = samples
            .iter()
            .filter_map(|sample| sample["value"][1].as_str());
        let numbers = values.map(|value| value.parse::<f64>().expect("a number"));
        numbers.filter(|number| number.is_finite()).collect()
    }

    /// The value of an expression that has one or none.
    pub(crate) fn value(&self, expr: &str) -> Option<f64> {
        let values = self.values(expr);
        assert!(values.len() < 2, "{expr}: {values:?}");
        values.first().copied()
    }

    /// What Prometheus has to say against its rules; empty where all were
    /// evaluated.
    pub(crate) fn wrong_rules(&self) -> Vec<String> {
        let answer = self.get("/api/v1/rules").expect("the rules");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let groups = answer["data"]["groups"].as_array().expect("groups");
        let rules = groups
            .iter()
            .flat_map(|group| group["rules"].as_array().expect("rules"));
        rules
            .filter(|rule| rule["health"] != "ok")
            .map(ToString::to_string)
            .collect()
    }

    /// The body, where the status is 200.
    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        // 1.0, or the body comes in chunks.
        let request = format!("GET {path} HTTP/1.0\r\nhost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?;
        (status == "200").then(|| body.to_owned())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn listener() -> TcpListener {
    TcpListener::bind(ANY_PORT).expect("a port")
}

fn in_a_url(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Serves the golden `/metrics`, of a machine with an array and all that there
/// can be told, with counters that grow: at the nth scrape n times what is
/// written there.
pub(crate) struct Paper {
    pub(crate) address: String,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Paper {
    pub(crate) fn serve() -> Self {
        let listener = listener();
        let address = listener.local_addr().expect("its address").to_string();
        let done = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            for (scrape, stream) in (1_u32..).zip(listener.incoming()) {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                // Whoever hangs up is not answered.
                let _ = stream.and_then(|stream| answer(stream, &grown(scrape)));
            }
        });
        Self {
            address,
            done,
            thread: Some(thread),
        }
    }
}

impl Drop for Paper {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        // One connection more, for the loop to see it.
        drop(TcpStream::connect(&self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, body: &str) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? != 0 {
        request.extend(byte);
    }
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain; version=0.0.4\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

fn grown(times: u32) -> String {
    let golden = include_str!("../../golden/metrics.txt");
    let grow = |line: &str| -> Option<String> {
        let (series, value) = line.rsplit_once(' ')?;
        let name = series.split('{').next()?;
        let ends = ["_total", "_bucket", "_sum", "_count"];
        let counter = ends.iter().any(|end| name.ends_with(end));
        let grows = counter && !line.starts_with('#');
        let value = value.parse::<f64>().ok().filter(|_| grows)?;
        Some(format!("{series} {}", value * f64::from(times)))
    };
    let lines = golden
        .lines()
        .map(|line| grow(line).unwrap_or_else(|| line.to_owned()));
    lines.map(|line| line + "\n").collect()
}
