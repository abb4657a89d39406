//! Processor time of a thread.

use super::super::CpuTime;
use sys::processor::{Of, user_and_system_time};

pub(crate) fn of_this_thread() -> CpuTime {
    let [user, system] = user_and_system_time(Of::Thread);
    CpuTime { user, system }
}

impl CpuTime {
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}
