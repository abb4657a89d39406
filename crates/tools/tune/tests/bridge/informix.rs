//! IBM's Informix driver with a stand-in server that accepts its login and returns 500 rows of 44
//! bytes, as many per fetch as the buffer holds. Never tested with a real database.

use super::{WAIT, options};
use client::bridge::{Bridge, Execute, JdbcUrl, Login};
use std::io::{BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use sys::target::Secret;

const ROWS: i32 = 500;
const ROW: i32 = 44;

/// Port, and number of fetches.
fn stand_in() -> (u16, Arc<AtomicU32>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let fetches = Arc::new(AtomicU32::new(0));
    let counted = fetches.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counted = counted.clone();
            std::thread::spawn(move || Server::new(stream, counted).serve());
        }
    });
    (port, fetches)
}

/// The protocol follows public descriptions and the driver's behaviour.
struct Server {
    from: BufReader<TcpStream>,
    to: TcpStream,
    answer: Vec<u8>,
    sent: i32,
    is_query: bool,
    fetches: Arc<AtomicU32>,
}

impl Server {
    fn new(stream: TcpStream, fetches: Arc<AtomicU32>) -> Self {
        stream.set_nodelay(true).unwrap();
        Self {
            from: BufReader::new(stream.try_clone().unwrap()),
            to: stream,
            answer: Vec::new(),
            sent: 0,
            is_query: false,
            fetches,
        }
    }

    /// Until the driver disconnects.
    fn serve(mut self) -> Option<()> {
        let length = self.short()? as usize;
        self.bytes(length.checked_sub(2)?)?;
        self.to.write_all(&acceptance()).ok()?;
        loop {
            let tag = self.short()?;
            self.message(tag)?;
        }
    }

    fn message(&mut self, tag: i16) -> Option<()> {
        match tag {
            // End of a request, which is answered as a whole.
            12 => {
                self.answer.extend(short(12));
                let answer = std::mem::take(&mut self.answer);
                self.to.write_all(&answer).ok()?;
            }
            126 => {
                self.padded()?;
                self.answer.extend(short(126));
                self.answer.extend(short(9));
                self.answer
                    .extend([0xbd, 0xbe, 0x9f, 0xfe, 0x7f, 0xb7, 0xff, 0xef, 0xf8, 0]);
            }
            // Environment: kind, length, bytes, end.
            81 => {
                self.short()?;
                let length = self.short()? as usize;
                self.bytes(length)?;
                self.short()?;
            }
            36 => {
                self.padded()?;
                self.short()?;
                self.done(0x15, 0);
            }
            1 | 2 => self.statement()?,
            4 => {
                self.short()?;
            }
            3 => {
                self.padded()?;
            }
            9 => self.fetch()?,
            7 => self.done(0, 1),
            10 => self.sent = 0,
            19 | 20 | 35 => {
                let state: [i16; 4] = if tag == 35 { [99, 1, 1, 0] } else { [99, 2, 0, 1] };
                self.answer.extend(state.map(i16::to_be_bytes).concat());
            }
            56 => {
                self.to.write_all(&short(56)).ok()?;
                return None;
            }
            _ => {}
        }
        Some(())
    }

    fn statement(&mut self) -> Option<()> {
        self.short()?;
        let length = self.int()? as usize;
        let sql = self.bytes(length + (length & 1))?;
        self.is_query = sql.to_ascii_lowercase().starts_with(b"select");
        self.sent = 0;
        let columns: &[(&str, i16, i32, i32)] = match self.is_query {
            true => &[("id", 2, 4, 0), ("v", 0, 40, 4)],
            false => &[],
        };
        self.answer.extend(describe(columns));
        self.done(0, 0);
        Some(())
    }

    /// Returns as many rows as fit into the driver's buffer.
    fn fetch(&mut self) -> Option<()> {
        let buffer = self.int()?;
        self.short()?;
        self.fetches.fetch_add(1, Ordering::Relaxed);
        let mut room = buffer;
        let first = self.sent;
        while self.sent < ROWS && room >= ROW {
            self.answer.extend([14, 0].map(i16::to_be_bytes).concat());
            self.answer
                .extend([ROW, self.sent].map(i32::to_be_bytes).concat());
            self.answer
                .extend(format!("{:40}", format!("value-{}", self.sent)).bytes());
            self.sent += 1;
            room -= ROW;
        }
        if self.sent == ROWS {
            self.done(0, ROWS - first);
        }
        Some(())
    }

    fn done(&mut self, warning: i16, rows: i32) {
        self.answer.extend([15, warning].map(i16::to_be_bytes).concat());
        self.answer.extend([rows, 0, 0].map(i32::to_be_bytes).concat());
        self.answer.extend(short(55));
        self.answer.extend([100, 10].map(i32::to_be_bytes).concat());
    }

