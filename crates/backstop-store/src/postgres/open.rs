//! Opening a store on a server.

use std::fmt;
use std::str::FromStr as _;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

use super::client::Client;
use super::{PostgresStore, schema};
use crate::StoreError;

/// The URL of a database. What it says of passwords is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerUrl {
    text: String,
    shown: String,
}

impl ServerUrl {
    /// Reads a URL.
    ///
    /// # Errors
    /// It is none of PostgreSQL's.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let options = PgConnectOptions::from_str(text).map_err(|error| {
            // The library's words may quote the URL; these name only what kind of thing is wrong.
            let why = match error {
                sqlx::Error::Configuration(_) => "it can't be read as a URL of PostgreSQL",
                _ => "it names something that can't be used",
            };
            StoreError::Location { place: "postgres://…".to_owned(), why: why.to_owned() }
        })?;
        let host = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        let database = options.get_database().unwrap_or_else(|| options.get_username());
        let shown = format!("postgres://{}@{host}/{database}", options.get_username());
        Ok(Self { text: text.to_owned(), shown })
    }

    fn options(&self) -> Result<PgConnectOptions, StoreError> {
        let options = PgConnectOptions::from_str(&self.text).map_err(|_| StoreError::Location {
            place: self.shown.clone(),
            why: "it can't be read as a URL of PostgreSQL".to_owned(),
        })?;
        Ok(options
            .application_name("backstop")
            // Poolers know neither a setting of the session nor a statement that was prepared.
            .extra_float_digits(None)
            .statement_cache_capacity(0)
            .disable_statement_logging())
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shown, f)
    }
}

impl PostgresStore {
    /// Whether a database has the tables of a store, of whatever version.
    ///
    /// # Errors
    /// A server that can't be reached.
    pub async fn is_there(url: &ServerUrl) -> Result<bool, StoreError> {
        let client = Client::new(url.options()?);
        schema::has_version(&client).await.map_err(|fault| fault.of_open(&url.to_string()))
    }

    /// Opens the store in a database, and creates the tables that are missing. When this returns,
    /// the store can be written.
    ///
    /// # Errors
    /// A server that can't be reached or is too old, a database that can't be written or is from a
    /// newer version.
    pub async fn open(url: &ServerUrl) -> Result<Self, StoreError> {
        let place = url.to_string();
        let client = Client::new(url.options()?);
        schema::prepare(&client, &place).await?;
        // A row lock needs a server that is not a read-only copy, and changes nothing.
        let probe = "SELECT version FROM backstop_schema FOR UPDATE".to_owned();
        let probed = client.write(super::client::Again::Harmless, Ok(probe)).await;
        probed.map_err(|fault| fault.of_open(&place))?;
        Ok(Self::new(place, client))
    }
}
