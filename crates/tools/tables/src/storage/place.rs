//! Tables in a folder or in part of a bucket.

use crate::storage::bucket::{ObjectStore, is_bucket};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone)]
pub(crate) enum TablesPlace {
    Folder(PathBuf),
    Bucket(Arc<ObjectStore>),
}

impl TablesPlace {
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        match path.to_str().filter(|text| is_bucket(text)) {
            Some(url) => Ok(Self::Bucket(Arc::new(ObjectStore::new(url)?))),
            None => Ok(Self::Folder(path.to_owned())),
        }
    }

    pub(crate) fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        match self {
            Self::Folder(root) => {
                let entries = std::fs::read_dir(root.join(folder))?;
                let name =
                    |entry: std::fs::DirEntry| format!("{folder}/{}", entry.file_name().to_string_lossy());
                entries.map(|entry| Ok(name(entry?))).collect()
            }
            Self::Bucket(store) => store.names(folder),
        }
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match self {
            Self::Folder(root) => std::fs::remove_file(root.join(name)),
            Self::Bucket(store) => store.remove(name),
        }
    }
}
