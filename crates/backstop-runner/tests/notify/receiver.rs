//! A web server that answers as badly as it is told to.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// How a request is answered.
#[derive(Clone, Debug)]
pub enum Reply {
    Status(u16),
    /// A status with one more header.
    With(u16, &'static str),
    /// A status, and a body that never ends.
    Endless(u16),
    /// What is not HTTP.
    Garbage,
    /// The connection is closed without a word.
    Close,
    /// Nothing is ever said.
    Never,
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Received {
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The server. It runs until the test's process ends.
#[derive(Debug)]
pub struct Receiver {
    pub port: u16,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    /// Answers one request after the other like this; the last reply is for all that follow.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let received = Arc::<Mutex<Vec<Received>>>::default();
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        let seen = Arc::clone(&received);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let reply = match replies.len() {
                    1 => replies[0].clone(),
                    _ => replies.pop_front().expect("there is a reply"),
                };
                let seen = Arc::clone(&seen);
                thread::spawn(move || serve(stream, &reply, &seen));
            }
        });
        Self { port, received }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook/s3cret-path", self.port)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no test panicked in it").clone()
    }
}

fn serve(mut stream: TcpStream, reply: &Reply, seen: &Mutex<Vec<Received>>) {
    let Some(received) = read(&stream) else { return };
    seen.lock().expect("no test panicked in it").push(received);
    let answer = match reply {
        Reply::Status(status) => format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\nok"),
        Reply::With(status, header) => {
            format!("HTTP/1.1 {status} X\r\n{header}\r\nContent-Length: 0\r\n\r\n")
        }
        Reply::Endless(status) => {
            let head = format!("HTTP/1.1 {status} X\r\nContent-Type: text/plain\r\n\r\n");
            let _gone = stream.write_all(head.as_bytes());
            let piece = [b'x'; 64 << 10];
            while stream.write_all(&piece).is_ok() {}
            return;
        }
        Reply::Garbage => "SMTP? no.\r\n\r\n".to_owned(),
        Reply::Close => return,
        Reply::Never => loop {
            thread::park();
        },
    };
    let _gone = stream.write_all(answer.as_bytes());
}

fn read(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        match header.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some(Received { line: line.trim_end().to_owned(), headers, body })
}
