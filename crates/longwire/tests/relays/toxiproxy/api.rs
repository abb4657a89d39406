//! Raw HTTP access to the API under test, and a Redis behind one of its proxies.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::Duration;
use testbed::binary::longwire;
use testbed::{Redis, Started};

pub(crate) struct Api {
    pub(crate) program: Started,
    pub(crate) address: SocketAddr,
}

impl Api {
    pub(crate) fn start(more: &[&str]) -> Self {
        Self::start_at("127.0.0.1:0", more)
    }

    pub(crate) fn start_at(address: &str, more: &[&str]) -> Self {
        let arguments = [&["relay", "--api", address], more].concat();
        let command = &mut longwire(&arguments);
        let (program, address) = Started::listening(command.stdout(Stdio::piped()), " at http://");
        Self { program, address }
    }

    pub(crate) fn raw(&self, request: &[u8]) -> (u16, String) {
        let mut stream = connected(self.address);
        // A server that refuses unread input may have closed already.
        stream.write_all(request).ok();
        answer(&mut stream)
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: test\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let (status, body) = self.raw((head + body).as_bytes());
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, value) = self.call("GET", path, "");
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let (status, value) = self.call("POST", path, &body.to_string());
        assert!((200..300).contains(&status), "{path} {body}: {status} {value}");
        value
    }

    #[track_caller]
    pub(crate) fn refused(&self, method: &str, path: &str, body: &str, status: u16) -> String {
        let (found, value) = self.call(method, path, body);
        assert_eq!((found, &value["status"]), (status, &json!(status)), "{value}");
        value["error"].as_str().expect("an error is a text").to_owned()
    }

    #[track_caller]
    pub(crate) fn proxy(&self, name: &str, port: u16) -> SocketAddr {
        let created = self.post(
            "/proxies",
            &json!({ "name": name, "listen": "127.0.0.1:0", "upstream": format!("127.0.0.1:{port}") }),
        );
        listens(&created)
    }

    #[track_caller]
    pub(crate) fn toxic(&self, kind: &str, stream: &str, attributes: Value) -> Value {
        let toxic = json!({ "type": kind, "stream": stream, "attributes": attributes });
        self.post("/proxies/redis/toxics", &toxic)
    }

    #[track_caller]
    pub(crate) fn delete(&self, path: &str) {
        assert_eq!(self.call("DELETE", path, "").0, 204, "{path}");
    }
}

pub(crate) fn listens(proxy: &Value) -> SocketAddr {
    let text = proxy["listen"].as_str().expect("an address is a text");
    text.parse().expect("an address of a running proxy")
}

pub(crate) struct Behind {
    pub(crate) api: Api,
    pub(crate) redis: Redis,
    pub(crate) proxy: SocketAddr,
    pub(crate) connection: TcpStream,
}

impl Behind {
    pub(crate) fn start() -> Self {
        let (api, redis) = (Api::start(&[]), Redis::start());
        let proxy = api.proxy("redis", redis.port());
        let mut connection = connected(proxy);
        assert_eq!(asked(&mut connection, "PING"), "+PONG\r\n");
        Self {
            api,
            redis,
            proxy,
            connection,
        }
    }
}

pub(crate) fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("something listens");
    let timeout = Some(Duration::from_secs(20));
    stream.set_read_timeout(timeout).expect("a read timeout");
    stream.set_write_timeout(timeout).expect("a write timeout");
    stream
}

#[track_caller]
pub(crate) fn asked(stream: &mut TcpStream, command: &str) -> String {
    stream
        .write_all(format!("{command}\r\n").as_bytes())
        .expect("it is sent");
    line(stream)
}

#[track_caller]
pub(crate) fn line(stream: &mut TcpStream) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("Redis answers in text")
}

fn answer(stream: &mut TcpStream) -> (u16, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (
        status.unwrap_or_else(|| panic!("no status: {text}")),
        body.to_owned(),
    )
}
