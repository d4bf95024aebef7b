//! What SQLite's failures mean.

use std::io;
use std::path::Path;

use backstop_core::id::RunId;

use crate::StoreError;
use crate::row::Unreadable;

/// A failure of SQLite or of the library in front of it.
#[derive(Clone, Debug)]
pub struct Fault {
    /// SQLite's extended result code, where it was SQLite that failed.
    code: Option<i32>,
    text: String,
}

impl Fault {
    pub fn of_damage(text: String) -> Self {
        Self { code: Some(CORRUPT), text }
    }

    /// What becomes of writes is as unknown as where the disk itself refuses.
    pub fn of_disk(text: String) -> Self {
        Self { code: Some(IO), text }
    }

    /// A file could not be looked at. That may be over with the next call.
    pub fn of_look(path: &Path, error: &io::Error) -> Self {
        Self { code: None, text: format!("`{}` can't be looked at: {error}", path.display()) }
    }

    fn of_sqlite(code: Option<i32>, text: String) -> Self {
        // The log's index could not grow: there was no room, and nothing is lost.
        let code = code.map(|code| if code == INDEX_CANNOT_GROW { FULL } else { code });
        Self { code, text }
    }

    /// Somebody else is writing; the same may succeed later.
    pub fn is_busy(&self) -> bool {
        matches!(self.primary(), Some(BUSY | LOCKED | PROTOCOL))
    }

    /// What a write failed with.
    pub fn of_write(self) -> StoreError {
        match self.primary() {
            Some(FULL) => StoreError::Full(self.text),
            Some(READ_ONLY) => StoreError::ReadOnly(self.text),
            Some(CORRUPT | NOT_A_DATABASE) => StoreError::Damaged(self.text),
            Some(BUSY | LOCKED | PROTOCOL) => StoreError::Write(format!(
                "others have kept it busy for over a minute ({})",
                self.text
            )),
            _ => StoreError::Write(self.text),
        }
    }

    /// What a write about one run failed with.
    pub fn of_write_for(self, run: RunId) -> StoreError {
        match self.code {
            Some(CONSTRAINT_TRIGGER) if self.text == FENCED => StoreError::Fenced { run },
            Some(CONSTRAINT_FOREIGN_KEY) => StoreError::NoRun(run),
            _ => self.of_write(),
        }
    }

    /// What a read failed with.
    pub fn of_read(self) -> StoreError {
        match self.primary() {
            Some(CORRUPT | NOT_A_DATABASE) => StoreError::Damaged(self.text),
            _ => StoreError::Read(self.text),
        }
    }

    /// What opening the store at a place failed with.
    pub fn of_open(self, place: &str) -> StoreError {
        match self.primary() {
            Some(FULL) => StoreError::Full(self.text),
            Some(CORRUPT | NOT_A_DATABASE) => {
                StoreError::Damaged(format!("`{place}`: {}", self.text))
            }
            _ => StoreError::Open { place: place.to_owned(), cause: self.text },
        }
    }

    /// The disk itself refused. After that nobody knows what of the last writes is there: what was
    /// not synced may be gone from the cache, and a second attempt would seem to succeed.
    pub fn is_of_disk(&self) -> bool {
        self.primary() == Some(IO)
    }

    /// After this nothing more can be done in the transaction that met it, or nothing should be.
    pub fn spoils_transaction(&self) -> bool {
        self.is_of_disk() || self.is_of_room()
    }

    /// What was begun can't be done a second time.
    pub fn of_repetition() -> Self {
        Self { code: None, text: "it was cut off and can't be repeated".to_owned() }
    }

    /// A reference to something that is not there.
    pub fn is_missing_reference(&self) -> bool {
        self.code == Some(CONSTRAINT_FOREIGN_KEY)
    }

    /// A request that was taken in before.
    pub fn is_of_receipt(&self) -> bool {
        self.code == Some(CONSTRAINT_PRIMARY_KEY) && self.text.contains("receipts.key")
    }

    /// Messages were left before under this key.
    pub fn is_of_message_key(&self) -> bool {
        self.code == Some(CONSTRAINT_UNIQUE) && self.text.contains("inbox.key")
    }

    /// A row of the audit was to follow one that is no longer the last.
    pub fn is_of_audit_order(&self) -> bool {
        self.code == Some(CONSTRAINT_TRIGGER) && self.text == NOT_NEXT
    }

    /// There was no room. The transaction is undone then, which the library in front of SQLite does
    /// not notice.
    pub fn is_of_room(&self) -> bool {
        self.primary() == Some(FULL)
    }

    fn primary(&self) -> Option<i32> {
        self.code.map(|code| code & 0xFF)
    }
}

impl From<Unreadable> for Fault {
    fn from(Unreadable(text): Unreadable) -> Self {
        Self::of_damage(text)
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(error) => {
                let code = error.code().and_then(|code| code.parse().ok());
                Self::of_sqlite(code, error.message().to_owned())
            }
            // What the database holds is not what a store has.
            sqlx::Error::ColumnDecode { source, .. } | sqlx::Error::Decode(source) => {
                Self { code: Some(CORRUPT), text: source.to_string() }
            }
            other => Self { code: None, text: other.to_string() },
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::SqliteFailure(failure, text) => {
                let text = text.unwrap_or_else(|| failure.to_string());
                Self::of_sqlite(Some(failure.extended_code), text)
            }
            other => Self { code: None, text: other.to_string() },
        }
    }
}

/// What the trigger says when the writer's epoch is over.
const FENCED: &str = "fenced";
/// What another one says when a row of the audit is not the next.
const NOT_NEXT: &str = "the audit is append-only: a row follows the last one";

/// Result codes: <https://www.sqlite.org/rescode.html>.
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READ_ONLY: i32 = 8;
const IO: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const PROTOCOL: i32 = 15;
const NOT_A_DATABASE: i32 = 26;
const CONSTRAINT_FOREIGN_KEY: i32 = 787;
const CONSTRAINT_PRIMARY_KEY: i32 = 1555;
const CONSTRAINT_TRIGGER: i32 = 1811;
const CONSTRAINT_UNIQUE: i32 = 2067;
const INDEX_CANNOT_GROW: i32 = 4874;

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_database_that_nobody_may_write_is_said_to_be_one() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("PRAGMA query_only = ON").unwrap();
        let refused = connection.execute_batch("CREATE TABLE x (y)").unwrap_err();
        let error = Fault::from(refused).of_write();
        assert!(matches!(error, StoreError::ReadOnly(_)), "{error:?}");
        assert!(error.to_string().contains("readonly database"), "{error}");
    }
}
