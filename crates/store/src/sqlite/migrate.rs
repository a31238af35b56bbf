//! Schema steps, forward only. Opening a file of an older version brings it up; a newer one is refused.
//!
//! Our own thirty lines and not a library's, because two processes may open the same new file at once: every step runs under the
//! write lock, and the version is read under it.

use sqlx::{Row, SqliteConnection};

use crate::{Result, StoreError};

/// Step n brings version n - 1 to n. Released steps are never edited.
const STEPS: [&str; 1] = [include_str!("schema_1.sql")];

/// `application_id` of our files: the letters `Seal`.
const OURS: i64 = 0x5365_616c;

/// Brings the file up to this program's version.
pub(super) async fn run(connection: &mut SqliteConnection) -> Result<()> {
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    let found = number(connection, "PRAGMA user_version").await?;
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    let id = number(connection, "PRAGMA application_id").await?;
    let tables = number(connection, "SELECT COUNT(*) FROM sqlite_schema").await?;
    if id != OURS && (tables > 0 || found > 0) {
        return Err(StoreError::Damaged {
            what: "it is another program's database".to_owned(),
            source: None,
        });
    }
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    for (step, version) in STEPS.into_iter().zip(1_i64..) {
        if version > found {
            sqlx::raw_sql(step).execute(&mut *connection).await?;
        }
    }
    if found < known {
        sqlx::raw_sql(MARK).execute(&mut *connection).await?;
    }
    sqlx::query("COMMIT").execute(connection).await?;
    Ok(())
}

/// Pragmas take no parameters; a test holds these numbers against [`OURS`] and [`STEPS`].
const MARK: &str = "PRAGMA application_id = 1399153004; PRAGMA user_version = 1;";

async fn number(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64> {
    Ok(sqlx::query(sql).fetch_one(connection).await?.try_get(0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_names_our_id_and_the_last_step() {
        let expected = format!("PRAGMA application_id = {OURS}; PRAGMA user_version = {};", STEPS.len());
        assert_eq!(MARK, expected);
    }
}
