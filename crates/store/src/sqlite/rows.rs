//! From columns to domain types and back. A column that does not hold what we wrote there is damage, said with its name.

use proto::{Digest, Timestamp};
use serde::de::DeserializeOwned;
use sqlx::{Decode, Row, Sqlite, Type, sqlite::SqliteRow};

use crate::{Result, StoreError};

/// One column.
pub(super) fn column<'r, T: Decode<'r, Sqlite> + Type<Sqlite>>(
    row: &'r SqliteRow,
    name: &'static str,
) -> Result<T> {
    Ok(row.try_get(name)?)
}

/// A moment.
pub(super) fn time(row: &SqliteRow, name: &'static str) -> Result<Timestamp> {
    Ok(Timestamp::from_millis(column(row, name)?))
}

/// A moment or nothing.
pub(super) fn maybe_time(row: &SqliteRow, name: &'static str) -> Result<Option<Timestamp>> {
    Ok(column::<Option<i64>>(row, name)?.map(Timestamp::from_millis))
}

/// A number that cannot be negative.
pub(super) fn unsigned(row: &SqliteRow, name: &'static str) -> Result<u64> {
    u64::try_from(column::<i64>(row, name)?).map_err(|error| damaged(name, error))
}

/// A small number that cannot be negative.
pub(super) fn count(row: &SqliteRow, name: &'static str) -> Result<u32> {
    u32::try_from(column::<i64>(row, name)?).map_err(|error| damaged(name, error))
}

/// A closed word.
pub(super) fn word<T>(row: &SqliteRow, name: &'static str) -> Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    column::<&str>(row, name)?.parse().map_err(|error| damaged(name, error))
}

/// A digest in hex.
pub(super) fn digest(row: &SqliteRow, name: &'static str) -> Result<Digest> {
    Digest::parse(column(row, name)?).map_err(|error| damaged(name, error))
}

/// JSON text.
pub(super) fn json<T: DeserializeOwned>(row: &SqliteRow, name: &'static str) -> Result<T> {
    serde_json::from_str(column(row, name)?).map_err(|error| damaged(name, error))
}

/// A word that serde writes as a JSON string, stored without the quotes.
pub(super) fn serde_word<T: DeserializeOwned>(row: &SqliteRow, name: &'static str) -> Result<T> {
    let text: String = column(row, name)?;
    serde_json::from_value(serde_json::Value::String(text)).map_err(|error| damaged(name, error))
}

/// What [`serde_word`] reads.
pub(super) fn to_word<T: serde::Serialize>(value: &T) -> Result<String> {
    match serde_json::to_value(value).map_err(other)? {
        serde_json::Value::String(text) => Ok(text),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::Array(_)
        | serde_json::Value::Object(_) => Err(other("a word was to be written, and it is none")),
    }
}

/// JSON text of a value.
pub(super) fn to_json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(other)
}

/// As SQLite counts.
pub(super) fn signed(number: u64) -> Result<i64> {
    i64::try_from(number).map_err(other)
}

/// A cursor from outside: past what SQLite can count there is nothing.
pub(super) fn cursor(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A page's size, held to what one call may return.
pub(super) fn page(limit: u32) -> i64 {
    let most = i64::try_from(proto::limits::PAGE_ROWS_MAX).unwrap_or(i64::MAX);
    i64::from(limit).min(most)
}

/// Damage in a part with a name.
pub(super) fn damaged(what: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Damaged { what: what.to_owned(), source: Some(source.into()) }
}

/// A failure that fits no other word.
pub(super) fn other(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Other { source: source.into() }
}
