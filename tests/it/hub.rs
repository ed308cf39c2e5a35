//! A hub of models on 127.0.0.1: it sends clients on to where the files are, as hubs do, and can break off.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A hub that serves one model's files under any repository.
pub(crate) struct Hub {
    port: u16,
    state: Arc<State>,
}

struct State {
    files: PathBuf,
    /// After how many bytes each further connection for a graph breaks off; then they are whole.
    cuts: Mutex<Vec<u64>>,
    /// The ranges that were asked of the graph.
    ranges: Mutex<Vec<Option<u64>>>,
}

impl Hub {
    /// Serves `model.onnx` and `tokenizer.json` of a directory.
    pub(crate) fn new(files: PathBuf, cuts: &[u64]) -> Hub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cuts = Mutex::new(cuts.iter().rev().copied().collect());
        let state = Arc::new(State { files, cuts, ranges: Mutex::default() });
        std::thread::spawn({
            let state = state.clone();
            // A client that hangs up in the middle is its own affair.
            move || {
                for stream in listener.incoming() {
                    drop(state.serve(stream.unwrap()));
                }
            }
        });
        Hub { port, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Where each request for the graph began; `None` for a whole one.
    pub(crate) fn ranges(&self) -> Vec<Option<u64>> {
        self.state.ranges.lock().unwrap().clone()
    }
}

impl State {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let head: Vec<String> = BufReader::new(stream.try_clone()?)
            .lines()
            .map_while(Result::ok)
            .take_while(|l| !l.is_empty())
            .collect();
        let Some(path) = head.first().and_then(|line| line.split(' ').nth(1)) else { return Ok(()) };
        // Where the files are nobody is told what sends a client there.
        if head.iter().any(|line| line.to_lowercase().starts_with("referer:")) {
            return write!(
                stream,
                "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
        if let Some((_, name)) = path.split_once("/resolve/main/") {
            let name = name.rsplit('/').next().unwrap_or_default();
            return write!(
                stream,
                "HTTP/1.1 302 Found\r\nLocation: /cdn/{name}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
        let Ok(mut file) = std::fs::File::open(self.files.join(path.trim_start_matches("/cdn/"))) else {
            return write!(
                stream,
                "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
        };
        let length = file.metadata()?.len();
        let range = head.iter().find_map(|line| {
            line.to_lowercase().strip_prefix("range: bytes=")?.trim_end_matches('-').parse().ok()
        });
        let mut cut = u64::MAX;
        if path.ends_with(".onnx") {
            self.ranges.lock().unwrap().push(range);
            cut = self.cuts.lock().unwrap().pop().unwrap_or(u64::MAX);
        }
        let begin = range.unwrap_or(0);
        let status = if range.is_some() { "206 Partial Content" } else { "200 OK" };
        write!(
            stream,
            "HTTP/1.1 {status}\r\nETag: \"one\"\r\nContent-Length: {}\r\nContent-Range: bytes {begin}-{}/{length}\r\nConnection: close\r\n\r\n",
            length - begin,
            length - 1
        )?;
        file.seek(SeekFrom::Start(begin))?;
        std::io::copy(&mut file.take(cut), &mut stream)?;
        Ok(())
    }
}
