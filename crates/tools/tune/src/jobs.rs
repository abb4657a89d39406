//! Insert, select and update jobs by every method: creates the scratch schema, runs the campaign,
//! drops the schema.

use super::campaign;
use super::distance::Distance;
use super::jobs_plan::JobsPlan;
use super::scratch::{self, Scratch};
use crate::{Prepared, Workbench};
use anyhow::Result;
use model::{Method, Warning, WarningKind};
use pipeline::interruption::Interrupted;
use pipeline::progress::ProgressSink;
use report::outcome::TuneReport;

#[derive(Debug)]
pub struct JobsOutcome {
    pub report: TuneReport,
    pub interrupted: Option<Interrupted>,
    /// Error after the first run: it ended the campaign, or left the scratch schema on the server.
    pub fault: Option<crate::Error>,
}

impl JobsPlan<'_> {
    /// Creates the scratch schema, runs everything and drops the schema.
    ///
    /// # Errors
    /// If the schema cannot be created, a requested method does not exist, or no link can be emulated.
    pub fn run<'a>(
        &self,
        workbench: Box<dyn Workbench + 'a>,
        progress: &'a dyn ProgressSink,
    ) -> Result<JobsOutcome> {
        if !self.predict && !self.links.is_empty() {
            Distance::can_be_behind(self.target)?;
        }
        let (mut scratch, prepared) = Scratch::prepare(workbench, &self.shape, progress)?;
        progress.show_note(&format!(
            "works in scratch schema {}, removed at the end",
            prepared.scratch
        ));
        let methods = self.chosen(&prepared)?;
        let found = campaign::run(self, &methods, scratch.workbench(), progress);
        progress.status("");
        let left = scratch.remove().err();
        let left_text = left.as_ref().map(scratch::left);
        let found = found.inspect_err(|_| left_text.iter().for_each(|text| progress.show_note(text)))?;
        let mut warnings = self.absent(&prepared);
        // Reported despite other errors, because it needs manual removal.
        warnings.extend(left_text.map(|text| Warning::new(WarningKind::LeftBehind, text)));
        warnings.extend(found.links.iter().flat_map(report::text::link_warnings));
        warnings.extend(found.warnings);
        let interrupted = self.limits.go_on().err();
        warnings.extend(interrupted.map(|_| {
            let text = "the run was ended before everything was tried";
            Warning::new(WarningKind::EndedEarly, text)
        }));
        Ok(JobsOutcome {
            report: TuneReport {
                server: self.target.server(),
                product: prepared.server,
                scratch: prepared.scratch,
                is_removed: left.is_none(),
                rows: self.shape.rows,
                select_rows: self.shape.select_rows,
                row_bytes: self.shape.like.is_none().then_some(self.shape.row_bytes),
                like: self.shape.like.clone(),
                methods,
                tuned: found.tuned,
                recommendations: found.recommendations,
                links: found.links,
                runs: found.runs,
                warnings,
            },
            interrupted,
            fault: found.fault.or(left),
        })
    }

    /// Ways that this server, user or driver lacks.
    fn absent(&self, prepared: &Prepared) -> Vec<Warning> {
        let absent = prepared
            .absent
            .iter()
            .filter(|method| self.jobs.contains(&method.job));
        let warnings = absent.map(|method| {
            let text = format!("no {} by {}: {}", method.job, method.name, method.reason);
            Warning::new(WarningKind::LeftOut, text)
        });
        warnings.collect()
    }

    /// The requested methods that are available.
    fn chosen(&self, prepared: &Prepared) -> Result<Vec<Method>> {
        let of_jobs = || {
            prepared
                .methods
                .iter()
                .filter(|method| self.jobs.contains(&method.job))
        };
        for name in self.methods {
            if of_jobs().any(|method| *method.name == **name) {
                continue;
            }
            let mut absent = prepared.absent.iter();
            if let Some(absent) = absent.find(|absent| *absent.name == **name) {
                anyhow::bail!("there is no method '{name}' here: {}", absent.reason);
            }
            let mut names: Vec<&str> = of_jobs().map(|method| &*method.name).collect();
            names.dedup();
            anyhow::bail!(
                "there is no method '{name}' here; there are: {}",
                names.join(", ")
            );
        }
        let is_asked = |method: &&Method| {
            self.methods.is_empty() || self.methods.iter().any(|name| **name == *method.name)
        };
        Ok(of_jobs().filter(is_asked).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distance::Limits;
    use crate::search::Thoroughness;
    use crate::{Shape, Trial};
    use link::LinkDescription;
    use model::Job;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;
    use sys::{StopToken, Target};

    /// Counts instead of writing rows.
    #[derive(Default)]
    struct Counting {
        writes: Arc<AtomicUsize>,
    }

    impl Workbench for Counting {
        fn prepare(&mut self, _: &Shape) -> Result<Prepared, crate::Error> {
            let copy = Method {
                job: Job::Insert,
                name: "copy".into(),
                parameter: None,
            };
            Ok(Prepared {
                methods: vec![copy],
                ..Prepared::default()
            })
        }

        fn fill(&mut self, _: Job) -> Result<(), crate::Error> {
            self.writes.fetch_add(1, Ordering::Relaxed);
            Err(crate::Error::NotPrepared)
        }

        fn run(&mut self, _: &Trial<'_>) -> Result<model::TrialOutcome, crate::Error> {
            self.writes.fetch_add(1, Ordering::Relaxed);
            Err(crate::Error::NotPrepared)
        }

        fn clean_up(&mut self) -> Result<(), crate::Error> {
            Ok(())
        }
    }

    struct Silent;

    impl ProgressSink for Silent {
        fn status(&self, _: &str) {}
        fn show_note(&self, _: &str) {}
    }

    fn writes(target: &str, methods: &[&str], links: &[LinkDescription]) -> (usize, Result<JobsOutcome>) {
        let (stop, halt) = (StopToken::never(), StopToken::new().expect("an eventfd"));
        let methods: Vec<String> = methods.iter().map(|method| (*method).to_owned()).collect();
        let plan = JobsPlan {
            target: &Target::parse(target).expect("a target"),
            shape: Shape {
                rows: 500,
                select_rows: 500,
                row_bytes: 100,
                like: None,
            },
            jobs: &[Job::Insert],
            methods: &methods,
            links,
            predict: false,
            runs: 1,
            thoroughness: Thoroughness::Search,
            limits: Limits {
                stop: &stop,
                halt: &halt,
                timeout: Duration::from_secs(60),
            },
        };
        let bench = Counting::default();
        let writes = Arc::clone(&bench.writes);
        let outcome = plan.run(Box::new(bench), &Silent);
        (writes.load(Ordering::Relaxed), outcome)
    }

    #[test]
    fn arguments_are_checked_before_the_first_row() {
        let (count, outcome) = writes("postgres://db1/shop", &["coppy"], &[]);
        let error = outcome.expect_err("no such method").to_string();
        assert_eq!(
            (count, error.as_str()),
            (0, "there is no method 'coppy' here; there are: copy")
        );
        let link: LinkDescription = "rtt=10ms".parse().expect("a link");
        let socket = "postgres:///shop?host=/var/run/postgresql";
        let (count, outcome) = writes(socket, &[], &[link]);
        assert!(
            outcome
                .expect_err("no distance")
                .to_string()
                .contains("Unix socket")
        );
        assert_eq!(count, 0);
        let (count, outcome) = writes("postgres://db1/shop", &["copy"], &[]);
        assert!(count > 0 && outcome.expect("an outcome").fault.is_some());
    }
}
