//! What PostgreSQL's failures mean.

use backstop_core::id::RunId;

use crate::StoreError;
use crate::row::Unreadable;

/// A failure of the server, of the way to it, or of what it holds.
#[derive(Clone, Debug)]
pub struct Fault {
    kind: Kind,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// The server has refused, with its code.
    Refused(String),
    /// No connection was to be had: nothing was sent.
    Unreachable,
    /// The connection broke: nobody knows whether what was sent was done.
    Lost,
    Damage,
    Other,
}

impl Fault {
    pub fn of_text(text: String) -> Self {
        Self { kind: Kind::Other, text }
    }

    pub fn of_damage(text: String) -> Self {
        Self { kind: Kind::Damage, text }
    }

    /// The server does not answer.
    pub fn of_silence() -> Self {
        Self { kind: Kind::Lost, text: "the database does not answer".to_owned() }
    }

    /// A connection could not be had.
    pub fn of_connecting(error: sqlx::Error) -> Self {
        let fault = Self::from(error);
        match fault.kind {
            // Shutting down or starting up: it may be there again soon.
            Kind::Refused(code) if is_of_shutdown(&code) => {
                Self { kind: Kind::Unreachable, text: fault.text }
            }
            Kind::Lost => Self { kind: Kind::Unreachable, text: fault.text },
            _ => fault,
        }
    }

    /// Nothing was sent; the same may succeed later.
    pub fn is_unreachable(&self) -> bool {
        self.kind == Kind::Unreachable
    }

    /// Nobody knows whether it was done.
    pub fn is_unknown(&self) -> bool {
        self.kind == Kind::Lost
    }

    /// The server has refused and lives: the connection can be used again.
    pub fn is_refusal(&self) -> bool {
        matches!(self.kind, Kind::Refused(_))
    }

    pub fn is_missing_reference(&self) -> bool {
        self.has_code(FOREIGN_KEY)
    }

    /// A request that was taken in before.
    pub fn is_of_receipt(&self) -> bool {
        self.has_code(REPEATED)
    }

    /// Something is there already under this key.
    pub fn is_of_unique_key(&self) -> bool {
        self.has_code(UNIQUE)
    }

    /// An event that does not follow the last one.
    pub fn is_of_order(&self) -> bool {
        self.has_code(OUT_OF_ORDER)
    }

    /// A table that is not there.
    pub fn is_missing_table(&self) -> bool {
        self.has_code(UNDEFINED_TABLE)
    }

    pub fn of_write(self) -> StoreError {
        match self.kind {
            Kind::Damage => StoreError::Damaged(self.text),
            Kind::Refused(code) if code == DISK_FULL => StoreError::Full(self.text),
            Kind::Refused(code) if DAMAGE.contains(&code.as_str()) => {
                StoreError::Damaged(self.text)
            }
            Kind::Lost => StoreError::Write(format!(
                "the connection to the database was lost, and whether it was written is not known \
                 ({})",
                self.text
            )),
            Kind::Unreachable => {
                StoreError::Write(format!("the database can't be reached ({})", self.text))
            }
            _ => StoreError::Write(self.text),
        }
    }

    /// What a write about one run failed with.
    pub fn of_write_for(self, run: RunId) -> StoreError {
        match &self.kind {
            Kind::Refused(code) if code == FENCED => StoreError::Fenced { run },
            Kind::Refused(code) if code == NO_RUN || code == FOREIGN_KEY => StoreError::NoRun(run),
            _ => self.of_write(),
        }
    }

    pub fn of_read(self) -> StoreError {
        match self.kind {
            Kind::Damage => StoreError::Damaged(self.text),
            Kind::Refused(code) if DAMAGE.contains(&code.as_str()) => {
                StoreError::Damaged(self.text)
            }
            Kind::Lost | Kind::Unreachable => {
                StoreError::Read(format!("the database can't be reached ({})", self.text))
            }
            _ => StoreError::Read(self.text),
        }
    }

    pub fn of_open(self, place: &str) -> StoreError {
        match self.kind {
            Kind::Damage => StoreError::Damaged(format!("`{place}`: {}", self.text)),
            Kind::Refused(code) if code == DISK_FULL => StoreError::Full(self.text),
            _ => StoreError::Open { place: place.to_owned(), cause: self.text },
        }
    }

    fn has_code(&self, wanted: &str) -> bool {
        matches!(&self.kind, Kind::Refused(code) if code == wanted)
    }
}

impl From<Unreadable> for Fault {
    fn from(Unreadable(text): Unreadable) -> Self {
        Self::of_damage(text)
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        let text = match &error {
            sqlx::Error::Database(error) => error.message().to_owned(),
            sqlx::Error::PoolTimedOut => "it gave no connection within 5 seconds".to_owned(),
            other => other.to_string(),
        };
        let kind = match &error {
            sqlx::Error::Database(error) => match error.code() {
                Some(code) if is_of_connection(&code) => Kind::Lost,
                code => Kind::Refused(code.unwrap_or_default().into_owned()),
            },
            sqlx::Error::PoolTimedOut => Kind::Unreachable,
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::WorkerCrashed => {
                Kind::Lost
            }
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => Kind::Damage,
            _ => Kind::Other,
        };
        Self { kind, text }
    }
}

/// Whether who was asked for a connection will never give one that is asked for like this: a pooler
/// says so of parameters that it does not know.
pub fn is_refused_for_good(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    !error.code().is_some_and(|code| is_of_shutdown(&code))
}

/// The server ends the connection, and with it whatever was under way.
fn is_of_connection(code: &str) -> bool {
    code.starts_with("08") || is_of_shutdown(code)
}

fn is_of_shutdown(code: &str) -> bool {
    matches!(code, "57P01" | "57P02" | "57P03" | "57P05" | "53300")
}

/// Codes of our own functions.
const FENCED: &str = "BK001";
const OUT_OF_ORDER: &str = "BK002";
const REPEATED: &str = "BK003";
const NO_RUN: &str = "BK004";

/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
const FOREIGN_KEY: &str = "23503";
const UNIQUE: &str = "23505";
const UNDEFINED_TABLE: &str = "42P01";
const DISK_FULL: &str = "53100";
const DAMAGE: [&str; 2] = ["XX001", "XX002"];
