//! rsv-parse: pages of the web, fetched within bounds and not from private addresses.

use crate::parse::{tree_of, unread};
use crate::support::Home;
use serde_json::json;
use std::thread;
use tiny_http::{Header, Response, Server};

/// A server of a few pages: its address. It ends with the test process.
fn serve() -> String {
    let server = Server::http("127.0.0.1:0").unwrap();
    let address = format!("http://{}", server.server_addr());
    let base = address.clone();
    thread::spawn(move || {
        for request in server.incoming_requests() {
            let header = |name: &str, value: &str| Header::from_bytes(name, value).unwrap();
            let page = "<html><title>Beans</title><body><nav>no</nav><p>Beans climb.</body></html>";
            // No other page is told where a client comes from.
            let has_referer = request.headers().iter().any(|header| header.field.equiv("Referer"));
            let _ = match request.url() {
                _ if has_referer => request.respond(Response::from_string("told").with_status_code(400)),
                "/beans?key=secret" | "/beans" => request.respond(
                    Response::from_string(page)
                        .with_header(header("Content-Type", "text/html; charset=utf-8"))
                        .with_header(header("Last-Modified", "Fri, 20 Nov 2026 08:00:00 GMT")),
                ),
                "/moved?key=secret" => request.respond(
                    Response::from_string("").with_status_code(302).with_header(header("Location", "/beans")),
                ),
                "/loop" => request.respond(
                    Response::from_string("")
                        .with_status_code(302)
                        .with_header(header("Location", &format!("{base}/loop"))),
                ),
                "/notes.md" => request.respond(
                    Response::from_string("# Notes\n\nOn peas.")
                        .with_header(header("Content-Type", "text/plain")),
                ),
                "/big" => request.respond(Response::from_data(vec![b'x'; (64 << 20) + 1])),
                _ => request.respond(Response::from_string("gone").with_status_code(404)),
            };
        }
    });
    address
}

#[test]
fn a_page_is_fetched_and_a_private_address_only_if_asked() {
    let (home, server) = (Home::new(), serve());
    let run = |path: &str, words: &[&str]| {
        let url = format!("{server}{path}");
        home.run("rsv-parse", &[&[&*url, "--to", "viking://resources/x"], words].concat(), "")
    };
    for path in ["/beans?key=secret", "/moved?key=secret"] {
        let (nodes, _) = tree_of(&run(path, &["--private"]).ok());
        assert_eq!(
            (&nodes[0]["title"], &nodes[0]["content"], &nodes[0]["source_time"]),
            (&json!("Beans"), &json!("Beans climb."), &json!("2026-11-20T08:00:00.000Z"))
        );
        assert!(!nodes[0].to_string().contains("secret"));
    }
    let (nodes, _) = tree_of(&run("/notes.md", &["--private"]).ok());
    assert_eq!((&nodes[0]["title"], &nodes[0]["mime"]), (&json!("Notes"), &json!("text/markdown")));
    for (path, words, wanted) in [
        ("/beans", &[][..], "it leads to an address of this machine or of a private network"),
        ("/none", &["--private"], "status 404 Not Found"),
        ("/loop", &["--private"], "redirects"),
        ("/big", &["--private"], "larger than 64 MiB"),
    ] {
        let (said, named, nodes) = unread(run(path, words));
        assert!(said.contains(&format!("cannot read {server}{path}: ")) && said.contains(wanted), "{said}");
        assert_eq!((named, nodes.len()), (vec![String::new()], 0));
    }
    // A name that leads there is refused as well.
    let named = server.replace("127.0.0.1", "localhost");
    let said =
        home.run("rsv-parse", &[&format!("{named}/beans"), "--to", "viking://resources/x"], "").trouble();
    assert!(said.contains("of this machine or of a private network"), "{said}");
}
