//! A server on a real socket, and clients of every kind.

use std::{io::Read as _, net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
    task::JoinHandle,
};

use super::*;

/// More than sockets hold.
const LARGE: usize = 32 << 20;

pub(super) struct Fake {
    body: String,
    healthy: bool,
}

impl Fake {
    pub(super) fn of(body: &str) -> Self {
        Self {
            body: body.to_owned(),
            healthy: true,
        }
    }
}

impl Pages for Fake {
    fn text(&self) -> Option<String> {
        Some(self.body.clone())
    }

    fn openmetrics(&self) -> Option<String> {
        Some("# EOF\n".to_owned())
    }

    fn live(&self) -> Option<String> {
        self.healthy.then(|| "{}".to_owned())
    }

    fn interval(&self) -> Option<String> {
        self.live()
    }

    fn healthy(&self) -> bool {
        self.healthy
    }
}

pub(super) struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<io::Result<()>>,
}

impl Running {
    pub(super) fn start(pages: Fake, settings: WebConfig) -> Self {
        let any = ["127.0.0.1:0".parse().unwrap()];
        let listeners = Listeners::open(&any).unwrap();
        let address = listeners.addresses()[0];
        let (stop, stopped) = oneshot::channel();
        let app = Arc::new(App::new(Arc::new(pages), settings));
        let task = tokio::spawn(run(listeners, app, async {
            let _ = stopped.await;
        }));
        Self {
            address,
            stop,
            task,
        }
    }

    fn plain(pages: Fake) -> Self {
        Self::start(pages, WebConfig::none())
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// The whole answer to a request with these header lines.
    pub(super) async fn ask(&self, request: &str, headers: &str) -> String {
        ask(self.connect().await, request, headers).await
    }

    pub(super) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}

pub(super) async fn ask<S>(mut stream: S, request: &str, headers: &str) -> String
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let text = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

pub(super) fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or(answer)
}

#[tokio::test]
async fn pages_and_what_they_are_not_asked_for() {
    let server = Running::plain(Fake::of("up 1\n"));
    let metrics = server.ask("GET /metrics", "").await;
    assert!(metrics.contains("text/plain; version=0.0.4"), "{metrics}");
    assert!(metrics.ends_with("\r\n\r\nup 1\n"), "{metrics}");
    let open = "accept: application/openmetrics-text\r\n";
    let open = server.ask("GET /metrics", open).await;
    assert!(open.contains("version=1.0.0") && open.ends_with("# EOF\n"));
    for good in [
        "/",
        "/-/healthy",
        "/-/ready",
        "/api/v1/live",
        "/api/v1/interval",
        "/metrics?x=y",
    ] {
        let answer = server.ask(&format!("GET {good}"), "").await;
        assert_eq!(status(&answer), "200", "{good}");
    }
    assert_eq!(status(&server.ask("GET /other", "").await), "404");
    assert_eq!(status(&server.ask("POST /metrics", "").await), "405");
    let head = server.ask("HEAD /metrics", "").await;
    assert!(head.contains("content-length: 5") && head.ends_with("\r\n\r\n"));
    server.stop().await;
}

/// Everything that the page names is there, and nothing elsewhere is named.
#[tokio::test]
async fn the_page_is_whole() {
    let server = Running::plain(Fake::of(""));
    let mut named = 0;
    for file in page::FILES {
        let answer = server.ask(&format!("GET {}", file.path), "").await;
        assert_eq!(status(&answer), "200", "{}", file.path);
        assert!(answer.contains(file.content_type), "{answer}");
        assert!(answer.contains("content-security-policy: default-src 'none'"));
        assert!(answer.contains("x-content-type-options: nosniff"));
        assert!(answer.ends_with(file.text), "{}", file.path);
        let elsewhere = file.text.replace("http://www.w3.org/2000/svg", "");
        assert!(!elsewhere.contains("//www") && !elsewhere.contains("http"));
        for word in file.text.split(['"', '\'']) {
            let name = word.rsplit('/').next().unwrap();
            let is_file = [".js", ".css", ".svg"]
                .iter()
                .any(|end| name.ends_with(end));
            if is_file {
                named += 1;
                assert!(page::file(&format!("/page/{name}")).is_some(), "{word}");
            }
        }
    }
    assert!(named >= page::FILES.len() - 1, "{named}");
    server.stop().await;
}

