//! Who may ask, what for, and in which form it is answered.
//!
//! Must not read counters: pages come from whoever makes them.

use std::{
    io::Write as _,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use flate2::{Compression, write::GzEncoder};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Body, Bytes, Frame, SizeHint},
    header::{
        ALLOW, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
        REFERRER_POLICY, RETRY_AFTER, VARY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    auth::Gate,
    negotiate::{Format, takes_gzip},
    page,
    web_config::{Loaded, WebConfig},
};

/// Pages made or on their way at a time; who comes then is asked to come again.
const MOST_PAGES: usize = 16;
/// Handed on at once: a client that reads slowly holds the rest here, where it
/// is counted.
const PIECE_BYTES: usize = 64 << 10;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";

/// Makes what is served. Called on a thread that may wait.
pub trait Pages: Send + Sync {
    /// `/metrics` as text 0.0.4; as all pages `None` where it cannot be made.
    fn text(&self) -> Option<String>;
    /// `/metrics` as OpenMetrics 1.0.
    fn openmetrics(&self) -> Option<String>;
    /// `/api/v1/live`.
    fn live(&self) -> Option<String>;
    /// `/api/v1/interval`.
    fn interval(&self) -> Option<String>;
    /// Counters can be read.
    fn healthy(&self) -> bool;
}

/// All routes.
pub struct App {
    pages: Arc<dyn Pages>,
    settings: WebConfig,
    gate: Gate,
    making: Arc<Semaphore>,
}

/// Which page.
#[derive(Clone, Copy)]
enum Page {
    Metrics(Format),
    Live,
    Interval,
}

impl Page {
    const fn content_type(self) -> &'static str {
        match self {
            Self::Metrics(format) => format.content_type(),
            Self::Live | Self::Interval => JSON,
        }
    }

    fn make(self, pages: &dyn Pages) -> Option<String> {
        match self {
            Self::Metrics(Format::Text) => pages.text(),
            Self::Metrics(Format::OpenMetrics) => pages.openmetrics(),
            Self::Live => pages.live(),
            Self::Interval => pages.interval(),
        }
    }
}

impl App {
    #[must_use]
    pub fn new(pages: Arc<dyn Pages>, settings: WebConfig) -> Self {
        Self {
            pages,
            settings,
            gate: Gate::default(),
            making: Arc::new(Semaphore::new(MOST_PAGES)),
        }
    }

    pub(super) fn settings(&self) -> Arc<Loaded> {
        self.settings.current()
    }

    pub(super) async fn answer<B>(&self, request: &Request<B>) -> Response<Pieces> {
        let settings = self.settings();
        let mut response = if self.gate.lets_in(&settings.users, request.headers()).await {
            self.route(request).await
        } else {
            let mut response = plain(StatusCode::UNAUTHORIZED, "Unauthorized\n");
            let basic = HeaderValue::from_static("Basic");
            response.headers_mut().insert(WWW_AUTHENTICATE, basic);
            response
        };
        for (name, value) in &settings.headers {
            response.headers_mut().insert(name.clone(), value.clone());
        }
        response
    }

    async fn route<B>(&self, request: &Request<B>) -> Response<Pieces> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
            let allowed = HeaderValue::from_static("GET, HEAD");
            response.headers_mut().insert(ALLOW, allowed);
            return response;
        }
        match request.uri().path() {
            "/metrics" => {
                let format = Format::of(request.headers());
                self.page(Page::Metrics(format), request).await
            }
            "/api/v1/live" => self.page(Page::Live, request).await,
            "/api/v1/interval" => self.page(Page::Interval, request).await,
            "/-/healthy" => self.state("iotrace is healthy\n"),
            "/-/ready" => self.state("iotrace is ready\n"),
            path => page::file(path).map_or_else(
                || plain(StatusCode::NOT_FOUND, "not found\n"),
                part_of_the_page,
            ),
        }
    }

    fn state(&self, good: &'static str) -> Response<Pieces> {
        if self.pages.healthy() {
            plain(StatusCode::OK, good)
        } else {
            unavailable("the counters cannot be read\n")
        }
    }

    /// Made on a thread of its own, and counted until the last of it is on its
    /// way.
    async fn page<B>(&self, page: Page, request: &Request<B>) -> Response<Pieces> {
        let Ok(permit) = Arc::clone(&self.making).try_acquire_owned() else {
            return unavailable("too many requests at once\n");
        };
        let gzip = takes_gzip(request.headers());
        let pages = Arc::clone(&self.pages);
        let made = tokio::task::spawn_blocking(move || {
            let text = page.make(pages.as_ref())?;
            Some(if gzip { zip(&text) } else { text.into_bytes() })
        });
        let Some(bytes) = made.await.ok().flatten() else {
            return unavailable("the counters cannot be read\n");
        };
        let mut response = typed(StatusCode::OK, page.content_type(), bytes);
        response.body_mut().permit = Some(permit);
        let headers = response.headers_mut();
        let vary = HeaderValue::from_static("Accept, Accept-Encoding");
        headers.insert(VARY, vary);
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}

/// New after an upgrade of the agent, and then at once.
fn part_of_the_page(file: &page::File) -> Response<Pieces> {
    let mut response = typed(StatusCode::OK, file.content_type, file.text);
    let headers = response.headers_mut();
    for (name, value) in [
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, page::POLICY),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Writing to memory does not fail; should it, the rest of the answer is cut
/// off and the client notices.
fn zip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}

fn typed(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Pieces> {
    let mut response = Response::new(Pieces {
        rest: body.into(),
        permit: None,
    });
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Pieces> {
    typed(status, TEXT, text)
}

fn unavailable(text: &'static str) -> Response<Pieces> {
    let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, text);
    let later = HeaderValue::from_static("5");
    response.headers_mut().insert(RETRY_AFTER, later);
    response
}

/// A body handed on piece by piece.
#[derive(Debug)]
pub(super) struct Pieces {
    rest: Bytes,
    permit: Option<OwnedSemaphorePermit>,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.rest.is_empty() {
            self.permit = None;
            return Poll::Ready(None);
        }
        let piece = self.rest.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
