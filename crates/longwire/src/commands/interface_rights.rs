//! What becomes of root's rights while interfaces are observed: the process that reads packets has none of
//! them.

use anyhow::{Context, Result};
use key_log::KeyCollection;
use pipeline::output;
use std::path::Path;
use sys::rights::{self, RightsLeft, UnprivilegedUser};
use sys::socket_owners::{LookupProcess, OwnerLookup};

/// What an observation keeps of root's rights, in a process apart, while the rest of it is another user's.
#[derive(Default)]
pub struct RootsRights {
    lookup: Option<LookupProcess>,
    instead: Option<UnprivilegedUser>,
}

impl RootsRights {
    /// Starts the process that has them, where this one is root. Programs then write `keys` to a file that
    /// this process has open.
    ///
    /// # Errors
    /// When the system cannot.
    pub fn keep(keys: Option<&mut KeyCollection>) -> Result<Self> {
        let Some(instead) = UnprivilegedUser::instead_of_root() else {
            return Ok(Self::default());
        };
        let (memory, left) = match &keys {
            Some(keys) => (keys.memory(), Some(keys.directory().to_owned())),
            None => (None, None),
        };
        let lookup = LookupProcess::start(memory, left);
        let lookup = lookup.context("could not start the process that looks for programs of connections")?;
        if let Some(keys) = keys {
            keys.reach_in(lookup.id());
        }
        Ok(Self {
            lookup: Some(lookup),
            instead: Some(instead),
        })
    }

    /// A folder that will be written to later is made now, for the user that will write. Whether that one can
    /// write to it is to be known now, and not when outputs are open or the first file is full.
    ///
    /// # Errors
    /// When it cannot be made or written to.
    pub fn prepare_folder(&self, folder: Option<&Path>) -> Result<()> {
        let (Some(instead), Some(folder)) = (self.instead, folder.filter(|folder| is_local(folder))) else {
            return Ok(());
        };
        let is_new = !folder.exists();
        if is_new {
            let made = std::fs::create_dir_all(folder).and_then(|()| instead.give(folder));
            made.with_context(|| format!("could not make {}", folder.display()))?;
        }
        let probe = folder.join(format!(".longwire-{}", std::process::id()));
        let written = rights::with_rights_of(Some(instead), || {
            std::fs::File::create_new(&probe)?;
            std::fs::remove_file(&probe)
        });
        if written.is_err() && is_new {
            std::fs::remove_dir(folder).ok();
        }
        written.with_context(|| {
            format!(
                "could not write to {} as the user that reads packets in root's place (docs/interface.md): give it the folder with chown",
                folder.display()
            )
        })
    }

    /// Lets the programs of this user write to an open file of this process, where none apart has it.
    pub fn let_programs_write_keys(&self) {
        if self.lookup.is_none() {
            rights::be_open_to_own_programs();
        }
    }

    /// Returns all rights up: from here on strangers' bytes are read.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn drop_rights(&self) -> Result<OwnerLookup> {
        let left = rights::give_up_all(self.instead)?;
        if left == RightsLeft::OfSameUser && self.instead.is_some() {
            output::print_note(
                "packets are read as root, without any capability: the system does not let this process become another user",
            );
        }
        let lookup = self.lookup.as_ref().map(LookupProcess::lookup).transpose();
        Ok(lookup
            .context("could not ask for programs of connections")?
            .unwrap_or_default())
    }
}

/// Whether tables are written to a folder, and not to a bucket.
pub fn is_local(folder: &Path) -> bool {
    !folder.to_string_lossy().contains("://")
}
