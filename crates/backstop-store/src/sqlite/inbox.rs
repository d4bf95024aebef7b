//! Messages for supervisors.

use backstop_core::id::RunId;
use tokio::sync::Mutex;

use super::fault::Fault;
use super::writer::{Durability, Writer};
use crate::StoreError;
use crate::encode::json;
use crate::record::{InboxMessage, keys_of_messages};
use crate::row::FromRow as _;

/// Leaves messages, all or none; under a key that was used before, none.
pub async fn post(
    writer: &Mutex<Writer>,
    run: RunId,
    key: Option<&str>,
    bodies: &[String],
) -> Result<Vec<InboxMessage>, StoreError> {
    let keys: Option<Vec<_>> = key.map(|key| keys_of_messages(key, bodies.len()));
    let keys = keys.as_ref().map(json).transpose()?;
    let insert = sqlx::query(
        "INSERT INTO inbox (run, key, body) \
         SELECT ?1, json_extract(?2, '$[' || key || ']'), value FROM json_each(?3) \
         ORDER BY json_each.key RETURNING number, body",
    )
    .bind(run.as_str())
    .bind(&keys)
    .bind(json(&bodies)?);
    let mut writer = writer.lock().await;
    let rows = match writer.run(Durability::Ordered, insert).await {
        Err(fault) if fault.is_of_message_key() => {
            let select = sqlx::query(
                "SELECT number, body FROM inbox \
                 WHERE run = ?1 AND key IN (SELECT value FROM json_each(?2))",
            );
            writer.run(Durability::Ordered, select.bind(run.as_str()).bind(&keys)).await
        }
        rows => rows,
    };
    let rows = rows.map_err(|fault| fault.of_write_for(run))?;
    let read = rows.iter().map(InboxMessage::from_row).collect::<Result<Vec<_>, _>>();
    let mut messages = read.map_err(|error| Fault::from(error).of_read())?;
    messages.sort_by_key(|message| message.number);
    Ok(messages)
}
