use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl HttpAnswer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// GET from a server on 127.0.0.1; `None` if it cannot be reached or does not answer in HTTP.
pub fn get(port: u16, path: &str, accept: &str) -> Option<HttpAnswer> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\nAccept: {accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(answer.get(..end)?).into_owned();
    Some(HttpAnswer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        body: answer.get(end + 4..)?.to_vec(),
    })
}
