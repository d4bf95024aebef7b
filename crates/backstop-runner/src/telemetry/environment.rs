//! What tells a command to export its telemetry, and where to.

use std::ffi::OsString;
use std::net::SocketAddr;

/// Variables for the command, and what the user should know of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Environment {
    pub variables: Vec<(OsString, OsString)>,
    pub notes: Vec<String>,
}

impl Environment {
    /// `given` is the environment that the command would have without this.
    pub fn new(
        address: SocketAddr,
        secret: &str,
        given: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let mut variables: Vec<(OsString, OsString)> = Vec::new();
        let mut set = |name: String, value: String| variables.push((name.into(), value.into()));
        set("CLAUDE_CODE_ENABLE_TELEMETRY".to_owned(), "1".to_owned());
        for name in ["OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"] {
            set(name.to_owned(), with_otlp(given(name)));
        }
        set("OTEL_METRIC_EXPORT_INTERVAL".to_owned(), "5000".to_owned());
        set("OTEL_LOGS_EXPORT_INTERVAL".to_owned(), "1000".to_owned());
        let endpoint = format!("http://{address}");
        let header = format!("{SECRET_HEADER}={secret}");
        let mut notes = Vec::new();
        for (signal, path) in SIGNALS {
            for (what, value) in [
                ("ENDPOINT", format!("{endpoint}{path}")),
                ("PROTOCOL", "http/json".to_owned()),
                ("HEADERS", header.clone()),
                ("COMPRESSION", "none".to_owned()),
            ] {
                let name = format!("OTEL_EXPORTER_OTLP_{signal}{what}");
                let replaced = given(&name);
                if what == "ENDPOINT"
                    && let Some(replaced) = &replaced
                {
                    let replaced = replaced.to_string_lossy();
                    notes.push(format!("telemetry comes here, and not to `{replaced}` ({name})"));
                }
                // What is said of one signal goes before what is said of all.
                if signal.is_empty() || replaced.is_some() {
                    set(name, value);
                }
            }
        }
        Self { variables, notes }
    }
}

/// Exporters that the user wants are kept.
fn with_otlp(given: Option<OsString>) -> String {
    let given = given.unwrap_or_default().to_string_lossy().into_owned();
    let kept = given.split(',').map(str::trim);
    let kept = kept.filter(|name| !matches!(*name, "" | "none" | "otlp"));
    kept.chain(["otlp"]).collect::<Vec<_>>().join(",")
}

/// Which signal a variable is about, and where its own endpoint is.
const SIGNALS: [(&str, &str); 4] =
    [("", ""), ("METRICS_", "/v1/metrics"), ("LOGS_", "/v1/logs"), ("TRACES_", "/v1/traces")];

/// A header of our own, since a value with a blank (`Bearer …`) is written in different ways.
pub(super) const SECRET_HEADER: &str = "x-backstop-token";

#[cfg(test)]
mod tests {
    use super::*;

    fn with(given: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let address = SocketAddr::from(([127, 0, 0, 1], 4318));
        let look = |name: &str| {
            given.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        };
        let Environment { variables, notes } = Environment::new(address, "s3cret", look);
        let lines = variables
            .iter()
            .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
        (lines.collect(), notes)
    }

    #[test]
    fn a_command_is_told_everything() {
        let (variables, notes) = with(&[]);
        assert_eq!(
            variables,
            [
                "CLAUDE_CODE_ENABLE_TELEMETRY=1",
                "OTEL_METRICS_EXPORTER=otlp",
                "OTEL_LOGS_EXPORTER=otlp",
                "OTEL_METRIC_EXPORT_INTERVAL=5000",
                "OTEL_LOGS_EXPORT_INTERVAL=1000",
                "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318",
                "OTEL_EXPORTER_OTLP_PROTOCOL=http/json",
                "OTEL_EXPORTER_OTLP_HEADERS=x-backstop-token=s3cret",
                "OTEL_EXPORTER_OTLP_COMPRESSION=none",
            ]
        );
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn what_the_user_has_set_is_kept_or_replaced_and_named() {
        let (variables, notes) = with(&[
            ("OTEL_METRICS_EXPORTER", "prometheus, console"),
            ("OTEL_LOGS_EXPORTER", "none"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
            ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://logs:4318/v1/logs"),
            ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "grpc"),
        ]);
        for expected in [
            "OTEL_METRICS_EXPORTER=prometheus,console,otlp",
            "OTEL_LOGS_EXPORTER=otlp",
            "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=http://127.0.0.1:4318/v1/logs",
            "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/json",
        ] {
            assert!(variables.iter().any(|line| line == expected), "{expected}: {variables:?}");
        }
        assert_eq!(
            notes,
            [
                "telemetry comes here, and not to `http://collector:4318` \
                 (OTEL_EXPORTER_OTLP_ENDPOINT)",
                "telemetry comes here, and not to `http://logs:4318/v1/logs` \
                 (OTEL_EXPORTER_OTLP_LOGS_ENDPOINT)",
            ]
        );
    }
}
