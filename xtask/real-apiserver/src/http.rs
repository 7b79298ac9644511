//! Just enough of plain HTTP/1.1 to ask etcd about its health.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than any answer of a healthy etcd on this machine; the caller tries again.
const LIMIT: Duration = Duration::from_secs(5);

/// An answer is read up to here: etcd's health and errors are a few hundred bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// An HTTP answer: any status, with its body as text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The body, whole.
    pub body: String,
}

/// Sends one request to a server on 127.0.0.1 and reads its answer until the server closes.
pub(crate) fn request(port: u16, method: &str, path: &str, body: &str) -> io::Result<Response> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    let length = body.len();
    // HTTP/1.0, so that the answer is never chunked and ends with the connection. In one piece, so that a server
    // which answers before it has read all cannot reset the connection in the middle.
    let head = format!("{method} {path} HTTP/1.0\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all((head + body).as_bytes())?;
    let mut bytes = Vec::new();
    stream.take(MAX_BYTES).read_to_end(&mut bytes)?;
    parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP"))
}

fn parse(bytes: &[u8]) -> Option<Response> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?;
    Some(Response { status: status.parse().ok()?, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread;

    #[test]
    fn an_answer_is_read_until_the_server_closes() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut seen = Vec::new();
            while !seen.ends_with(b"{}") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                seen.extend(byte);
            }
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\nA: b\r\n\r\nno\r\n\r\nway").unwrap();
            String::from_utf8_lossy(&seen).into_owned()
        });
        let response = request(port, "POST", "/x", "{}").unwrap();
        assert_eq!(response, Response { status: 400, body: "no\r\n\r\nway".into() });
        assert!(server.join().unwrap().starts_with("POST /x HTTP/1.0\r\n"));
    }

    #[test]
    fn an_answer_that_is_not_http_is_an_error() {
        for bytes in
            [&b""[..], b"HTTP/1.1 200 OK", b"HTTP/1.1\r\n\r\n", b"HTTP/1.1 abc x\r\n\r\n", b"\xff\r\n\r\n"]
        {
            assert_eq!(parse(bytes), None);
        }
    }
}
