//! Memory of a server's process, where it runs on this machine.

/// Of one process, as the kernel reports it. Source: `/proc/PID/status`, proc(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessMemory {
    /// Bytes that are its own now.
    pub own: u64,
    /// The most that were its own at a time, at least. The kernel keeps the most of own and shared memory
    /// together; what of that is shared is taken to be what is shared now, since pages of a shared buffer,
    /// once touched, stay.
    pub most: u64,
}

impl ProcessMemory {
    /// Of the process `process` of the program `program`; `None` if there is none that may be inspected.
    pub fn from_process(process: u32, program: &str) -> Option<Self> {
        let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
        if !name.starts_with(program) {
            return None;
        }
        Self::parse(&std::fs::read_to_string(format!("/proc/{process}/status")).ok()?)
    }

    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| {
            let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kibibytes: u64 = rest
                .trim_start_matches(':')
                .split_whitespace()
                .next()?
                .parse()
                .ok()?;
            Some(kibibytes * 1024)
        };
        let own = field("RssAnon")?;
        let shared = field("RssFile")? + field("RssShmem")?;
        Some(Self {
            own,
            most: field("VmHWM")?.saturating_sub(shared).max(own),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_memory_is_told_apart_from_what_is_shared() {
        let status = "Name:\tpostgres\nVmHWM:\t   20000 kB\nRssAnon:\t    1000 kB\nRssFile:\t 3000 kB\nRssShmem:\t 9000 kB\n";
        let memory = ProcessMemory::parse(status).expect("all fields");
        assert_eq!((memory.own, memory.most), (1000 * 1024, 8000 * 1024));
        assert_eq!(ProcessMemory::parse("Name:\tpostgres\n"), None);
    }
}
