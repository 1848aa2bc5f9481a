//! What a check costs as files grow: counted in memory that is asked for, never in time. What is copied once too often for each step
//! shows as a count that grows faster than the file; what is searched once too often shows in how long these tests take.

use std::path::Path;

use flow::check::{Checked, check_file};
use flow::port::MemoryFiles;

#[path = "../../benches/common/shapes.rs"]
mod shapes;

/// How many times more a file of four times the size may ask for. Lists and tables double now and then.
const MOST: f64 = 5.0;
/// Most bytes that are held at once for a file that is as large as files may be.
const MOST_HELD: u64 = 200 * 1024 * 1024;

fn checked(text: &str) -> Checked {
    check_file(Path::new("/files/a.yaml"), Path::new("/files"), &MemoryFiles::from_iter([("/files/a.yaml", text)]))
}

/// What a check asks for: how often, how many bytes in all, and how many at once.
fn cost(text: &str) -> (u64, u64, u64) {
    let info = allocation_counter::measure(|| drop(checked(text)));
    (info.count_total, info.bytes_total, info.bytes_max)
}

/// Says which of these cost more than they should as they grow from `few` to four times as many.
fn check_growth(shapes: &[shapes::Shape], few: usize) {
    let mut wrong = vec![];
    for (name, make) in shapes {
        let (small, large) = (cost(&make(few)), cost(&make(few * 4)));
        for (what, small, large) in [("allocations", small.0, large.0), ("bytes", small.1, large.1), ("bytes at once", small.2, large.2)] {
            let more = large as f64 / small as f64;
            if more > MOST {
                wrong.push(format!("{name}: {more:.1} times the {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_correct_file_of_four_times_the_size_costs_about_four_times_as_much() {
    check_growth(shapes::SHAPES, 100);
}

#[test]
fn so_does_a_file_of_four_times_as_many_mistakes() {
    // Fewer would all be compared with every name for "did you mean".
    check_growth(shapes::MISTAKES, 200);
}

#[test]
fn the_shapes_are_correct_and_the_mistakes_are_none() {
    for (name, make) in shapes::SHAPES {
        let found = checked(&make(60)).diagnostics;
        assert!(found.iter().all(|found| found.code.id() == "F105"), "{name}: {:?}", found.first());
    }
    for (name, make) in shapes::MISTAKES {
        assert!(!checked(&make(60)).diagnostics.is_empty(), "{name}");
    }
}

#[test]
fn a_file_of_12_000_steps_is_checked_on_an_ordinary_stack_in_200_mib() {
    let worker = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(|| {
        let text = shapes::chain(12_000);
        assert!(text.len() <= 1024 * 1024);
        let mut findings = vec![];
        let info = allocation_counter::measure(|| findings = checked(&text).diagnostics);
        assert_eq!(findings, []);
        assert!(info.bytes_max < MOST_HELD, "{} bytes", info.bytes_max);
    });
    worker.unwrap().join().unwrap();
}
