//! The thread that owns the source: it reads when asked, and follows devices
//! when the kernel says so.
//!
//! Must not be asked for anything else, so that nobody waits for long.

use std::{
    os::{fd::OwnedFd, unix::net::UnixDatagram},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use anyhow::{Context as _, bail};
use tokio::{
    io::unix::AsyncFd,
    sync::{mpsc as asking, oneshot},
};

use super::super::{
    live::{readable, wake_fd},
    open::{self, Extras},
    tell,
};
use crate::{
    cli::SourceArgs,
    export::{Live, Reader, Scrape},
};

/// Readings that may wait to be made.
const MOST_WAITING: usize = 32;

/// An error is for a person.
type Answer<T> = oneshot::Sender<Result<T, String>>;

/// What the thread is asked.
enum Question {
    /// For a reading, which somebody waits for.
    Read(Answer<Scrape>),
    /// For what happened since this was asked before.
    Interval(Answer<Live>),
    /// To end.
    End,
}

/// The thread, and how to ask it.
pub(super) struct Counting {
    asker: Asker,
    describe: String,
    thread: JoinHandle<()>,
}

/// Asks for readings, from any thread.
#[derive(Clone)]
pub(super) struct Asker {
    questions: asking::Sender<Question>,
    failed: Arc<AtomicBool>,
}

impl Counting {
    /// Opens what is to be counted, on a thread of its own with the privileges
    /// of this one.
    ///
    /// # Errors
    /// As [`open::open`].
    pub(super) fn start(args: SourceArgs) -> anyhow::Result<Self> {
        let (questions, asked) = asking::channel(MOST_WAITING);
        let (opened, is_open) = mpsc::channel();
        let failed = Arc::new(AtomicBool::new(false));
        let mark = Arc::clone(&failed);
        let thread = std::thread::Builder::new()
            .name("counting".to_owned())
            .spawn(move || {
                if let Err(error) = count(&args, asked, &opened) {
                    mark.store(true, Ordering::Relaxed);
                    // Before it was open, whoever waits for that is told.
                    if let Err(mpsc::SendError(Err(error))) = opened.send(Err(error)) {
                        tell(&format!("{error:#}"));
                    }
                }
            })
            .context("cannot start a thread")?;
        let describe = match is_open.recv() {
            Ok(opened) => opened?,
            Err(mpsc::RecvError) => bail!("the thread that counts ended at its start"),
        };
        let asker = Asker { questions, failed };
        Ok(Self {
            asker,
            describe,
            thread,
        })
    }

    pub(super) fn asker(&self) -> Asker {
        self.asker.clone()
    }

    /// How it counts.
    pub(super) fn describe(&self) -> &str {
        &self.describe
    }

    /// Detaches the programs, and waits until they are.
    pub(super) fn stop(self) {
        // It may have ended by itself.
        let _ = self.asker.questions.blocking_send(Question::End);
        let _ = self.thread.join();
    }
}

impl Asker {
    /// Waits for a reading made after this call.
    ///
    /// # Errors
    /// What a person should know, once; then that it has failed.
    pub(super) fn read(&self) -> Result<Scrape, String> {
        self.ask(Question::Read)
    }

    /// Waits for what happened since the last call.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn interval(&self) -> Result<Live, String> {
        self.ask(Question::Interval)
    }

    fn ask<T>(&self, about: impl FnOnce(Answer<T>) -> Question) -> Result<T, String> {
        const ENDED: &str = "nothing is counted any more";
        let (question, answer) = oneshot::channel();
        let sent = self.questions.blocking_send(about(question));
        sent.map_err(|_ended| ENDED.to_owned())?;
        answer.blocking_recv().map_err(|_ended| ENDED.to_owned())?
    }

    /// Counters can be read.
    pub(super) fn works(&self) -> bool {
        !self.failed.load(Ordering::Relaxed) && !self.questions.is_closed()
    }
}

/// Reads when asked, until there is nobody to ask.
fn count(
    args: &SourceArgs,
    asked: asking::Receiver<Question>,
    opened: &mpsc::Sender<anyhow::Result<String>>,
) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    // Within the runtime: a source may have descriptors to watch.
    let _guard = runtime.enter();
    let source = open::open(args, Extras::default())?;
    let mut reader = Reader::new(source.source, &source.devices);
    reader.refresh()?;
    let wake = wake_fd(reader.source())?;
    let _ = opened.send(Ok(reader.source().describe()));
    runtime.block_on(answer(reader, asked, wake.as_ref()))
}

async fn answer(
    mut reader: Reader,
    mut asked: asking::Receiver<Question>,
    wake: Option<&AsyncFd<OwnedFd>>,
) -> anyhow::Result<()> {
    loop {
        tokio::select! {
            question = asked.recv() => match question {
                Some(Question::Read(asker)) => reply(asker, reader.read())?,
                Some(Question::Interval(asker)) => reply(asker, reader.interval())?,
                Some(Question::End) | None => return Ok(()),
            },
            woken = readable(wake) => {
                woken.context("cannot wait for new devices")?;
                reader.refresh()?;
            }
        }
    }
}

/// Hands a reading over.
///
/// # Errors
/// Where it failed: the next would, too.
fn reply<T>(asker: Answer<T>, reading: anyhow::Result<T>) -> anyhow::Result<()> {
    let reading = reading.map_err(|error| format!("{error:#}"));
    let error = reading.as_ref().err().cloned();
    // Whoever asked may have gone.
    let _ = asker.send(reading);
    match error {
        Some(error) => bail!("the counters cannot be read any more: {error}"),
        None => Ok(()),
    }
}

/// Tells the service manager, where there is one (`sd_notify(3)`).
pub(super) fn tell_systemd(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let told = UnixDatagram::unbound().and_then(|socket| {
        use std::os::{
            linux::net::SocketAddrExt as _,
            unix::{ffi::OsStrExt as _, net::SocketAddr},
        };
        let address = match path.as_bytes().strip_prefix(b"@") {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(&path)?,
        };
        socket.send_to_addr(state.as_bytes(), &address)
    });
    if let Err(error) = told {
        tell(&format!(
            "cannot tell the service manager {state:?}: {error}"
        ));
    }
}
