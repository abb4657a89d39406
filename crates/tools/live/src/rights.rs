//! Root privileges while interfaces are observed: the process that parses packets has none.

use anyhow::{Context, Result};
use key_log::KeyCollection;
use pipeline::output;
use std::path::Path;
use sys::rights::{self, RightsLeft, UnprivilegedUser};
use sys::socket_owners::{LookupProcess, OwnerLookup};

/// A helper process that keeps root privileges while the rest runs as another user.
#[derive(Default)]
pub struct RootsRights {
    lookup: Option<LookupProcess>,
    instead: Option<UnprivilegedUser>,
}

impl RootsRights {
    /// Starts the helper if this process is root. Programs then write `keys` to a file that the
    /// helper holds open.
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

    /// Creates an output folder for the user that will write to it. Access is checked now, not when
    /// outputs are already open or the first file is full.
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

    /// Grants this user's programs write access to the open key file, if there is no helper.
    pub fn let_programs_write_keys(&self) {
        if self.lookup.is_none() {
            rights::be_open_to_own_programs();
        }
    }

    /// Drops all privileges before any untrusted bytes are parsed.
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

/// False for a bucket.
pub(crate) fn is_local(folder: &Path) -> bool {
    !folder.to_string_lossy().contains("://")
}
