//! Memory of a local server's process.

/// Read from `/proc/PID/status`, proc(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessMemory {
    /// Current private memory in bytes.
    pub own: u64,
    /// Lower bound of peak private memory in bytes. The kernel records the peak of private and
    /// shared memory together. The current shared part is subtracted, since touched pages of a
    /// shared buffer stay resident.
    pub most: u64,
}

impl ProcessMemory {
    /// `None` unless the process runs `program` and may be inspected.
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
