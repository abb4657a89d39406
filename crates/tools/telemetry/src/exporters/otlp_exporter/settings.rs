//! Target and schedule of exports: OpenTelemetry's variables (its specification, "OTLP Exporter
//! Configuration" and "SDK environment variables"), and explicit settings.

use crate::exporters::error::Error;
use crate::otlp::{HistogramKind, MetricsOptions, ResourceAttributes, TraceOptions};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;
use sys::http_client::PemFiles;

#[derive(Debug, Clone)]
pub struct OtlpSettings {
    pub metrics: OtlpTarget,
    pub traces: OtlpTarget,
    pub resource: ResourceAttributes,
    pub metrics_options: MetricsOptions,
    pub interval: Duration,
    /// `None` turns traces off.
    pub trace_options: Option<TraceOptions>,
    /// Further spans are dropped.
    pub most_waiting: usize,
    pub batch: usize,
    pub batch_delay: Duration,
    pub tls: PemFiles,
}

#[derive(Clone)]
pub struct OtlpTarget {
    pub url: String,
    /// Header fields of every request; they may hold secrets.
    pub headers: Vec<(String, String)>,
    pub gzip: bool,
    /// For a single attempt.
    pub timeout: Duration,
}

impl OtlpTarget {
    /// The URL without user, password and query, which may hold secrets.
    pub fn shown(&self) -> String {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        match url.split_once("://") {
            Some((scheme, rest)) => {
                let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = host.rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}{path}")
            }
            None => url.to_owned(),
        }
    }
}

impl fmt::Debug for OtlpTarget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OtlpTarget")
            .field("url", &self.shown())
            .finish_non_exhaustive()
    }
}

/// Returns the value of a variable; `None` if it is unset or empty, which are equal.
type Variables<'v> = &'v dyn Fn(&str) -> Option<String>;

impl OtlpSettings {
    /// `endpoint` overrides the variables. `host` is this host's name.
    ///
    /// # Errors
    /// If a value is invalid or unsupported: gRPC, JSON, delta.
    pub fn of_variables(
        endpoint: Option<&str>,
        host: Option<&str>,
        variables: Variables<'_>,
    ) -> Result<Self, Error> {
        let interval = milliseconds(variables, "OTEL_METRIC_EXPORT_INTERVAL", Duration::from_secs(60))?;
        choice(
            variables,
            "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
            &[("cumulative", ())],
            (),
        )?;
        let histograms = choice(
            variables,
            "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
            &[
                ("explicit_bucket_histogram", HistogramKind::Explicit),
                ("base2_exponential_bucket_histogram", HistogramKind::Exponential),
            ],
            HistogramKind::Explicit,
        )?;
        Ok(Self {
            metrics: target(endpoint, "METRICS", variables)?,
            traces: target(endpoint, "TRACES", variables)?,
            resource: resource(host, variables)?,
            metrics_options: MetricsOptions {
                histograms,
                keep_text: false,
            },
            interval: interval.max(Duration::from_millis(100)),
            trace_options: None,
            most_waiting: count(variables, "OTEL_BSP_MAX_QUEUE_SIZE", 2048)?,
            batch: count(variables, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?,
            batch_delay: milliseconds(variables, "OTEL_BSP_SCHEDULE_DELAY", Duration::from_secs(5))?,
            tls: tls(variables),
        })
    }
}

fn target(endpoint: Option<&str>, signal: &str, variables: Variables<'_>) -> Result<OtlpTarget, Error> {
    let of_signal = |name: &str| variables(&format!("OTEL_EXPORTER_OTLP_{signal}_{name}"));
    let either = |name: &str| of_signal(name).or_else(|| variables(&format!("OTEL_EXPORTER_OTLP_{name}")));
    let path = match signal {
        "METRICS" => "v1/metrics",
        _ => "v1/traces",
    };
    let base = endpoint
        .map(str::to_owned)
        .or_else(|| variables("OTEL_EXPORTER_OTLP_ENDPOINT"));
    let url = match (endpoint, of_signal("ENDPOINT")) {
        // A signal's own endpoint is used unchanged.
        (None, Some(url)) => url,
        _ => {
            let base = base.unwrap_or_else(|| "http://localhost:4318".to_owned());
            format!("{}/{path}", base.trim_end_matches('/'))
        }
    };
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(Error::SecretSetting {
            name: "the endpoint of OTLP".to_owned(),
            expected: "it is a URL that begins with http:// or https://, as http://collector:4318",
        });
    }
    let protocol = either("PROTOCOL");
    if let Some(protocol) = protocol.filter(|protocol| protocol != "http/protobuf") {
        return Err(Error::Setting {
            name: format!("OTEL_EXPORTER_OTLP_PROTOCOL (or OTEL_EXPORTER_OTLP_{signal}_PROTOCOL)"),
            value: protocol,
            expected: "longwire speaks http/protobuf alone, which collectors take at port 4318",
        });
    }
    let compression = either("COMPRESSION").unwrap_or_else(|| "gzip".to_owned());
    if !["gzip", "none"].contains(&compression.as_str()) {
        return Err(Error::Setting {
            name: format!("OTEL_EXPORTER_OTLP_COMPRESSION (or OTEL_EXPORTER_OTLP_{signal}_COMPRESSION)"),
            value: compression,
            expected: "it is gzip or none",
        });
    }
    let mut fields = headers(variables, "OTEL_EXPORTER_OTLP_HEADERS")?;
    for (name, value) in headers(variables, &format!("OTEL_EXPORTER_OTLP_{signal}_HEADERS"))? {
        fields.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        fields.push((name, value));
    }
    let usual = milliseconds(variables, "OTEL_EXPORTER_OTLP_TIMEOUT", Duration::from_secs(10))?;
    Ok(OtlpTarget {
        url,
        headers: fields,
        gzip: compression == "gzip",
        timeout: milliseconds(variables, &format!("OTEL_EXPORTER_OTLP_{signal}_TIMEOUT"), usual)?,
    })
}

