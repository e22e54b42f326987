//! An HTTP server that stays up: listens, limits, encrypts, asks for passwords,
//! and hands each request to its route.
//!
//! Must not know what a page holds, nor read counters.

mod activity;
mod auth;
mod config;
mod connections;
mod listen;
mod negotiate;
mod page;
mod routes;
mod tls;
mod web_config;

#[cfg(test)]
mod settings_tests;
#[cfg(test)]
mod tests;

use std::{io, sync::Arc, time::Duration};

use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use self::{
    activity::{Activity, Watched},
    connections::Connections,
    web_config::Loaded,
};
pub use self::{
    config::ConfigError,
    listen::{ListenAddress, ListenError, Listeners},
    routes::{App, Pages},
    web_config::{Tell, WebConfig},
};

/// Connections at a time; where one more comes, the one that has been still
/// for longest goes.
const MOST_CONNECTIONS: usize = 256;
/// A request head that is longer is refused.
const MOST_HEAD_BYTES: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
/// Streams of one HTTP/2 connection.
const MOST_STREAMS: u32 = 8;
/// After a failed accept, mostly for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// What answers under way get when the end is asked for.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// Serves until `stop` is ready, then lets the answers under way be finished.
///
/// # Errors
/// When a listener cannot be used at all.
pub async fn run(
    listeners: Listeners,
    app: Arc<App>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let connections = Arc::new(Connections::new(MOST_CONNECTIONS));
    let mut accepting = Vec::new();
    for listener in listeners.into_inner() {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (app, connections) = (Arc::clone(&app), Arc::clone(&connections));
        accepting.push(tokio::spawn(accept(listener, app, connections)));
    }
    stop.await;
    for task in accepting {
        task.abort();
    }
    let _over = timeout(LAST_ANSWERS, connections.answered()).await;
    Ok(())
}

async fn accept(listener: TcpListener, app: Arc<App>, connections: Arc<Connections>) {
    loop {
        match listener.accept().await {
            Ok((stream, _from)) => {
                let app = Arc::clone(&app);
                let entry = connections.enter();
                tokio::spawn(async move {
                    let activity = entry.activity();
                    tokio::select! {
                        () = serve(stream, &app, Arc::clone(&activity)) => {}
                        () = activity.expired() => {}
                        () = entry.evicted() => {}
                    }
                });
            }
            // The client may have gone again; or there are no descriptors left.
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

/// One connection, to its end. What goes wrong on it is the client's to notice.
async fn serve(stream: TcpStream, app: &Arc<App>, activity: Arc<Activity>) {
    let _ = stream.set_nodelay(true);
    let stream = Watched::new(stream, Arc::clone(&activity));
    let settings = app.settings();
    match &settings.tls {
        Some(tls) => {
            if let Ok(stream) = TlsAcceptor::from(Arc::clone(tls)).accept(stream).await {
                http(stream, app, &settings, activity).await;
            }
        }
        None => http(stream, app, &settings, activity).await,
    }
}

async fn http<S>(stream: S, app: &Arc<App>, settings: &Loaded, activity: Arc<Activity>)
where
    S: AsyncRead + AsyncWrite + Unpin + 'static,
{
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(activity::IDLE)
        .max_headers(MOST_HEADERS)
        .max_buf_size(MOST_HEAD_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(MOST_HEAD_BYTES as u32);
    // Without TLS nobody negotiates it, as with Prometheus' own exporters.
    let builder = if settings.http2 && settings.tls.is_some() {
        builder
    } else {
        builder.http1_only()
    };
    let service = hyper::service::service_fn(|request| {
        let (app, activity) = (Arc::clone(app), Arc::clone(&activity));
        async move {
            let _answering = activity.answering();
            Ok::<_, std::convert::Infallible>(app.answer(&request).await)
        }
    });
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