    fn short(&mut self) -> Option<i16> {
        Some(i16::from_be_bytes(self.bytes(2)?.try_into().ok()?))
    }

    fn int(&mut self) -> Option<i32> {
        Some(i32::from_be_bytes(self.bytes(4)?.try_into().ok()?))
    }

    fn padded(&mut self) -> Option<Vec<u8>> {
        let length = self.short()? as usize;
        self.bytes(length + (length & 1))
    }

    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; count];
        self.from.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }
}

fn short(value: i16) -> [u8; 2] {
    value.to_be_bytes()
}

fn text(value: &str) -> Vec<u8> {
    let mut bytes = u16::try_from(value.len() + 1).unwrap().to_be_bytes().to_vec();
    bytes.extend(value.bytes());
    bytes.push(0);
    bytes
}

fn acceptance() -> Vec<u8> {
    let mut body = [short(100), short(101)].concat();
    body.extend(61_i32.to_be_bytes());
    body.extend(text("IEEEI"));
    body.extend(short(108));
    body.extend(b"srvinfx\0\0\0\0\0");
    for word in [
        "IBM Informix Dynamic Server Version 14.10.FC7W1",
        "AAA#B000000",
        "sqlexec",
    ] {
        body.extend(text(word));
    }
    body.extend([316, 0, 0].map(i32::to_be_bytes).concat());
    body.extend([1, 0, 0].map(i16::to_be_bytes).concat());
    body.extend(b"ol\0\0\0\0\0\0");
    body.extend(61_i32.to_be_bytes());
    body.extend(b"soctcp\0\0");
    body.extend(1_i32.to_be_bytes());
    body.extend(short(102));
    body.extend([0; 14]);
    body.extend(short(127));
    let mut packet = u16::try_from(body.len() + 6).unwrap().to_be_bytes().to_vec();
    packet.extend([2, 60, 0x10, 0]);
    packet.extend(body);
    packet
}

fn describe(columns: &[(&str, i16, i32, i32)]) -> Vec<u8> {
    let kind = if columns.is_empty() { 56 } else { 2 };
    let mut bytes = [8, kind, 1].map(i16::to_be_bytes).concat();
    bytes.extend(100_i32.to_be_bytes());
    bytes.extend(short(if columns.is_empty() { 0 } else { ROW as i16 }));
    bytes.extend(short(columns.len() as i16));
    let names: Vec<u8> = columns
        .iter()
        .flat_map(|(name, ..)| [name.as_bytes(), b"\0"].concat())
        .collect();
    bytes.extend((names.len() as i32).to_be_bytes());
    let mut at = 0_i32;
    for (name, column, length, from) in columns {
        bytes.extend([at, *from].map(i32::to_be_bytes).concat());
        bytes.extend(short(*column));
        bytes.extend(0_i32.to_be_bytes());
        bytes.extend([0; 8]);
        bytes.extend([0, *length].map(i32::to_be_bytes).concat());
        at += name.len() as i32 + 1;
    }
    bytes.extend(&names);
    bytes.extend(&[0][..names.len() & 1]);
    bytes
}

#[test]
fn a_larger_fetch_buffer_saves_informix_turns() {
    let (port, fetches) = stand_in();
    let bridge = Bridge::start(&options(&["com.ibm.informix:jdbc:4.50.10"]), &super::NEVER).unwrap();
    let url = format!(
        "jdbc:informix-sqli://127.0.0.1:{port}/stores:INFORMIXSERVER=srvinfx;DB_LOCALE=en_US.819;CLIENT_LOCALE=en_US.819"
    );
    for (buffer, turns) in [("4096", 7), ("8192", 4), ("32767", 2)] {
        let property = |name: &str, value: &str| (name.to_owned(), Secret::new(value));
        let login = Login {
            url: JdbcUrl::parse(&url).unwrap(),
            properties: vec![
                property("user", "app"),
                property("password", "s3cret"),
                property("FET_BUF_SIZE", buffer),
            ],
            class: None,
        };
        let (mut connection, who) = bridge.connect(&login, WAIT).unwrap();
        assert!(who.class.contains("informix"), "{who:?}");
        let before = fetches.load(Ordering::Relaxed);
        let select = Execute::text("select id, v from t_lw");
        assert_eq!(connection.execute(&select, WAIT).unwrap().rows, ROWS as u64);
        assert_eq!(
            fetches.load(Ordering::Relaxed) - before,
            turns,
            "FET_BUF_SIZE={buffer}"
        );
    }
}
