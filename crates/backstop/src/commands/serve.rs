//! `backstop serve`: decisions over HTTP.

use std::io::Write as _;

use backstop_server::{CollectorError, ServeError, ServeOptions, TlsError, TlsFiles, serve};
use tokio::signal::unix::{SignalKind, signal};

use super::github;
use super::operate::refuse_if_supervised;
use crate::args::{LogForm, ServeArguments};
use crate::error::Error;
use crate::exit_code;
use crate::store::Opened;
use crate::terminal::Terminal;

#[expect(clippy::exit, reason = "the end of the runtime would wait for what its threads are at")]
pub fn run(arguments: &ServeArguments, terminal: &mut Terminal) -> Result<u8, Error> {
    log_to_standard_error(arguments.log);
    let opened = Opened::with_threads(&arguments.store)?;
    refuse_if_supervised(&opened, "serve")?;
    let options = options(arguments)?;
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    opened.wait(async {
        // Before anybody can be told that it listens.
        let mut end = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let running = serve(options, opened.store.clone(), opened.home.clone()).await?;
        writeln!(terminal.out, "listening on {scheme}://{}", running.address)?;
        terminal.out.flush()?;
        tokio::select! {
            _ = end.recv() => {}
            _ = interrupt.recv() => {}
        }
        // Whoever says it a second time does not want to wait for what was begun.
        tokio::select! {
            () = running.shutdown() => return Ok(exit_code::OK),
            _ = end.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::warn!("told to end a second time: what was begun is cut off");
        terminal.out.flush()?;
        std::process::exit(exit_code::OK.into())
    })
}

fn options(arguments: &ServeArguments) -> Result<ServeOptions, Error> {
    let mut options = ServeOptions::new(arguments.listen);
    options.allowed_hosts.clone_from(&arguments.allow_host);
    options.allowed_origins.clone_from(&arguments.allow_origin);
    options.insecure = arguments.insecure;
    options.otlp.clone_from(&arguments.otlp);
    options.tls = arguments
        .tls_cert
        .clone()
        .zip(arguments.tls_key.clone())
        .map(|(certificate, key)| TlsFiles { certificate, key });
    if let Some(rate) = arguments.rate {
        options.limits.requests_per_second = Some(rate);
    }
    options.github = github::known(&arguments.github)?;
    Ok(options)
}

/// Lines about what the server does; `RUST_LOG` says how much.
fn log_to_standard_error(form: LogForm) {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match form {
        LogForm::Text => log.with_ansi(false).init(),
        LogForm::Json => log.json().init(),
    }
}

impl From<ServeError> for Error {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Store(error) => Self::Store(error),
            ServeError::NoToken { .. }
            | ServeError::NoTls { .. }
            | ServeError::Collector(CollectorError::Address(_)) => Self::Usage(error.to_string()),
            ServeError::Tls(TlsError::Unreadable { .. }) => Self::Missing(error.to_string()),
            ServeError::Tls(
                TlsError::Absent { path: ref place, .. }
                | TlsError::Unusable { certificate: ref place, .. },
            ) => Self::BadData { place: place.clone(), message: error.to_string() },
            other => Self::Unreachable(other.to_string()),
        }
    }
}
