//! Where tables are: a folder, or a part of a bucket.

use crate::bucket::{ObjectStore, is_bucket};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where tables are.
#[derive(Clone)]
pub(crate) enum TablesPlace {
    /// A folder of this machine.
    Folder(PathBuf),
    /// Objects of a bucket.
    Bucket(Arc<ObjectStore>),
}

impl TablesPlace {
    /// `s3://BUCKET/PREFIX`, or a folder.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        match path.to_str().filter(|text| is_bucket(text)) {
            Some(url) => Ok(Self::Bucket(Arc::new(ObjectStore::new(url)?))),
            None => Ok(Self::Folder(path.to_owned())),
        }
    }

    /// The names, from here on, of what is in the folder of this name.
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

    /// Takes away what has this name.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match self {
            Self::Folder(root) => std::fs::remove_file(root.join(name)),
            Self::Bucket(store) => store.remove(name),
        }
    }
}
