//! The settings in use: read again when a file of theirs has changed, kept as
//! they were when the new ones cannot be used.
//!
//! Must not know what a setting means.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use hyper::header::{HeaderName, HeaderValue};
use tokio_rustls::rustls::ServerConfig;

use super::{
    auth::Users,
    config::{ConfigError, File},
    tls::{self, Files},
};

/// Says something to whoever runs the server.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// Settings as they are used.
#[derive(Clone, Debug, Default)]
pub(super) struct Loaded {
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) http2: bool,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) users: Users,
}

/// The settings, and the file they come from.
pub struct WebConfig {
    path: Option<PathBuf>,
    state: Mutex<State>,
    usable: Arc<AtomicBool>,
    tell: Tell,
}

struct State {
    current: Arc<Loaded>,
    /// What the files were like when they were last read.
    stamps: Vec<Stamp>,
}

/// By which a file that has changed is known; `None` for one that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    state: Option<(u64, u64, u64, i64, i64)>,
}

impl Stamp {
    fn of(path: PathBuf) -> Self {
        let state = fs::metadata(&path).ok().map(|meta| {
            let (seconds, nanoseconds) = (meta.mtime(), meta.mtime_nsec());
            (meta.dev(), meta.ino(), meta.size(), seconds, nanoseconds)
        });
        Self { path, state }
    }
}

impl WebConfig {
    /// Without a file: neither TLS nor users.
    #[must_use]
    pub fn none() -> Self {
        Self {
            path: None,
            state: Mutex::new(State {
                current: Arc::default(),
                stamps: Vec::new(),
            }),
            usable: Arc::new(AtomicBool::new(true)),
            tell: Box::new(|_| {}),
        }
    }

    /// From the file at `path`. `tell` hears of files that cannot be used
    /// later on.
    ///
    /// # Errors
    /// When it cannot be used now.
    pub fn open(path: &Path, tell: Tell) -> Result<Self, ConfigError> {
        let (stamps, loaded) = load(path);
        Ok(Self {
            path: Some(path.to_owned()),
            state: Mutex::new(State {
                current: Arc::new(loaded?),
                stamps,
            }),
            usable: Arc::new(AtomicBool::new(true)),
            tell,
        })
    }

    /// Clients are to speak TLS.
    #[must_use]
    pub fn has_tls(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.current.tls.is_some()
    }

    /// Whether the files could be used when they last changed.
    #[must_use]
    pub fn usable(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.usable)
    }

    /// The settings of now.
    pub(super) fn current(&self) -> Arc<Loaded> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = &self.path
            && state.have_changed()
        {
            self.reload(path, &mut state);
        }
        Arc::clone(&state.current)
    }

    fn reload(&self, path: &Path, state: &mut State) {
        let (stamps, loaded) = load(path);
        state.stamps = stamps;
        let loaded = loaded.and_then(|loaded| {
            let switched = loaded.tls.is_some() != state.current.tls.is_some();
            if switched {
                Err(ConfigError::TlsSwitched)
            } else {
                Ok(loaded)
            }
        });
        self.usable.store(loaded.is_ok(), Ordering::Relaxed);
        let path = path.display();
        match loaded {
            Ok(loaded) => {
                state.current = Arc::new(loaded);
                (self.tell)(&format!("{path}: read again"));
            }
            Err(error) => {
                let error = anyhow::Error::from(error);
                (self.tell)(&format!(
                    "{path}: the settings before stay in use: {error:#}"
                ));
            }
        }
    }
}

impl State {
    fn have_changed(&self) -> bool {
        let mut stamps = self.stamps.iter();
        stamps.any(|stamp| Stamp::of(stamp.path.clone()) != *stamp)
    }
}

/// The settings, and what the files that were read were like before.
fn load(path: &Path) -> (Vec<Stamp>, Result<Loaded, ConfigError>) {
    // Before reading: a change in between is seen the next time.
    let first = Stamp::of(path.to_owned());
    let mut files = Files {
        dir: path.parent().unwrap_or(Path::new("")),
        read: Vec::new(),
    };
    let loaded = load_with(path, &mut files);
    let mut stamps = vec![first];
    stamps.extend(files.read.into_iter().map(Stamp::of));
    (stamps, loaded)
}

fn load_with(path: &Path, files: &mut Files<'_>) -> Result<Loaded, ConfigError> {
    let text = fs::read_to_string(path).map_err(|source| ConfigError::Io {
        path: path.to_owned(),
        source,
    })?;
    let file = File::parse(&text)?;
    let http2 = file.http_server_config.http2;
    let tls = file.tls_server_config.as_ref();
    let tls = tls.map(|tls| tls::server(tls, http2, files)).transpose()?;
    Ok(Loaded {
        tls,
        http2,
        headers: headers(&file)?,
        users: file.basic_auth_users,
    })
}

fn headers(file: &File) -> Result<Vec<(HeaderName, HeaderValue)>, ConfigError> {
    let each = file.http_server_config.headers.iter().map(|(name, value)| {
        let refuse = |error: String| ConfigError::key("headers", error);
        let known = HeaderName::try_from(name).map_err(|error| refuse(error.to_string()))?;
        let value = HeaderValue::try_from(value).map_err(|error| refuse(error.to_string()))?;
        Ok((known, value))
    });
    each.collect()
}
