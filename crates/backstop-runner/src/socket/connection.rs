//! One client of a run's sockets.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::place::user;
use super::protocol::{
    Refusal, Request, Source, What, error_line, is_watch, read_operation, read_report,
};
use super::reporters::Entered;
use super::server::{Durable, Settings};
use super::stream::ClientStream;

/// Which socket somebody came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    Report,
    Operate,
}

/// Answers a client's lines until it leaves or the run ends.
pub(super) async fn serve(
    stream: UnixStream,
    door: Door,
    settings: Arc<Settings>,
    closing: watch::Receiver<bool>,
    reporter: Option<Entered>,
) {
    let admitted = admit(&stream, door, &settings);
    // Without a stream there is nobody to be told why.
    let Ok(stream) = ClientStream::new(stream) else { return };
    let lines = BufReader::with_capacity(READ_BUFFER, stream);
    let mut connection = Connection { lines, door, settings, closing, reporter, is_answered: true };
    let ended = match admitted {
        Ok(()) => connection.answer_all().await,
        Err(refusal) => {
            connection.refuse(refusal).await;
            Ok(())
        }
    };
    // A client that went away in the middle is no concern of the run's.
    drop(ended);
}

/// Tells a client that there are too many, if it can be told without waiting.
pub(super) fn turn_away(stream: &UnixStream) {
    let line = format!("{}\n", error_line("too many connections to this run; try again"));
    let _ = stream.try_write(line.as_bytes());
}

struct Connection {
    lines: BufReader<ClientStream>,
    door: Door,
    settings: Arc<Settings>,
    closing: watch::Receiver<bool>,
    reporter: Option<Entered>,
    /// Whether the client still takes answers.
    is_answered: bool,
}

impl Connection {
    async fn answer_all(&mut self) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            line.clear();
            self.is_busy(!self.lines.buffer().is_empty());
            let read = tokio::select! {
                // A line that has come is answered, even as the run ends.
                biased;
                read = read_line(&mut self.lines, &mut line) => read?,
                () = closed(&mut self.closing) => return Ok(()),
            };
            self.is_busy(true);
            match read {
                Line::Whole => {}
                Line::End => return Ok(()),
                Line::TooLong => {
                    let message = format!("a line may have {} MiB at most", LONGEST_LINE >> 20);
                    return self.write(&error_line(&message)).await;
                }
            }
            let text = line.trim_ascii();
            if text.is_empty() {
                continue;
            }
            if self.door == Door::Operate && is_watch(text) {
                return self.stream_events().await;
            }
            let read = match self.door {
                Door::Report => read_report(text),
                Door::Operate => read_operation(text),
            };
            match read {
                Ok(what) => {
                    let answer = ask(&self.settings, self.source(), what).await;
                    self.answer(&answer).await;
                }
                Err(refusal) => self.refuse(refusal).await,
            }
        }
    }

    fn is_busy(&self, is_busy: bool) {
        if let Some(reporter) = &self.reporter {
            reporter.is_busy(is_busy);
        }
    }

    fn source(&self) -> Source {
        match self.door {
            Door::Report => Source::Child,
            Door::Operate => Source::Operator,
        }
    }

    async fn refuse(&mut self, refusal: Refusal) {
        let answer = refuse(&self.settings, self.source(), refusal).await;
        self.answer(&answer).await;
    }

    /// Answers a line. Who sends and goes away, or never reads, is not answered any more; what they
    /// have sent counts all the same.
    async fn answer(&mut self, line: &str) {
        if self.is_answered {
            self.is_answered = self.write(line).await.is_ok();
        }
    }

    /// Sends every event from now on. Whoever can't keep up is dropped: the run waits for nobody.
    async fn stream_events(&mut self) -> io::Result<()> {
        let mut events = self.settings.journalled.subscribe();
        self.write(r#"{"watching":true}"#).await?;
        let mut nothing = [0; 64];
        loop {
            let event = tokio::select! {
                biased;
                event = events.recv() => event,
                // What a watcher still sends is of no interest; that it left is.
                read = self.lines.read(&mut nothing) => match read? {
                    0 => return Ok(()),
                    _ => continue,
                },
                // Everything that was to be told has been.
                () = closed(&mut self.closing) => return Ok(()),
            };
            match event {
                Ok(line) => self.write(&line).await?,
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
                Err(broadcast::error::RecvError::Lagged(missed)) => {
                    let message = format!("too slow to watch: {missed} events were missed");
                    return self.write(&error_line(&message)).await;
                }
            }
        }
    }

    async fn write(&mut self, line: &str) -> io::Result<()> {
        self.lines.get_ref().write_all(format!("{line}\n").as_bytes(), PATIENCE).await
    }
}

