//! Rows as they are kept, for moving a store.

use sqlx::query::Query;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};
use tokio::sync::Mutex;

use super::fault::Fault;
use super::reader::Readers;
use super::writer::Writer;
use crate::StoreError;
use crate::table::{Cell, Kind, RawRow, Table};

pub async fn export(
    readers: &Readers,
    table: &'static Table,
    after: Option<&RawRow>,
    limit: u32,
) -> Result<Vec<RawRow>, StoreError> {
    let (columns, key) = (table.list(), table.key_list());
    let places = vec!["?"; table.key].join(", ");
    let condition = after.map_or_else(String::new, |_| format!("WHERE ({key}) > ({places})"));
    let select =
        format!("SELECT {columns} FROM {} {condition} ORDER BY {key} LIMIT {limit}", table.name);
    let mut query = sqlx::query(AssertSqlSafe(select));
    for cell in after.into_iter().flatten().take(table.key) {
        query = bind(query, cell);
    }
    let rows = readers.rows(query).await?;
    let read = |row: &SqliteRow| {
        let cells = table.columns.iter().enumerate();
        cells.map(|(place, (_, kind))| read(row, place, *kind)).collect::<Result<RawRow, _>>()
    };
    rows.iter().map(read).collect::<Result<_, _>>().map_err(|error| Fault::from(error).of_read())
}

pub async fn import(
    writer: &Mutex<Writer>,
    table: &'static Table,
    rows: &[RawRow],
) -> Result<(), StoreError> {
    let mut writer = writer.lock().await;
    insert(&mut writer, table, rows).await.map_err(|fault| writer.remember(fault).of_write())
}

async fn insert(writer: &mut Writer, table: &'static Table, rows: &[RawRow]) -> Result<(), Fault> {
    let places = vec!["?"; table.columns.len()].join(", ");
    let insert = format!("INSERT INTO {} ({}) VALUES ({places})", table.name, table.list());
    let mut transaction = writer.begin().await?;
    for row in rows {
        let mut query = sqlx::query(AssertSqlSafe(insert.as_str()));
        for cell in row {
            query = bind(query, cell);
        }
        query.execute(&mut *transaction).await?;
    }
    if let Some(filled) = table.fills {
        let empty = format!("DELETE FROM {filled}");
        sqlx::query(AssertSqlSafe(empty)).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(())
}

type Statement<'a> = Query<'a, Sqlite, SqliteArguments>;

fn bind<'a>(query: Statement<'a>, cell: &Cell) -> Statement<'a> {
    match cell {
        Cell::Null => query.bind(None::<i64>),
        Cell::Text(text) => query.bind(text.clone()),
        Cell::Number(number) => query.bind(*number),
        Cell::Bytes(bytes) => query.bind(bytes.clone()),
    }
}

fn read(row: &SqliteRow, place: usize, kind: Kind) -> Result<Cell, sqlx::Error> {
    Ok(match kind {
        Kind::Text => row.try_get::<Option<String>, _>(place)?.map_or(Cell::Null, Cell::Text),
        Kind::Number | Kind::Flag => {
            row.try_get::<Option<i64>, _>(place)?.map_or(Cell::Null, Cell::Number)
        }
        Kind::Bytes => row.try_get::<Option<Vec<u8>>, _>(place)?.map_or(Cell::Null, Cell::Bytes),
    })
}
