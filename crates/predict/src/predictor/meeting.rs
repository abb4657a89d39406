//! Operations that were kept until the end, replayed where they meet others: several clients, shared cores.

use super::{Named, Predictor};
use crate::crowd::{self, ClosedLoopResult, Mix, Surroundings};
use model::DistributionBuilder;

impl Predictor {
    /// Replays what was kept, on targets with several clients or shared cores.
    pub(super) fn let_them_meet(&mut self) {
        if !self.meet_others() {
            return;
        }
        let cores = [self.computing.client, self.computing.server];
        let limit = self.requests.limit(self.workers);
        let locked = std::mem::take(&mut self.locks).conclude();
        let for_worker = |arrived| limit.as_ref().map_or(0, |limit| limit.waited(arrived));
        self.load
            .put_off_servers(|arrived| for_worker(arrived).saturating_add(locked.waited(arrived)));
        for plan in self.names.iter_mut().flat_map(|named| named.pool.plans()) {
            if let Some(limit) = &limit {
                limit.take_out(plan);
            }
            locked.take_out(plan);
        }
        let work = [0, 1].map(|whose| cores[whose].map(|cores| self.load.work(whose, cores)));
        for named in &mut self.names {
            named.pool.keep_work_only(&work);
        }
        let all_locks = locked.all();
        for index in 0..self.targets.len() {
            let clients = self.targets[index].clients;
            if !self.is_alone(&self.targets[index]) {
                let workers = limit.as_ref().map(|limit| limit.workers);
                let surroundings = Surroundings {
                    computing: self.computing,
                    wake_up: self.wake_up,
                    workers: workers.filter(|workers| *workers < clients),
                    locks: (clients > 1).then_some(locked.certain()),
                };
                let others = (clients > 1 && locked.is_open()).then_some(Surroundings {
                    locks: Some(&all_locks),
                    ..surroundings
                });
                self.let_meet_on(index, surroundings, others);
            }
        }
    }

    /// The clients of one target, in their surroundings as expected, and in others in which they may be: bounds hold both.
    fn let_meet_on<'s>(
        &mut self,
        target: usize,
        surroundings: Surroundings<'s>,
        others: impl IntoIterator<Item = Surroundings<'s>>,
    ) {
        let pauses: Vec<u64> = self.names.iter_mut().map(Named::pause).collect();
        for ClosedLoopResult { operations, elapsed } in self.meet(target, surroundings, &pauses) {
            for (name, whole) in operations {
                let sum = &mut self.names[name].sums[target];
                sum.add(&whole);
                sum.elapsed = Some(elapsed);
            }
        }
        for named in &mut self.names {
            let workers = surroundings.workers.filter(|_| named.pool.needs_workers());
            named.sums[target].workers = workers;
        }
        for other in others {
            let mut durations = vec![DistributionBuilder::new(); self.names.len()];
            for ClosedLoopResult { operations, .. } in self.meet(target, other, &pauses) {
                operations
                    .into_iter()
                    .for_each(|(name, whole)| durations[name].add(whole.duration));
            }
            for (named, mut durations) in self.names.iter_mut().zip(durations) {
                named.sums[target].medians.extend(durations.percentile(50));
            }
        }
    }

    /// The clients of each name among themselves; where they have to wait for each other's workers, those of all names whose operations
    /// need one, as they were mixed in the measurement.
    fn meet(&self, target: usize, surroundings: Surroundings<'_>, pauses: &[u64]) -> Vec<ClosedLoopResult> {
        let mut done = Vec::new();
        let mut mixed = Mix::default();
        let meet =
            |mix: &Mix<'_>| crowd::closed_loop(&self.targets[target], &self.links[target], mix, surroundings);
        for (name, named) in self.names.iter().enumerate() {
            if surroundings.workers.is_some() && named.pool.needs_workers() {
                mixed.add(name, &named.pool, pauses[name]);
            } else if !named.pool.operations().is_empty() {
                let mut own = Mix::default();
                own.add(name, &named.pool, pauses[name]);
                done.push(meet(&own));
            }
        }
        if !mixed.is_empty() {
            done.push(meet(&mixed));
        }
        done
    }
}
