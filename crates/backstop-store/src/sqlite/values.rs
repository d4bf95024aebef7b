//! What is bound to a statement, and what a row of the appender's connection holds.

use rusqlite::types::{FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Row, Statement};

use crate::row::{Cells, Unreadable};

pub fn text(text: Option<&str>) -> ValueRef<'_> {
    text.map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes()))
}

pub fn integer(number: Option<i64>) -> ValueRef<'static> {
    number.map_or(ValueRef::Null, ValueRef::Integer)
}

/// Binds values behind so many that are bound already.
pub fn bind(
    statement: &mut Statement<'_>,
    before: usize,
    values: &[ValueRef<'_>],
) -> rusqlite::Result<()> {
    for (place, value) in (before + 1..).zip(values) {
        statement.raw_bind_parameter(place, ToSqlOutput::Borrowed(*value))?;
    }
    Ok(())
}

impl Cells for Row<'_> {
    fn text(&self, column: &str) -> Result<&str, Unreadable> {
        cell(self, column, ValueRef::as_str)
    }

    fn optional_text(&self, column: &str) -> Result<Option<&str>, Unreadable> {
        cell(self, column, ValueRef::as_str_or_null)
    }

    fn number(&self, column: &str) -> Result<i64, Unreadable> {
        cell(self, column, ValueRef::as_i64)
    }

    fn optional_number(&self, column: &str) -> Result<Option<i64>, Unreadable> {
        cell(self, column, ValueRef::as_i64_or_null)
    }

    fn flag(&self, column: &str) -> Result<bool, Unreadable> {
        self.number(column).map(|number| number != 0)
    }

    fn bytes(&self, column: &str) -> Result<Vec<u8>, Unreadable> {
        cell(self, column, ValueRef::as_blob).map(<[u8]>::to_vec)
    }
}

fn cell<'row, T>(
    row: &'row Row<'_>,
    column: &str,
    read: impl FnOnce(&ValueRef<'row>) -> FromSqlResult<T>,
) -> Result<T, Unreadable> {
    let value = row.get_ref(column).map_err(|error| Unreadable(error.to_string()))?;
    read(&value).map_err(|error: FromSqlError| Unreadable(format!("`{column}`: {error}")))
}
