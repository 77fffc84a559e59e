//! Crates of others, as rules name them.

/// Databases, their clients and their bindings.
pub const DATABASES: &[&str] = &[
    "diesel",
    "etcd-client",
    "heed",
    "libsql",
    "libsqlite3-sys",
    "mongodb",
    "mysql",
    "mysql_async",
    "postgres",
    "redb",
    "redis",
    "rocksdb",
    "rusqlite",
    "sled",
    "sqlx",
    "sqlx-*",
    "tokio-postgres",
];

/// Whether a crate's name is the one of a pattern; a trailing `*` stands for any ending.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}
