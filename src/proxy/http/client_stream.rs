//! A connection to a client that notices when the client leaves, but not when it only ends its own sending.
//!
//! Both look alike on the wire: the client will send nothing more (FIN). A client on this machine has a row
//! in the system's table of sockets: as long as a process holds the socket, the answer is awaited. The state
//! of a client on another machine is unknown, and it counts as gone.

use std::fs;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// The first pause before a client that ended its sending is looked up again; each is twice as long as the
/// one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// A connection whose flushes fail once the client has left.
pub(in crate::proxy) struct ClientStream {
    stream: TcpStream,
    /// Whether the server has read all that the client sent.
    at_end: bool,
    /// The wait until a client that ended its sending is looked up again, and its length.
    pause: Option<(Pin<Box<Sleep>>, Duration)>,
}

impl ClientStream {
    pub(in crate::proxy) fn new(stream: TcpStream) -> ClientStream {
        ClientStream { stream, at_end: false, pause: None }
    }

    /// Errors if the client has left, which wakes the task.
    fn check(&mut self, cx: &mut Context) -> io::Result<()> {
        if self.at_end {
            return Ok(());
        }
        match self.stream.poll_peek(cx, &mut ReadBuf::new(&mut [0])) {
            Poll::Ready(Ok(0)) => {}
            Poll::Ready(Err(error)) => return Err(error),
            Poll::Pending | Poll::Ready(Ok(_)) => return Ok(()),
        }
        let mut length = FIRST_PAUSE;
        loop {
            if let Some((pause, last)) = &mut self.pause {
                if pause.as_mut().poll(cx).is_pending() {
                    return Ok(());
                }
                length = *last * 2;
            }
            if !is_open(self.stream.peer_addr()?, self.stream.local_addr()?) {
                return Err(io::ErrorKind::ConnectionReset.into());
            }
            self.pause = Some((Box::pin(sleep(length)), length));
        }
    }
}

/// Whether a process of this machine holds the socket at `peer` that is connected to `own`.
fn is_open(peer: SocketAddr, own: SocketAddr) -> bool {
    let table = if peer.ip().to_canonical().is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let Ok(table) = fs::read_to_string(table) else { return false };
    let ends = format!(" {} {} ", in_table(peer), in_table(own));
    let row = table.lines().find(|line| line.contains(&ends));
    // A socket that no process holds has no inode.
    row.and_then(|row| row.split_whitespace().nth(9)).is_some_and(|inode| inode != "0")
}

/// An address as the table has it: words in the machine's order of bytes.
fn in_table(address: SocketAddr) -> String {
    let words = match address.ip().to_canonical() {
        IpAddr::V4(ip) => vec![u32::from_ne_bytes(ip.octets())],
        IpAddr::V6(ip) => ip.segments().chunks(2).map(|pair| word(pair[0], pair[1])).collect(),
    };
    let words: String = words.iter().map(|word| format!("{word:08X}")).collect();
    format!("{words}:{:04X}", address.port())
}

fn word(high: u16, low: u16) -> u32 {
    u32::from_ne_bytes((u32::from(high) << 16 | u32::from(low)).to_be_bytes())
}

impl AsyncRead for ClientStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context, into: &mut ReadBuf) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, into))?;
        self.at_end = into.filled().len() == before;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context,
        slices: &[IoSlice],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        // The server flushes whenever something happens, also while it waits for an answer.
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn addresses_are_written_as_in_the_table() {
        for (address, row) in [
            ("127.0.0.1:3017", "0100007F:0BC9"),
            ("[::ffff:127.0.0.1]:80", "0100007F:0050"),
            ("[::1]:3017", "00000000000000000000000001000000:0BC9"),
        ] {
            assert_eq!(in_table(address.parse().unwrap()), row);
        }
    }
}
