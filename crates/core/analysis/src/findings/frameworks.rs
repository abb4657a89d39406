//! Detects the framework behind a connection's statements, so that remedies use its terms.
//!
//! A framework names itself (sqlcommenter's keys `framework` and `db_driver`, a driver's name) or
//! shows in the style of its statements ([`styles`]): one unique statement, or
//! [`MIN_TYPICAL_STATEMENTS`] different ones rare elsewhere. If two frameworks are equally likely,
//! the result is none.

mod styles;

use model::{Fingerprint, Tags};
use styles::Sign;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Framework {
    /// Also Spring Data JPA, which uses it.
    Hibernate,
    Django,
    SqlAlchemy,
    ActiveRecord,
    Sequelize,
    Prisma,
    Go,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    Named,
    Style,
}

const NAMES: [(&str, Framework); 16] = [
    ("hibernate", Framework::Hibernate),
    ("django", Framework::Django),
    ("sqlalchemy", Framework::SqlAlchemy),
    ("rails", Framework::ActiveRecord),
    ("active_record", Framework::ActiveRecord),
    ("activerecord", Framework::ActiveRecord),
    ("sequelize", Framework::Sequelize),
    ("prisma", Framework::Prisma),
    ("pgx", Framework::Go),
    ("lib/pq", Framework::Go),
    ("database/sql", Framework::Go),
    ("gorm", Framework::Go),
    ("go-sql", Framework::Go),
    ("go-mysql", Framework::Go),
    ("gin-gonic", Framework::Go),
    ("gorilla", Framework::Go),
];

impl Framework {
    const COUNT: usize = 7;

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Hibernate => "Hibernate",
            Self::Django => "Django",
            Self::SqlAlchemy => "SQLAlchemy",
            Self::ActiveRecord => "ActiveRecord",
            Self::Sequelize => "Sequelize",
            Self::Prisma => "Prisma",
            Self::Go => "Go",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let known = NAMES.iter().find(|(part, _)| name.contains(part));
        known.map(|(_, framework)| *framework)
    }

    /// False for styles it does not write: hand-written statements of the same program.
    fn may_write(self, fingerprint: &str) -> bool {
        let is_quoted = fingerprint.contains(['"', '`']);
        match self {
            Self::Django | Self::ActiveRecord | Self::Sequelize | Self::Prisma => is_quoted,
            Self::Hibernate if fingerprint.starts_with("select ") => {
                is_next_value(fingerprint) || styles::sign(fingerprint) == Some(Sign::Sure(Self::Hibernate))
            }
            Self::Hibernate | Self::SqlAlchemy | Self::Go => true,
        }
    }
}

pub(super) fn is_next_value(fingerprint: &str) -> bool {
    ["select nextval", "select next value for", "values next value for"]
        .iter()
        .any(|begin| fingerprint.starts_with(begin))
        || fingerprint.contains(".nextval from ")
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Evidence {
    named: Option<Framework>,
    signs: [Signs; Framework::COUNT],
}

#[derive(Debug, Clone, Copy, Default)]
struct Signs {
    is_sure: bool,
    /// Number of the last fingerprint that is typical, and how many times another one was.
    last: Option<u32>,
    typical: u32,
}

const MIN_TYPICAL_STATEMENTS: u32 = 2;

pub(super) type Style = Option<Sign>;

pub(super) fn style(fingerprint: &str) -> Style {
    styles::sign(fingerprint)
}

impl Evidence {
    pub(super) fn statement(&mut self, number: u32, style: Style) {
        match style {
            Some(Sign::Sure(framework)) => self.signs[framework as usize].is_sure = true,
            Some(Sign::Typical(framework)) => {
                let signs = &mut self.signs[framework as usize];
                if signs.last != Some(number) {
                    signs.last = Some(number);
                    signs.typical = signs.typical.saturating_add(1);
                }
            }
            None => {}
        }
    }

    /// An ORM's own name outweighs its driver's.
    pub(super) fn tags(&mut self, tags: &Tags) {
        for name in [&tags.db_driver, &tags.framework].into_iter().flatten() {
            if let Some(framework) = Framework::named(name)
                && (self.named.is_none() || framework != Framework::Go)
            {
                self.named = Some(framework);
            }
        }
    }

    /// Framework of a statement, otherwise of its connection. `driver`: the driver's self-reported
    /// name.
    pub(super) fn framework(
        &self,
        driver: Option<&str>,
        fingerprint: Option<&Fingerprint>,
    ) -> Option<(Framework, Certainty)> {
        let (framework, certainty) = match (self.named, self.by_style()) {
            (Some(named), _) => (named, Certainty::Named),
            (None, Some(style)) => (style, Certainty::Style),
            (None, None) => (Framework::named(driver?)?, Certainty::Named),
        };
        let may_be_its_own = fingerprint.is_none_or(|text| framework.may_write(text));
        may_be_its_own.then_some((framework, certainty))
    }

    fn by_style(&self) -> Option<Framework> {
        let sure = self.only(|signs| signs.is_sure);
        sure.unwrap_or_else(|| {
            self.only(|signs| signs.typical >= MIN_TYPICAL_STATEMENTS)
                .flatten()
        })
    }

    /// `Some(None)` if several frameworks match, `None` if none.
    fn only(&self, holds: impl Fn(&Signs) -> bool) -> Option<Option<Framework>> {
        let mut found = ALL
            .into_iter()
            .filter(|framework| holds(&self.signs[*framework as usize]));
        let first = found.next()?;
        Some(found.next().is_none().then_some(first))
    }
}

const ALL: [Framework; Framework::COUNT] = [
    Framework::Hibernate,
    Framework::Django,
    Framework::SqlAlchemy,
    Framework::ActiveRecord,
    Framework::Sequelize,
    Framework::Prisma,
    Framework::Go,
];

#[cfg(test)]
mod tests;