/// Parses `name=value,...` with percent-encoded values (W3C Baggage).
fn headers(variables: Variables<'_>, name: &str) -> Result<Vec<(String, String)>, Error> {
    let text = variables(name).unwrap_or_default();
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let parsed = pairs.map(|pair| {
        let (key, value) = pair.split_once('=')?;
        let (key, value) = (key.trim(), decoded(value.trim())?);
        let is_token = !key.is_empty()
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        let is_value = value.chars().all(|sign| !sign.is_control());
        (is_token && is_value).then(|| (key.to_owned(), value))
    });
    parsed
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| Error::SecretSetting {
            name: name.to_owned(),
            expected: "it is NAME=VALUE,NAME=VALUE with percent-encoded values",
        })
}

fn resource(host: Option<&str>, variables: Variables<'_>) -> Result<ResourceAttributes, Error> {
    let mut all = vec![
        ("service.name".to_owned(), "longwire".to_owned()),
        ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
    ];
    all.extend(host.map(|host| ("host.name".to_owned(), host.to_owned())));
    let given = headers(variables, "OTEL_RESOURCE_ATTRIBUTES")?;
    let named = variables("OTEL_SERVICE_NAME").map(|name| ("service.name".to_owned(), name));
    for (key, value) in given.into_iter().chain(named) {
        all.retain(|(known, _)| *known != key);
        all.push((key, value));
    }
    Ok(ResourceAttributes(all))
}

fn tls(variables: Variables<'_>) -> PemFiles {
    let file = |name: &str| variables(name).map(PathBuf::from);
    PemFiles {
        authorities: file("OTEL_EXPORTER_OTLP_CERTIFICATE"),
        identity: file("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE").zip(file("OTEL_EXPORTER_OTLP_CLIENT_KEY")),
    }
}

fn milliseconds(variables: Variables<'_>, name: &str, usual: Duration) -> Result<Duration, Error> {
    let Some(text) = variables(name) else {
        return Ok(usual);
    };
    let parsed = text.parse().map(Duration::from_millis);
    parsed.map_err(|_| Error::Setting {
        name: name.to_owned(),
        value: text,
        expected: "it is a number of milliseconds",
    })
}

fn count(variables: Variables<'_>, name: &str, usual: usize) -> Result<usize, Error> {
    let Some(text) = variables(name) else {
        return Ok(usual);
    };
    let parsed = text.parse().ok().filter(|count| *count > 0);
    parsed.ok_or_else(|| Error::Setting {
        name: name.to_owned(),
        value: text,
        expected: "it is a number above 0",
    })
}

fn choice<T: Copy>(variables: Variables<'_>, name: &str, known: &[(&str, T)], usual: T) -> Result<T, Error> {
    let Some(text) = variables(name) else {
        return Ok(usual);
    };
    let found = known.iter().find(|(word, _)| word.eq_ignore_ascii_case(&text));
    found.map(|(_, choice)| *choice).ok_or_else(|| Error::Setting {
        name: name.to_owned(),
        value: text,
        expected: match known.len() {
            1 => "longwire exports sums since the beginning: cumulative",
            _ => "it is explicit_bucket_histogram or base2_exponential_bucket_histogram",
        },
    })
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(endpoint: Option<&str>, set: &[(&str, &str)]) -> Result<OtlpSettings, Error> {
        OtlpSettings::of_variables(endpoint, Some("db1"), &|name| {
            let found = set.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn endpoints_follow_the_specification() {
        let urls = |endpoint, set: &[_]| {
            let settings = settings(endpoint, set).expect("they are understood");
            [settings.metrics.url, settings.traces.url]
        };
        assert_eq!(
            urls(None, &[]),
            [
                "http://localhost:4318/v1/metrics",
                "http://localhost:4318/v1/traces"
            ]
        );
        let set = [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c:4318/otlp/"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/x"),
        ];
        assert_eq!(urls(None, &set), ["https://c:4318/otlp/v1/metrics", "http://t/x"]);
        assert_eq!(
            urls(Some("http://here:1"), &set),
            ["http://here:1/v1/metrics", "http://here:1/v1/traces"]
        );
    }

    #[test]
    fn headers_and_resources_are_decoded_and_a_signals_own_come_first() {
        let found = settings(
            None,
            &[
                ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20YTpi, x-a=1"),
                ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "X-A=2"),
                (
                    "OTEL_RESOURCE_ATTRIBUTES",
                    "service.name=shop,deployment.environment.name=prod",
                ),
            ],
        )
        .expect("they are understood");
        let has = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            found.metrics.headers,
            [has("Authorization", "Basic YTpi"), has("X-A", "2")]
        );
        assert_eq!(
            found.traces.headers,
            [has("Authorization", "Basic YTpi"), has("x-a", "1")]
        );
        assert!(found.resource.0.contains(&has("service.name", "shop")));
        assert!(found.resource.0.contains(&has("host.name", "db1")));
    }

    #[test]
    fn what_cannot_be_done_is_refused_without_showing_secrets() {
        for (name, value, says) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "4318"),
            (
                "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
                "delta",
                "cumulative",
            ),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1m", "milliseconds"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "hunter2", "NAME=VALUE"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317", "http://"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "gzip"),
        ] {
            let error = settings(None, &[(name, value)])
                .expect_err("it is refused")
                .to_string();
            assert!(error.contains(says), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
        let target = settings(Some("https://me:hunter2@c/otlp?key=hunter2"), &[])
            .expect("a URL")
            .metrics;
        assert!(!format!("{target:?}").contains("hunter2"));
    }
}
