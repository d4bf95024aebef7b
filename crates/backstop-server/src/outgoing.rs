//! How this service asks other machines.

use std::time::Duration;

use backstop_runner::trust::{self, NobodyTrusted};
use ureq::Agent;

/// A client whose exchanges take no longer than this, from the look-up of the name to the last byte.
pub(crate) fn agent(is_encrypted: bool, exchange: Duration) -> Result<Agent, NobodyTrusted> {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        // Where an answer leads elsewhere, a token must not follow.
        .max_redirects(0)
        .timeout_connect(Some(exchange / 2))
        .timeout_global(Some(exchange))
        .user_agent(concat!("backstop/", env!("CARGO_PKG_VERSION")))
        .tls_config(trust::tls(is_encrypted)?)
        .build();
    Ok(config.into())
}
