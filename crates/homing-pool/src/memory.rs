//! Determines how much memory this process may use, if the system reports it.

use std::fs;
use std::path::Path;

/// Returns how many bytes of memory this process may use, or `None` if the system does not report it.
///
/// This is the smallest of what is left of the limit on the address space, of the limit of the control group and of the memory of
/// the machine.
pub fn allowed() -> Option<u64> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let status = text("/proc/self/status");
    let left = |limit: u64, used: &str| limit.saturating_sub(kilobytes(&status, used));
    let address_space = address_limit(&text("/proc/self/limits")).map(|limit| left(limit, "VmSize:"));
    let machine = Some(kilobytes(&text("/proc/meminfo"), "MemAvailable:")).filter(|&bytes| bytes > 0);
    // Pages of files do not count, because the system can drop them.
    let group = group_limit(&text("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    let group = group.map(|limit| left(limit, "RssAnon:"));
    [address_space, group, machine].into_iter().flatten().min()
}

/// Returns the limit on the address space (`ulimit -v`) in bytes.
fn address_limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the number after `name`, converted from kilobytes to bytes; zero if it is missing.
fn kilobytes(table: &str, name: &str) -> u64 {
    let line = table.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.map_or(0, |number| number.saturating_mul(1024))
}

/// Returns the smallest memory limit of the control groups in `membership` and their parents, in version 2 or 1.
fn group_limit(membership: &str, mounted: &Path) -> Option<u64> {
    let limits = membership.lines().flat_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let (folder, file) = match controllers {
            "" => (mounted.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (mounted.join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let group = Path::new(group.trim_start_matches('/'));
        let limit = |group: &Path| fs::read_to_string(folder.join(group).join(file)).ok()?.trim().parse().ok();
        group.ancestors().filter_map(limit).collect::<Vec<u64>>()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_on_the_address_space_is_read() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max address space         2048000000           unlimited            bytes     \n";
        assert_eq!(address_limit(limits), Some(2_048_000_000));
        assert_eq!(address_limit(&limits.replace("2048000000", "unlimited")), None);
        assert_eq!(address_limit(""), None);
        assert_eq!(kilobytes("VmPeak:\t 9 kB\nVmSize:\t    5240 kB\n", "VmSize:"), 5240 * 1024);
    }

    #[test]
    fn the_tightest_group_counts() {
        let mounted = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = mounted.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/memory.max", "3000\n");
        write("a/b/memory.max", "max\n");
        assert_eq!(group_limit("0::/a/b\n", mounted.path()), Some(3000));
        write("a/b/memory.max", "2000\n");
        assert_eq!(group_limit("0::/a/b\n", mounted.path()), Some(2000));
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/job/memory.limit_in_bytes", "1000\n");
        assert_eq!(group_limit("5:cpu,memory:/job\n4:pids:/a\n", mounted.path()), Some(1000));
        assert_eq!(group_limit("5:memory:/elsewhere\n", mounted.path()), Some(9_223_372_036_854_771_712));
        assert_eq!(group_limit("", mounted.path()), None);
    }
}
