//! Sections of packages, which identify prepared statements and their queries.

use super::rows::Walk;
use model::StatementId;
use std::collections::HashMap;

/// Holds at most [`MAXIMUM_SECTIONS`], the others are unknown.
#[derive(Debug, Default)]
pub(super) struct Sections {
    by_name: HashMap<Box<[u8]>, u32>,
    known: Vec<Section>,
    prepared: u32,
    open: usize,
    /// A preparation was lost: the next section used may hold another statement.
    is_stale: bool,
}

#[derive(Debug, Default)]
struct Section {
    statement: Option<StatementId>,
    walk: Option<Walk>,
}

impl Sections {
    pub(super) fn named(&mut self, name: &[u8]) -> Option<u32> {
        let name = name.get(name.len().saturating_sub(NAME)..).unwrap_or(name);
        if let Some(&number) = self.by_name.get(name) {
            return Some(number);
        }
        if self.known.len() >= MAXIMUM_SECTIONS {
            return None;
        }
        let number = u32::try_from(self.known.len()).ok()?;
        self.by_name.insert(name.into(), number);
        self.known.push(Section::default());
        Some(number)
    }

    pub(super) fn prepare(&mut self, section: Option<u32>) -> StatementId {
        let id = StatementId(self.prepared);
        self.prepared = self.prepared.wrapping_add(1);
        self.close(section);
        if let Some(section) = self.get(section) {
            section.statement = Some(id);
        }
        id
    }

    pub(super) const fn prepared_unseen(&mut self) {
        self.is_stale = true;
    }

    pub(super) fn statement(&mut self, section: Option<u32>) -> Option<StatementId> {
        if std::mem::take(&mut self.is_stale)
            && let Some(section) = self.get(section)
        {
            section.statement = None;
        }
        self.get(section)?.statement
    }

    /// Assigns a number to a section with unseen preparation.
    pub(super) fn unseen(&mut self, section: Option<u32>) -> Option<StatementId> {
        let id = StatementId(self.prepared);
        self.get(section)?.statement = Some(id);
        self.prepared = self.prepared.wrapping_add(1);
        Some(id)
    }

    pub(super) fn describe(&mut self, section: Option<u32>, walk: Option<Walk>) {
        self.close(section);
        if self.open >= MAXIMUM_OPEN {
            return;
        }
        let opened = walk.is_some();
        if let Some(section) = self.get(section) {
            section.walk = walk;
            self.open += usize::from(opened);
        }
    }

    pub(super) fn close(&mut self, section: Option<u32>) {
        let closed = self.get(section).and_then(|section| section.walk.take());
        self.open -= usize::from(closed.is_some());
    }

    pub(super) fn walk(&mut self, section: Option<u32>) -> Option<&mut Walk> {
        self.get(section)?.walk.as_mut()
    }

    fn get(&mut self, section: Option<u32>) -> Option<&mut Section> {
        self.known.get_mut(usize::try_from(section?).ok()?)
    }
}

const MAXIMUM_SECTIONS: usize = 8192;
const MAXIMUM_OPEN: usize = 64;
/// Last bytes of a section's name that distinguish it: collection, package, token and number.
const NAME: usize = 64;
