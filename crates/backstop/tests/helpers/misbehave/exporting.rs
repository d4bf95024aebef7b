//! Telemetry, as an agent exports it that is told to by its environment.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use super::processes::linger;

/// What to export.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Exports requests of Claude Code as log records and prints the status of each answer.
    Export {
        /// What a request cost, in dollars; may be repeated.
        #[arg(long)]
        cost: Vec<f64>,
        /// Another request is refused before those.
        #[arg(long)]
        refused: bool,
        /// Uses this in the place of the run's secret.
        #[arg(long)]
        secret: Option<String>,
        /// Stays afterwards instead of ending.
        #[arg(long)]
        stay: bool,
    },
    /// Exports one request by the conventions for generative AI: its metrics, and then its span,
    /// which alone knows how much came from a cache.
    ExportRequest {
        #[arg(long)]
        input: u64,
        #[arg(long)]
        cached: u64,
    },
}

impl Command {
    pub fn run(self) -> io::Result<ExitCode> {
        match self {
            Self::Export { cost, refused, secret, stay } => {
                let collector = Collector::new(secret.as_deref())?;
                let refusal = refused.then(|| ("api_error", REFUSAL.to_owned()));
                let answered = cost.iter().map(|cost| ("api_request", request(*cost)));
                for (sequence, (event, told)) in refusal.into_iter().chain(answered).enumerate() {
                    let now = SystemTime::now().duration_since(UNIX_EPOCH);
                    let nanoseconds = now.map_err(io::Error::other)?.as_nanos();
                    collector.post("logs", &record(nanoseconds, sequence, event, &told))?;
                }
                if stay {
                    linger();
                }
            }
            Self::ExportRequest { input, cached } => {
                let collector = Collector::new(None)?;
                collector.post("metrics", &histogram(input))?;
                collector.post("traces", &span(input, cached))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Who is exported to, as the environment tells.
struct Collector {
    address: String,
    header: String,
}

impl Collector {
    fn new(secret: Option<&str>) -> io::Result<Self> {
        let endpoint = variable("OTEL_EXPORTER_OTLP_ENDPOINT")?;
        let address = endpoint.strip_prefix("http://").unwrap_or(&endpoint).to_owned();
        let header = variable("OTEL_EXPORTER_OTLP_HEADERS")?;
        let (name, told) = header.split_once('=').ok_or_else(|| io::Error::other("no header"))?;
        let header = format!("{name}: {}", secret.unwrap_or(told));
        Ok(Self { address, header })
    }

    /// Exports one body and prints the status of the answer.
    fn post(&self, signal: &str, body: &str) -> io::Result<()> {
        let Self { address, header } = self;
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "POST /v1/{signal} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             {header}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        writeln!(io::stdout(), "{status}")
    }
}

fn variable(name: &str) -> io::Result<String> {
    std::env::var(name).map_err(|_| io::Error::other(format!("{name} is not set")))
}

fn record(nanoseconds: u128, sequence: usize, event: &str, told: &str) -> String {
    format!(
        r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{{
            "timeUnixNano":"{nanoseconds}",
            "body":{{"stringValue":"claude_code.{event}"}},
            "attributes":[
                {{"key":"session.id","value":{{"stringValue":"s1"}}}},
                {{"key":"event.sequence","value":{{"intValue":"{sequence}"}}}},
                {told}
            ]}}]}}]}}]}}"#
    )
}

fn request(cost: f64) -> String {
    format!(
        r#"{{"key":"model","value":{{"stringValue":"claude-opus-4-5"}}}},
            {{"key":"input_tokens","value":{{"intValue":"100"}}}},
            {{"key":"output_tokens","value":{{"intValue":"20"}}}},
            {{"key":"cost_usd","value":{{"doubleValue":{cost}}}}}"#
    )
}

fn histogram(input: u64) -> String {
    format!(
        r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{
            "name":"gen_ai.client.token.usage",
            "histogram":{{"aggregationTemporality":1,"dataPoints":[{{"count":"1","sum":{input},
                "attributes":[{{"key":"gen_ai.token.type","value":{{"stringValue":"input"}}}}]}}]}}
            }}]}}]}}]}}"#
    )
}

fn span(input: u64, cached: u64) -> String {
    format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"1","spanId":"1","attributes":[
            {{"key":"gen_ai.usage.input_tokens","value":{{"intValue":"{input}"}}}},
            {{"key":"gen_ai.usage.cache_read.input_tokens","value":{{"intValue":"{cached}"}}}}
            ]}}]}}]}}]}}"#
    )
}

const REFUSAL: &str = r#"{"key":"status_code","value":{"stringValue":"401"}},
    {"key":"error","value":{"stringValue":"OAuth token has expired"}}"#;
