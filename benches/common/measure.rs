//! What something costs: time on the wall, time on the processor, memory.

use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// What some work cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// Time on the wall.
    pub wall: Duration,
    /// Time on processors, of the program and of the system for it.
    pub cpu: Duration,
}

/// Does some work and tells what it cost: this process (`RUSAGE_SELF`), or the children that ended meanwhile (`RUSAGE_CHILDREN`).
pub fn cost_of<T>(who: UsageWho, work: impl FnOnce() -> T) -> (T, Cost) {
    let (before, began) = (processor(who), clock());
    let done = work();
    (done, Cost { wall: began.elapsed(), cpu: processor(who).saturating_sub(before) })
}

/// The median of several times the same work, each of the two figures for itself.
pub fn median(times: usize, mut work: impl FnMut() -> Cost) -> Cost {
    let costs: Vec<Cost> = (0..times).map(|_| work()).collect();
    let middle = |figure: fn(&Cost) -> Duration| {
        let mut all: Vec<Duration> = costs.iter().map(figure).collect();
        all.sort();
        all[all.len() / 2]
    };
    Cost { wall: middle(|cost| cost.wall), cpu: middle(|cost| cost.cpu) }
}

/// Milliseconds with their fraction.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Microseconds of each of so many.
pub fn us_each(time: Duration, count: usize) -> f64 {
    time.as_secs_f64() * 1e6 / count as f64
}

/// The most memory that a process had so far, in MB: `VmHWM` of Linux; `None` elsewhere, and of a process that ended.
pub fn peak_mb(process: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1e3)
}

/// Now, by the clock that never jumps.
#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
pub fn clock() -> Instant {
    Instant::now()
}

fn processor(who: UsageWho) -> Duration {
    let time = |time: nix::sys::time::TimeVal| Duration::new(time.tv_sec() as u64, time.tv_usec() as u32 * 1000);
    getrusage(who).map_or(Duration::ZERO, |usage| time(usage.user_time()) + time(usage.system_time()))
}
