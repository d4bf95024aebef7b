//! Rows as they are kept, for moving a store.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::client::{Again, Client, Limit};
use super::fault::Fault;
use super::sql::Value;
use crate::StoreError;
use crate::table::{Cell, Kind, RawRow, Table};

pub async fn export(
    client: &Client,
    table: &'static Table,
    after: Option<&RawRow>,
    limit: u32,
) -> Result<Vec<RawRow>, StoreError> {
    read_page(client, table, after, limit).await.map_err(Fault::of_read)
}

async fn read_page(
    client: &Client,
    table: &'static Table,
    after: Option<&RawRow>,
    limit: u32,
) -> Result<Vec<RawRow>, Fault> {
    let (columns, key) = (table.list(), table.key_list());
    let condition = match after {
        Some(after) => {
            let key_of_row = row_of(table, &after[..table.key.min(after.len())])?;
            format!("WHERE ({key}) > ({key_of_row})")
        }
        None => String::new(),
    };
    let select =
        format!("SELECT {columns} FROM {} {condition} ORDER BY {key} LIMIT {limit}", table.name);
    let rows = client.read(&select, Limit::LONG).await?;
    let read = |row: &PgRow| {
        let cells = table.columns.iter().enumerate();
        cells.map(|(place, (_, kind))| read(row, place, *kind)).collect::<Result<RawRow, _>>()
    };
    Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
}

pub async fn import(
    client: &Client,
    table: &'static Table,
    rows: &[RawRow],
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    client.write(Again::Never, insert(table, rows)).await.map(drop).map_err(Fault::of_write)
}

fn insert(table: &'static Table, rows: &[RawRow]) -> Result<String, Fault> {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| Ok(format!("({})", row_of(table, row)?)))
        .collect::<Result<_, Fault>>()?;
    let name = table.name;
    let mut sql = format!("INSERT INTO {name} ({}) VALUES {}", table.list(), rows.join(", "));
    if table.numbered {
        // The next number that is given follows these.
        sql += &format!(
            "; SELECT setval(pg_get_serial_sequence('{name}', 'number'), max(number)) FROM {name}"
        );
    }
    if let Some(filled) = table.fills {
        sql += &format!("; DELETE FROM {filled}");
    }
    Ok(sql)
}

/// Cells of a row, from the first on, as in a statement.
fn row_of(table: &Table, cells: &[Cell]) -> Result<String, Fault> {
    let mut sql = String::new();
    for (place, (cell, (_, kind))) in cells.iter().zip(table.columns).enumerate() {
        if place > 0 {
            sql.push_str(", ");
        }
        let value = match (cell, kind) {
            (Cell::Null, _) => Value::Null,
            (Cell::Text(text), _) => Value::Text(text),
            (Cell::Number(number), Kind::Flag) => Value::Flag(*number != 0),
            (Cell::Number(number), _) => Value::Number(*number),
            (Cell::Bytes(bytes), _) => Value::Bytes(bytes),
        };
        value.write(&mut sql)?;
    }
    Ok(sql)
}

fn read(row: &PgRow, place: usize, kind: Kind) -> Result<Cell, sqlx::Error> {
    Ok(match kind {
        Kind::Text => row.try_get::<Option<String>, _>(place)?.map_or(Cell::Null, Cell::Text),
        Kind::Number => row.try_get::<Option<i64>, _>(place)?.map_or(Cell::Null, Cell::Number),
        Kind::Flag => {
            let flag = row.try_get::<Option<bool>, _>(place)?;
            flag.map_or(Cell::Null, |flag| Cell::Number(i64::from(flag)))
        }
        Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(place)?.map_or(Cell::Null, Cell::Bytes),
    })
}
