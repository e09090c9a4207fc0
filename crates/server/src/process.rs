//! What the system knows of this process: the metrics that every client library of Prometheus has.

use std::fs;

use crate::metrics::Exposition;

/// Adds `process_…`: names, units and words as the client libraries have them. Nothing where there is no `/proc`.
pub(crate) fn describe(out: &mut Exposition) {
    let Some(told) = Told::read() else { return };
    for (name, kind, help, value) in [
        (
            "process_cpu_seconds_total",
            "counter",
            "Total user and system CPU time spent in seconds.",
            Some(told.cpu_s),
        ),
        (
            "process_resident_memory_bytes",
            "gauge",
            "Resident memory size in bytes.",
            Some(told.resident_bytes),
        ),
        (
            "process_virtual_memory_bytes",
            "gauge",
            "Virtual memory size in bytes.",
            Some(told.virtual_bytes),
        ),
        (
            "process_start_time_seconds",
            "gauge",
            "Start time of the process since unix epoch in seconds.",
            told.started_s,
        ),
        (
            "process_open_fds",
            "gauge",
            "Number of open file descriptors.",
            open_files(),
        ),
        (
            "process_max_fds",
            "gauge",
            "Maximum number of open file descriptors.",
            most_files(),
        ),
        (
            "process_threads",
            "gauge",
            "Number of OS threads in the process.",
            Some(told.threads),
        ),
    ] {
        if let Some(value) = value {
            out.metric(name, kind, help);
            out.sample(name, &[], value);
        }
    }
}

/// What the system tells of this process.
pub(crate) struct Told {
    pub(crate) cpu_s: f64,
    threads: f64,
    started_s: Option<f64>,
    virtual_bytes: f64,
    pub(crate) resident_bytes: f64,
}

impl Told {
    /// As of now; `None` where there is no `/proc`.
    pub(crate) fn read() -> Option<Told> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        let page_bytes = rustix::param::page_size() as f64;
        let booted_s = fs::read_to_string("/proc/stat").ok().and_then(|text| {
            let line = text.lines().find_map(|line| line.strip_prefix("btime "))?;
            line.trim().parse::<f64>().ok()
        });
        let of = fields(&text)?;
        Some(Told {
            cpu_s: (of.user + of.system) / ticks_per_s,
            threads: of.threads,
            started_s: booted_s.map(|booted| booted + of.started / ticks_per_s),
            virtual_bytes: of.virtual_bytes,
            resident_bytes: of.resident_pages * page_bytes,
        })
    }
}

struct Fields {
    user: f64,
    system: f64,
    threads: f64,
    started: f64,
    virtual_bytes: f64,
    resident_pages: f64,
}

/// The fields of `/proc/self/stat` (proc_pid_stat(5)) behind the program's name, which may hold anything.
fn fields(text: &str) -> Option<Fields> {
    let (_, behind) = text.rsplit_once(") ")?;
    let all: Vec<&str> = behind.split_ascii_whitespace().collect();
    // The first of these is the third of the page.
    let field = |number: usize| all.get(number - 3)?.parse::<f64>().ok();
    Some(Fields {
        user: field(14)?,
        system: field(15)?,
        threads: field(20)?,
        started: field(22)?,
        virtual_bytes: field(23)?,
        resident_pages: field(24)?,
    })
}

fn open_files() -> Option<f64> {
    // The folder that is read is one of them.
    Some(fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as f64)
}

fn most_files() -> Option<f64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current.map(|files| files as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_behind_a_name_that_holds_anything() {
        let text = "7 (a) b) S 1 7 7 0 -1 4194304 1 2 3 4 150 50 0 0 20 0 3 0 4200 1048576 25 18446744073709551615 1";
        let found = fields(text).unwrap();
        assert_eq!((found.user, found.system, found.threads), (150.0, 50.0, 3.0));
        assert_eq!(
            (found.started, found.virtual_bytes, found.resident_pages),
            (4200.0, 1_048_576.0, 25.0)
        );
        assert!(fields("nothing").is_none());
    }
}
