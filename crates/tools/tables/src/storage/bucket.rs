//! An object store with the S3 API: puts, lists, gets and deletes complete objects, with signed
//! URLs (Signature Version 4).

mod credentials;

use credentials::credentials;
use rusty_s3::actions::{ListObjectsV2, S3Action};
use rusty_s3::{Bucket, Credentials, UrlStyle};
use std::cell::Cell;
use std::env;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::PathBuf;
use std::time::Duration;
use sys::http_client::PemFiles;
use ureq::http::Response;
use ureq::typestate::WithoutBody;
use ureq::{Agent, Body, RequestBuilder};

pub(crate) struct ObjectStore {
    agent: Agent,
    bucket: Bucket,
    credentials: Option<Credentials>,
    prefix: String,
}

pub(crate) fn is_bucket(text: &str) -> bool {
    text.starts_with(SCHEME)
}

impl ObjectStore {
    /// Parses `s3://BUCKET/PREFIX`. Region, endpoint and credentials come from the settings of
    /// AWS's tools.
    pub(crate) fn new(url: &str) -> io::Result<Self> {
        let place = url.strip_prefix(SCHEME).unwrap_or(url);
        let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
        if name.is_empty() || prefix.split('/').any(|part| part == "." || part == "..") {
            return Err(invalid(format!(
                "{url} names no bucket: expected s3://BUCKET/PREFIX"
            )));
        }
        let variable = |names: [&str; 2]| {
            names
                .into_iter()
                .find_map(|name| env::var(name).ok().filter(|text| !text.is_empty()))
        };
        let region = variable(["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_else(|| "us-east-1".to_owned());
        let own = variable(["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
        // Dotted names match no wildcard certificate; other servers mostly support paths only.
        let style = match own.is_none() && !name.contains('.') {
            true => UrlStyle::VirtualHost,
            false => UrlStyle::Path,
        };
        let endpoint = own.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let tls = PemFiles {
            authorities: variable(["AWS_CA_BUNDLE", "SSL_CERT_FILE"]).map(PathBuf::from),
            identity: None,
        };
        let agent = sys::http_client::agent(&endpoint, &tls, TIMEOUT).map_err(io::Error::other)?;
        let parsed = endpoint.parse();
        let parsed = parsed
            .map_err(|error| invalid(format!("the endpoint of AWS_ENDPOINT_URL is no URL: {error}")))?;
        let bucket = Bucket::new(parsed, style, name.to_owned(), region);
        let bucket = bucket.map_err(|error| invalid(format!("{url} cannot be used: {error}")))?;
        let prefix = prefix.trim_matches('/');
        Ok(Self {
            agent,
            bucket,
            credentials: credentials()?,
            prefix: match prefix {
                "" => String::new(),
                prefix => format!("{prefix}/"),
            },
        })
    }

    pub(crate) fn check(&self) -> io::Result<()> {
        let ask = || {
            let mut action = self.bucket.list_objects_v2(self.credentials.as_ref());
            action.with_prefix(self.prefix.clone());
            action.with_max_keys(1);
            let request = self.agent.get(action.sign(VALID).as_str()).config();
            request.timeout_global(Some(SHORT_TIMEOUT)).build().call()
        };
        self.answer_within(FIRST_PAUSE, "", ask, |_| Ok(()))
    }

    /// Names below a folder, without the prefix.
    pub(crate) fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        let mut token: Option<String> = None;
        loop {
            let ask = || {
                let mut action = self.bucket.list_objects_v2(self.credentials.as_ref());
                action.with_prefix(format!("{}{folder}/", self.prefix));
                if let Some(token) = &token {
                    action.with_continuation_token(token.clone());
                }
                answered_soon(self.agent.get(action.sign(VALID).as_str()))
            };
            let text = self.answer(folder, ask, |answer| {
                body(answer, MAX_LISTING_BYTES).map_err(io::Error::other)
            })?;
            let parsed = ListObjectsV2::parse_response(&text);
            let parsed = parsed
                .map_err(|error| self.fault(folder, &format!("its list is not understood: {error}")))?;
            let keys = parsed.contents.into_iter().map(|object| object.key.to_string());
            names.extend(keys.filter_map(|key| key.strip_prefix(&self.prefix).map(str::to_owned)));
            token = parsed.next_continuation_token.map(|token| token.to_string());
            if token.is_none() {
                return Ok(names);
            }
        }
    }

    /// Puts `file` as an object, atomically.
    pub(crate) fn put(&self, name: &str, file: &File) -> io::Result<()> {
        let bytes = file.metadata()?.len();
        let ask = || {
            let mut file = file;
            file.rewind()?;
            let action = self
                .bucket
                .put_object(self.credentials.as_ref(), &self.key(name))
                .sign(VALID);
            let request = self.agent.put(action.as_str());
            request.header("Content-Length", bytes.to_string()).send(file)
        };
        self.answer(name, ask, |_| Ok(()))
    }

    pub(crate) fn get(&self, name: &str, file: &mut File) -> io::Result<()> {
        let ask = || {
            let action = self
                .bucket
                .get_object(self.credentials.as_ref(), &self.key(name))
                .sign(VALID);
            answered_soon(self.agent.get(action.as_str()))
        };
        self.answer(name, ask, |answer| {
            file.rewind()?;
            file.set_len(0)?;
            io::copy(&mut answer.body_mut().as_reader(), file)?;
            file.flush()
        })
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        let ask = || {
            let action = self
                .bucket
                .delete_object(self.credentials.as_ref(), &self.key(name))
                .sign(VALID);
            answered_soon(self.agent.delete(action.as_str()))
        };
        self.answer(name, ask, |_| Ok(()))
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Retries a request if that may help (not reached, broken off, too busy), and parses the
    /// answer with `take`.
    fn answer<T>(
        &self,
        name: &str,
        ask: impl Fn() -> Result<Response<Body>, ureq::Error>,
        take: impl FnMut(&mut Response<Body>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.answer_within(LAST_PAUSE, name, ask, take)
    }

    fn answer_within<T>(
        &self,
        last: Duration,
        name: &str,
        ask: impl Fn() -> Result<Response<Body>, ureq::Error>,
        mut take: impl FnMut(&mut Response<Body>) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut pause = FIRST_PAUSE;
        let silences = Cell::new(0);
        let silent = || {
            silences.set(silences.get() + 1);
            format!(
                "the server is silent: no answer in time to any of {} requests",
                silences.get()
            )
        };
        loop {
            let reason = match ask() {
                Ok(mut answer) if answer.status().is_success() => match take(&mut answer) {
                    Ok(taken) => return Ok(taken),
                    Err(error) if is_timeout(&error) => silent(),
                    Err(error) => error.to_string(),
                },
                Ok(mut answer) => {
                    let (reason, may_help) = refusal(&mut answer);
                    if !may_help {
                        return Err(self.fault(name, &reason));
                    }
                    reason
                }
                Err(ureq::Error::Timeout(_)) => silent(),
                Err(error) => error.to_string(),
            };
            if pause > last || silences.get() >= MAX_TIMEOUTS {
                return Err(self.fault(name, &reason));
            }
            std::thread::sleep(pause);
            pause *= 2;
        }
    }

    fn fault(&self, name: &str, reason: &str) -> io::Error {
        let bucket = self.bucket.name();
        io::Error::other(format!("{SCHEME}{bucket}/{}: {reason}", self.key(name)))
    }
}

/// A request without a body. A server silent for [`SHORT_TIMEOUT`] at any step times out.
fn answered_soon(request: RequestBuilder<WithoutBody>) -> Result<Response<Body>, ureq::Error> {
    let config = request.config();
    let config = config.timeout_connect(Some(SHORT_TIMEOUT));
    config.timeout_per_read(Some(SHORT_TIMEOUT)).build().call()
}

fn is_timeout(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    error.kind() == io::ErrorKind::TimedOut || matches!(inner, Some(ureq::Error::Timeout(_)))
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

/// Returns the reason, and whether a retry may help.
fn refusal(answer: &mut Response<Body>) -> (String, bool) {
    let status = answer.status();
    let text = body(answer, MAX_ERROR_BYTES).unwrap_or_default();
    let code = error_code(&text);
    let may_help = status.is_server_error() || status.as_u16() == 429 || code == Some("RequestTimeout");
    let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
    (format!("HTTP status {status}{code}"), may_help)
}

fn body(answer: &mut Response<Body>, most: u64) -> Result<String, ureq::Error> {
    answer.body_mut().with_config().limit(most).read_to_string()
}

/// The error code of an answer (S3 API Reference, "REST Error Responses").
fn error_code(body: &str) -> Option<&str> {
    let (_, rest) = body.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    code.bytes()
        .all(|byte| byte.is_ascii_alphanumeric())
        .then_some(code)
}

const SCHEME: &str = "s3://";

/// For one request, of up to some hundred megabytes.
const TIMEOUT: Duration = Duration::from_secs(300);

/// For a request that a caller waits for.
const SHORT_TIMEOUT: Duration = match cfg!(test) {
    true => Duration::from_millis(200),
    false => Duration::from_secs(10),
};

const VALID: Duration = Duration::from_secs(600);

/// Gives up after twice [`SHORT_TIMEOUT`].
const MAX_TIMEOUTS: u32 = 2;

const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Longest pause, for half a minute of attempts.
const LAST_PAUSE: Duration = Duration::from_secs(16);

/// Bytes per page of a list: a thousand names of up to a thousand bytes, with attributes.
const MAX_LISTING_BYTES: u64 = 8 << 20;

const MAX_ERROR_BYTES: u64 = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn store_at(listener: &TcpListener) -> ObjectStore {
        let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
        let parsed = endpoint.parse().expect("a URL");
        let bucket = Bucket::new(parsed, UrlStyle::Path, "shop".to_owned(), "us-east-1".to_owned());
        ObjectStore {
            agent: sys::http_client::agent(&endpoint, &PemFiles::default(), TIMEOUT).expect("a client"),
            bucket: bucket.expect("a bucket"),
            credentials: None,
            prefix: String::new(),
        }
    }

    fn is_said_to_be_silent(store: &ObjectStore) {
        let mut file = tempfile::tempfile().expect("a file");
        let errors = [
            store.names("exchanges").err(),
            store.get("exchanges/a", &mut file).err(),
        ];
        for error in errors {
            let text = error.expect("no answer is whole").to_string();
            assert!(text.contains("s3://shop/"), "{text}");
            assert!(
                text.contains("the server is silent: no answer in time to any of 2 requests"),
                "{text}"
            );
        }
    }

    #[test]
    fn a_silent_server_is_given_up_and_said_to_be_silent() {
        // It accepts but never answers.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        is_said_to_be_silent(&store_at(&listener));
        listener.set_nonblocking(true).expect("it does not wait");
        assert_eq!(std::iter::from_fn(|| listener.accept().ok()).count(), 4);
    }

    #[test]
    fn a_server_that_stops_in_the_middle_of_an_answer_is_silent_too() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let store = store_at(&listener);
        let server = std::thread::spawn(move || {
            let answered = |mut stream: TcpStream| {
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab")
                    .expect("it is sent");
                stream
            };
            let streams = listener.incoming().take(4).flatten();
            streams.map(answered).collect::<Vec<_>>()
        });
        is_said_to_be_silent(&store);
        assert_eq!(server.join().expect("it served").len(), 4);
    }
}
