//! What SQLite's failures mean to the caller.

use std::path::Path as FilePath;
use std::sync::Arc;

use dcm_core::port::store::Error;
use rusqlite::ErrorCode;

/// A failure that asking again will not mend.
pub(super) fn failed(
    reason: impl Into<String>,
    source: impl std::error::Error + Send + Sync + 'static,
) -> Error {
    Error::Failed { reason: reason.into(), source: Some(Arc::new(source)) }
}

/// A failure without a source below.
pub(super) fn refused<T>(reason: impl Into<String>) -> Result<T, Error> {
    Err(Error::Failed { reason: reason.into(), source: None })
}

/// What a failure of SQLite means: locked files may be free later, all else needs somebody's hand.
pub(super) fn of_sqlite(error: rusqlite::Error) -> Error {
    let reason = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            return Error::Unavailable { source: Arc::new(error) };
        }
        Some(ErrorCode::DiskFull) => "the disk is full",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => "the store's file can't be written",
        // Also where it is there: on a disk that can only be read nothing can be made beside it.
        Some(ErrorCode::CannotOpen) => "the store's file can't be opened, or its folder can't be written",
        Some(ErrorCode::NotADatabase) => "the file is not a store",
        Some(ErrorCode::DatabaseCorrupt) => "the store's file is damaged",
        Some(ErrorCode::SystemIoFailure) => "reading or writing the store's file failed",
        _ => "SQLite failed",
    };
    failed(reason, error)
}

/// The same failure with the file that it is about.
pub(super) fn of_file(file: &FilePath, error: Error) -> Error {
    match error {
        Error::Failed { reason, source } => {
            Error::Failed { reason: format!("{}: {reason}", file.display()), source }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: i32) -> Error {
        of_sqlite(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None))
    }

    #[test]
    fn a_locked_file_is_worth_a_retry_and_all_else_says_what_is_wrong() {
        assert!(error(rusqlite::ffi::SQLITE_BUSY).is_retryable());
        assert!(error(rusqlite::ffi::SQLITE_BUSY_SNAPSHOT).is_retryable());
        assert!(error(rusqlite::ffi::SQLITE_LOCKED).is_retryable());
        for (code, reason) in [
            (rusqlite::ffi::SQLITE_FULL, "full"),
            (rusqlite::ffi::SQLITE_READONLY, "written"),
            (rusqlite::ffi::SQLITE_CORRUPT, "damaged"),
            (rusqlite::ffi::SQLITE_NOTADB, "not a store"),
            (rusqlite::ffi::SQLITE_CANTOPEN, "opened"),
            (rusqlite::ffi::SQLITE_IOERR, "reading or writing"),
        ] {
            assert!(
                matches!(error(code), Error::Failed { reason: text, .. } if text.contains(reason)),
                "{code}"
            );
        }
    }
}
