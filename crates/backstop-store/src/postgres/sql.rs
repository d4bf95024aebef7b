//! Statements with their values written into them.
//!
//! A statement and its values go to the server in one message of the simple protocol. With values
//! apart, the library would send the statement first and the values after an answer: a pooler that
//! hands connections out by transaction may send the two to different servers, and every statement
//! would wait for the network twice.

use std::fmt::Write as _;

use super::fault::Fault;

/// A value for a `$n` of a statement.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null,
    Text(&'a str),
    Number(i64),
    Flag(bool),
    Bytes(&'a [u8]),
    Texts(Vec<Option<&'a str>>),
    Numbers(Vec<Option<i64>>),
    ManyBytes(Vec<&'a [u8]>),
}

/// Writes values into a statement, which is a text of ours: whatever they hold, they stay values.
pub fn sql(statement: &'static str, values: &[Value<'_>]) -> Result<String, Fault> {
    let mut text = String::with_capacity(statement.len() + 64);
    let mut rest = statement;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = after.split_at(digits);
        let value = number.parse::<usize>().ok().and_then(|n| values.get(n.checked_sub(1)?));
        let value = value.ok_or_else(|| Fault::of_text(format!("`${number}` has no value")))?;
        value.write(&mut text)?;
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

impl Value<'_> {
    pub fn write(&self, sql: &mut String) -> Result<(), Fault> {
        match self {
            Self::Null => sql.push_str("NULL"),
            Self::Text(text) => quote(sql, text)?,
            Self::Number(number) => push(sql, format_args!("'{number}'::bigint")),
            Self::Flag(flag) => sql.push_str(if *flag { "TRUE" } else { "FALSE" }),
            Self::Bytes(bytes) => hex(sql, bytes),
            Self::Texts(texts) => array(sql, "text", texts, |sql, text| match text {
                Some(text) => quote(sql, text),
                None => Self::Null.write(sql),
            })?,
            Self::Numbers(numbers) => array(sql, "bigint", numbers, |sql, number| {
                match number {
                    // A sign would bind less than what follows.
                    Some(number) => push(sql, format_args!("'{number}'")),
                    None => sql.push_str("NULL"),
                }
                Ok(())
            })?,
            Self::ManyBytes(many) => array(sql, "bytea", many, |sql, bytes| {
                hex(sql, bytes);
                Ok(())
            })?,
        }
        Ok(())
    }
}

/// Escaped in a way that no setting of the server changes.
fn quote(sql: &mut String, text: &str) -> Result<(), Fault> {
    sql.reserve(text.len() + 4);
    // Apart from what stands before it, so that the letter is no end of a word.
    sql.push_str(" E'");
    for character in text.chars() {
        match character {
            '\'' => sql.push_str("''"),
            '\\' => sql.push_str(r"\\"),
            '\0' => {
                let why = "PostgreSQL keeps no text with a NUL character in it";
                return Err(Fault::of_text(why.to_owned()));
            }
            other => sql.push(other),
        }
    }
    sql.push('\'');
    Ok(())
}

fn hex(sql: &mut String, bytes: &[u8]) {
    sql.push_str(r" E'\\x");
    for byte in bytes {
        push(sql, format_args!("{byte:02x}"));
    }
    sql.push_str("'::bytea");
}

fn array<T>(
    sql: &mut String,
    kind: &str,
    values: &[T],
    write: impl Fn(&mut String, &T) -> Result<(), Fault>,
) -> Result<(), Fault> {
    sql.push_str("ARRAY[");
    for (place, value) in values.iter().enumerate() {
        if place > 0 {
            sql.push(',');
        }
        write(sql, value)?;
    }
    push(sql, format_args!("]::{kind}[]"));
    Ok(())
}

fn push(sql: &mut String, arguments: std::fmt::Arguments<'_>) {
    // A text takes whatever is written to it.
    sql.write_fmt(arguments).ok();
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Number(i64::from(number))
    }
}

impl From<bool> for Value<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_a_value() {
        let hostile = "'; DROP TABLE runs; -- \\' \\\\' $1 $$";
        let text = sql("SELECT $1, $2", &[hostile.into(), Value::Null]).unwrap();
        assert_eq!(text, r"SELECT  E'''; DROP TABLE runs; -- \\'' \\\\'' $1 $$', NULL");
        let numbers = Value::Numbers(vec![Some(-1), None]);
        let all = [numbers, Value::Bytes(&[0, 255]), true.into(), i64::MIN.into()];
        assert_eq!(
            sql("$1 $2 $3 $4 $1", &all).unwrap(),
            r"ARRAY['-1',NULL]::bigint[]  E'\\x00ff'::bytea TRUE '-9223372036854775808'::bigint ARRAY['-1',NULL]::bigint[]"
        );
    }

    #[test]
    fn what_can_not_be_kept_is_refused() {
        assert!(sql("SELECT $1", &["a\0b".into()]).is_err());
        assert!(sql("SELECT $2", &["a".into()]).is_err());
    }
}
