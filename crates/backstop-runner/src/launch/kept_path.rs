//! A path as it is kept in JSON: text, or its bytes where it is none.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Kept {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for Kept {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(path.as_os_str().as_bytes().to_owned()),
        }
    }
}

impl From<Kept> for PathBuf {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Text(text) => text.into(),
            Kept::Bytes(bytes) => OsString::from_vec(bytes).into(),
        }
    }
}

pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    Kept::from(path).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<PathBuf, D::Error> {
    Kept::deserialize(source).map(PathBuf::from)
}

/// The same for a path that may be missing.
pub(super) mod optional {
    use super::*;

    pub(in super::super) fn serialize<S: Serializer>(
        path: &Option<PathBuf>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Kept::from).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        source: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Kept>::deserialize(source)?.map(PathBuf::from))
    }
}