/// Waits until the run takes no more requests.
pub(crate) async fn closed(closing: &mut watch::Receiver<bool>) {
    // An error is a server that is gone, which comes to the same.
    let _ = closing.wait_for(|closing| *closing).await;
}

/// Asks, and answers with a line in any case.
pub(super) async fn ask(settings: &Settings, from: Source, what: What) -> String {
    let answer = hand_over(&settings.requests, &settings.durable, from, what).await;
    answer.unwrap_or_else(|problem| error_line(&problem))
}

/// The answer to what is not taken. An attempt at what is not allowed goes on record before it.
pub(super) async fn refuse(settings: &Settings, from: Source, refusal: Refusal) -> String {
    let answer = error_line(&refusal.message);
    if refusal.forbidden {
        ask(settings, from, What::Refused(refusal)).await;
    }
    answer
}

/// Hands a request to the one who owns the run, and waits until what it caused is on disk.
///
/// # Errors
/// The run ends, or nothing more can be stored.
pub(crate) async fn hand_over(
    requests: &mpsc::Sender<Request>,
    durable: &Durable,
    from: Source,
    what: What,
) -> Result<String, String> {
    let (reply, answered) = oneshot::channel();
    if requests.send(Request { from, what, reply }).await.is_err() {
        return Err(ENDING.to_owned());
    }
    let reply = answered.await.map_err(|_| ENDING.to_owned())?;
    if let Some(seq) = reply.durable {
        // The owner has gone on to the next one meanwhile, so that many share one commit.
        durable(seq).await.map_err(|cause| format!("could not be stored: {cause}"))?;
    }
    Ok(reply.line)
}

/// The directory keeps other users out; this is for systems that don't heed a socket's folder.
fn admit(stream: &UnixStream, door: Door, settings: &Settings) -> Result<(), Refusal> {
    let peer = stream.peer_cred().map_err(|error| Refusal::unclear(error.to_string()))?;
    if peer.uid() != user() && peer.uid() != 0 {
        return Err(Refusal::forbidden("this run belongs to another user"));
    }
    let pid = peer.pid().and_then(|pid| u32::try_from(pid).ok());
    if door == Door::Operate && pid.is_some_and(|pid| (settings.is_supervised)(pid)) {
        return Err(Refusal::forbidden("a supervised process can't operate its own run"));
    }
    Ok(())
}

enum Line {
    Whole,
    End,
    TooLong,
}

async fn read_line(lines: &mut BufReader<ClientStream>, line: &mut Vec<u8>) -> io::Result<Line> {
    lines.take(LONGEST_LINE + 1).read_until(b'\n', line).await?;
    Ok(match line.last() {
        None => Line::End,
        Some(b'\n') => Line::Whole,
        Some(_) if line.len() as u64 > LONGEST_LINE => Line::TooLong,
        // The last line of one who hangs up may lack its end.
        Some(_) => Line::Whole,
    })
}

/// How long an event may be, so that a client can't fill our memory.
const LONGEST_LINE: u64 = 1 << 20;

/// How long a client may take to read its answer.
const PATIENCE: Duration = Duration::from_secs(10);

const READ_BUFFER: usize = 4 * 1024;

const ENDING: &str = "the run is ending";
