//! A client's stream, of which only what the client sends wakes the run.
//!
//! The runtime's own streams are also told whenever the other side has read something. Nobody waits
//! for that here, and with many reporters it would be a waking for each answer.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::time::timeout;

/// An open connection.
#[derive(Debug)]
pub(super) struct ClientStream {
    stream: AsyncFd<UnixStream>,
}

impl ClientStream {
    pub(super) fn new(accepted: tokio::net::UnixStream) -> io::Result<Self> {
        Ok(Self { stream: watched(accepted.into_std()?, Interest::READABLE)? })
    }

    /// Writes all of it, unless the client does not read for so long.
    pub(super) async fn write_all(&self, bytes: &[u8], patience: Duration) -> io::Result<()> {
        // Nearly always there is room, and then there is nothing to wait for.
        let taken = match self.stream.get_ref().write(bytes) {
            Ok(taken) => taken,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        let rest = &bytes[taken..];
        if rest.is_empty() {
            return Ok(());
        }
        let late = |_| Err(io::ErrorKind::TimedOut.into());
        timeout(patience, self.write_as_there_is_room(rest)).await.unwrap_or_else(late)
    }

    async fn write_as_there_is_room(&self, mut rest: &[u8]) -> io::Result<()> {
        let writing = watched(self.stream.get_ref().try_clone()?, Interest::WRITABLE)?;
        while !rest.is_empty() {
            let mut room = writing.writable().await?;
            match room.try_io(|stream| stream.get_ref().write(rest)) {
                Ok(taken) => rest = &rest[taken?..],
                Err(_no_room) => {}
            }
        }
        Ok(())
    }
}

#[expect(unsafe_code, reason = "the runtime can't see that the stream stays open")]
fn watched(stream: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    // SAFETY: the stream owns its descriptor, which stays the same and open as long as it does.
    Ok(unsafe { AsyncFd::register_with_interest(stream, interest) }?)
}

impl AsyncRead for ClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut sent = ready!(self.stream.poll_read_ready(context))?;
            let room = into.initialize_unfilled();
            match sent.try_io(|stream| stream.get_ref().read(room)) {
                Ok(Ok(length)) => {
                    // Less than there was room for is all that there was.
                    if length > 0 && length < room.len() {
                        sent.clear_ready();
                    }
                    into.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) => return Poll::Ready(Err(error)),
                Err(_nothing) => {}
            }
        }
    }
}