#[tokio::test]
async fn gzip_for_who_takes_it() {
    let body = "iotrace_up 1\n".repeat(1000);
    let server = Running::plain(Fake::of(&body));
    let mut stream = server.connect().await;
    let request =
        "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept-encoding: gzip\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let head = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    assert!(answer.len() < 1000);
    let mut unzipped = String::new();
    flate2::read::GzDecoder::new(&answer[head + 4..])
        .read_to_string(&mut unzipped)
        .unwrap();
    assert_eq!(unzipped, body);
    server.stop().await;
}

#[tokio::test]
async fn unhealthy_is_said() {
    let server = Running::plain(Fake {
        healthy: false,
        ..Fake::of("iotrace_scrape_success 0\n")
    });
    for path in ["/-/healthy", "/-/ready", "/api/v1/live", "/api/v1/interval"] {
        let answer = server.ask(&format!("GET {path}"), "").await;
        assert_eq!(status(&answer), "503", "{path}");
    }
    assert_eq!(status(&server.ask("GET /metrics", "").await), "200");
    server.stop().await;
}

#[tokio::test]
async fn a_thousand_idle_connections_do_no_harm() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Both ends are this process's.
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let server = Running::plain(Fake::of("up 1\n"));
    let mut idle = Vec::new();
    for _ in 0..1000 {
        idle.push(server.connect().await);
    }
    for _ in 0..10 {
        assert_eq!(status(&server.ask("GET /metrics", "").await), "200");
    }
    // The first to come have made room.
    let mut byte = [0];
    assert_eq!(idle[0].read(&mut byte).await.unwrap_or(0), 0);
    server.stop().await;
}

/// All pages that may be on their way are held by clients that take nothing:
/// who comes next is told so, and served once they have been dropped.
#[tokio::test]
async fn clients_that_never_read() {
    let server = Running::plain(Fake::of(&"x".repeat(LARGE)));
    let mut holding = Vec::new();
    for _ in 0..16 {
        let mut stream = server.connect().await;
        let request = b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n";
        stream.write_all(request).await.unwrap();
        // The answer has begun, and will not go on.
        stream.read_exact(&mut [0; 12]).await.unwrap();
        holding.push(stream);
    }
    let answer = server.ask("GET /metrics", "").await;
    assert_eq!(status(&answer), "503");
    assert!(answer.contains("retry-after"));
    assert_eq!(status(&server.ask("GET /-/healthy", "").await), "200");
    // One that has gone makes room at once, one that stays is dropped in time
    // (`activity`).
    drop(holding.pop());
    loop {
        let answer = server.ask("GET /metrics", "").await;
        if status(&answer) == "200" {
            assert!(answer.len() > LARGE);
            break;
        }
    }
    drop(holding);
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_not_stay_as_it_is() {
    let activity = || Arc::new(Activity::new());
    let waited = |activity: Arc<Activity>| async move {
        let begin = tokio::time::Instant::now();
        activity.expired().await;
        begin.elapsed().as_secs()
    };
    let silent = activity();
    assert_eq!(waited(silent).await, 10);
    let idle = activity();
    drop(idle.answering());
    assert_eq!(waited(idle).await, 150);
    let slow_answer = activity();
    let _answering = slow_answer.answering();
    assert_eq!(waited(Arc::clone(&slow_answer)).await, 120);
}

#[tokio::test]
async fn garbage() {
    let server = Running::plain(Fake::of("up 1\n"));
    let many_headers = format!(
        "GET / HTTP/1.1\r\n{}\r\n",
        (0..1000)
            .map(|n| format!("h{n}: x\r\n"))
            .collect::<String>()
    );
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20));
    let tls = "\x16\x03\x01\x02\x00\x01\x00\x01\u{7f}\x03\x03";
    for garbage in ["\0\0\0\0\r\n\r\n", tls, "GET\r\n\r\n", &many_headers, &long] {
        let mut stream = server.connect().await;
        let _ = stream.write_all(garbage.as_bytes()).await;
        let _ = stream.shutdown().await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{garbage:.20}");
    }
    assert_eq!(status(&server.ask("GET /metrics", "").await), "200");
    server.stop().await;
}
