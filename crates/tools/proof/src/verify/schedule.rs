//! Distributes replays so that the total time is bounded.

use super::choice::{self, ReplayChoice};
use relay::replay::ReplayPlan;
use std::time::Duration;

pub struct Schedule<'a> {
    /// Taken from the end.
    todo: Vec<(&'a ReplayChoice, u32)>,
    left_out: Vec<String>,
}

impl<'a> Schedule<'a> {
    pub fn new(choices: &'a [ReplayChoice]) -> Self {
        let (fitting, long): (Vec<&ReplayChoice>, Vec<&ReplayChoice>) = choices
            .iter()
            .partition(|choice| round_time(choice) <= MAX_ROUND_DURATION);
        let least: Duration = fitting.iter().map(|choice| time(choice, MIN_ROUNDS)).sum();
        let mut room = TIME.saturating_sub(least);
        let mut left_out: Vec<String> = long.into_iter().map(choice::too_long).collect();
        let mut todo = Vec::new();
        let mut spent = Duration::ZERO;
        let count = fitting.len() as u32;
        for (place, choice) in fitting.into_iter().enumerate() {
            let least = time(choice, MIN_ROUNDS);
            if spent + least > MAX_TIME {
                left_out.push(format!(
                    "{} was not replayed: the others take {} s already; ask for fewer links",
                    choice.words(),
                    spent.as_secs()
                ));
                continue;
            }
            let share = room / (count - place as u32).max(1);
            let rounds = rounds_within(choice, least + share);
            let taken = time(choice, rounds);
            room = room.saturating_sub(taken.saturating_sub(least));
            spent += taken;
            todo.push((choice, rounds));
        }
        todo.reverse();
        Self { todo, left_out }
    }

    pub fn left_out(&mut self) -> Vec<String> {
        std::mem::take(&mut self.left_out)
    }

    pub fn next(&mut self) -> Option<(&'a ReplayChoice, ReplayPlan)> {
        let (choice, rounds) = self.todo.pop()?;
        let plan = ReplayPlan {
            clients: choice.target.clients,
            rounds,
            warm_up: WARM_UP,
            pause: pause(choice),
            stagger: choice.predicted,
            longest: time(choice, rounds) * MAX_SLOWDOWN + TIMEOUT,
        };
        Some((choice, plan))
    }

    pub fn rest(&self) -> Duration {
        self.todo
            .iter()
            .map(|(choice, rounds)| time(choice, *rounds))
            .sum()
    }
}

/// Rounds that fit into `room`: an odd number, so that the median is one of them.
fn rounds_within(choice: &ReplayChoice, room: Duration) -> u32 {
    let rounds = (MIN_ROUNDS..=MAX_ROUNDS).rev().step_by(2);
    rounds
        .into_iter()
        .find(|rounds| time(choice, *rounds) <= room)
        .unwrap_or(MIN_ROUNDS)
}

fn time(choice: &ReplayChoice, rounds: u32) -> Duration {
    round_time(choice) * (rounds + WARM_UP)
}

fn round_time(choice: &ReplayChoice) -> Duration {
    choice.predicted + pause(choice) + choice.target.link.rtt
}

/// Keeps the link idle before each operation, unless several clients share it.
fn pause(choice: &ReplayChoice) -> Duration {
    match choice.target.clients {
        1 => IDLE + choice.target.link.rtt,
        _ => Duration::ZERO,
    }
}

/// Target for all replays, and the limit if the minimum number of rounds needs more.
const TIME: Duration = Duration::from_secs(20);
const MAX_TIME: Duration = Duration::from_secs(90);

const MAX_ROUND_DURATION: Duration = Duration::from_secs(20);

/// An odd number, like [`MAX_ROUNDS`].
const MIN_ROUNDS: u32 = 1;
const MAX_ROUNDS: u32 = 15;
const WARM_UP: u32 = 1;
const IDLE: Duration = Duration::from_millis(2);

/// A replay that exceeds the prediction by this factor is aborted.
const MAX_SLOWDOWN: u32 = 5;
const TIMEOUT: Duration = Duration::from_secs(10);
