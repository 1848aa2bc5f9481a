//! What a check and a run cost as they grow: counted in memory that is asked for, never in time. What is copied once too often for each step
//! shows as a count that grows faster than the file; what is searched once too often shows in how long these tests take.

use std::path::Path;

use flow::event::RunStatus;
use flow::port::{MemoryFiles, ModelReply};
use flow_engine::{CallReply, Command, Input};
use flow_lang::check::{Checked, check_file};

#[path = "../../benches/common/shapes.rs"]
mod shapes;
#[path = "../../benches/common/started.rs"]
mod started;

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

/// What grows faster than its size, from `few` to four times as many. What other tests do at the same moment is noise both ways: caches of
/// patterns and of compiled texts are filled for us, or are emptied by us. So what seems too much is measured again, small and large.
fn too_much(few: usize, mut cost: impl FnMut(usize) -> (u64, u64, u64)) -> Vec<String> {
    let mut least = [f64::INFINITY; 3];
    for _ in 0..5 {
        let (small, large) = (cost(few), cost(few * 4));
        for (least, (small, large)) in least.iter_mut().zip([(small.0, large.0), (small.1, large.1), (small.2, large.2)]) {
            *least = least.min(large as f64 / small as f64);
        }
        if least.iter().all(|more| *more <= MOST) {
            break;
        }
    }
    let named = least.into_iter().zip(["allocations", "bytes", "bytes at once"]);
    named.filter(|(more, _)| *more > MOST).map(|(more, what)| format!("{more:.1} times the {what}")).collect()
}

/// Says which of these cost more than they should as they grow from `few` to four times as many.
fn check_growth(shapes: &[shapes::Shape], few: usize) {
    let wrong: Vec<String> = shapes
        .iter()
        .flat_map(|(name, make)| too_much(few, |size| cost(&make(size))).into_iter().map(move |what| format!("{name}: {what}")))
        .collect();
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

/// A run whose calls are all answered when no more goes out: what it asks for, and how many calls were out at once.
fn run_cost(text: &str) -> ((u64, u64, u64), usize) {
    let plan = std::sync::Arc::new(checked(text).plan);
    let mut most = 0;
    let info = allocation_counter::measure(|| {
        let mut run = started::begun(&plan);
        while run.state().finished.is_none() {
            while run.next_event().is_some() {}
            let out: Vec<u64> = std::iter::from_fn(|| run.next_command())
                .filter_map(|command| if let Command::Call { call, .. } = command { Some(call) } else { None })
                .collect();
            assert!(!out.is_empty(), "the run goes on");
            most = most.max(out.len());
            for call in out {
                let result = Ok(CallReply::Model(ModelReply { text: "Done.".into(), ..ModelReply::default() }));
                run.handle(Input::Reply { call, result }, started::moment());
                while run.next_event().is_some() {}
            }
        }
        assert_eq!(run.state().finished.as_ref().map(|end| end.status), Some(RunStatus::Succeeded));
    });
    ((info.count_total, info.bytes_total, info.bytes_max), most)
}

/// Elements that ask a model, so many at once.
fn asking(elements: usize, at_once: usize) -> String {
    format!(
        "flow: 1\nname: wide\nlimits: {{ max_parallel: {at_once} }}\nmodels: {{ default: {{ provider: openai, model: m }} }}\nagents: {{ w: {{}} }}\n\
         steps:\n  - {{ id: each, for_each: range({elements}), max_parallel: {at_once}, agent: w, prompt: \"Number {{{{ item }}}}.\" }}\n\
         outputs: {{ n: \"{{{{ steps.each.output | length }}}}\" }}\n"
    )
}

#[test]
fn a_run_of_four_times_as_many_steps_or_calls_costs_about_four_times_as_much() {
    type Sized = fn(usize) -> String;
    let runs: [(&str, Sized, usize); 3] =
        [("chain", shapes::chain, 0), ("all at once", |n| asking(n, n), 1), ("eight at once", |n| asking(n, 8), 0)];
    for (name, make, per_element) in runs {
        let wrong = too_much(500, |size| {
            let (cost, out) = run_cost(&make(size));
            assert!(out >= size * per_element, "{name}");
            cost
        });
        assert!(wrong.is_empty(), "{name}: {}", wrong.join(", "));
    }
}

/// What a text of so many paragraphs asks for on its way through a channel that sends parts, whose numbers have three digits: a text is cut again for each digit.
fn format_cost(paragraphs: usize) -> (u64, u64, u64) {
    let file = "flow: 1\nchannel: long\nmax_length: 200\nlength_unit: characters\nmarkdown: [bold, italic, links, lists]\n\
                emojis: true\nsplit: { at: sentence, most_parts: 10000 }\nbody: text\n";
    let checked = check_file(Path::new("/f/long.yaml"), Path::new("/f"), &MemoryFiles::from_iter([("/f/long.yaml", file)]));
    let channel = checked.loaded.channel.unwrap();
    let text = "The **project** took [four](https://example.com) *hours*; it takes three.\n\n- one & two\n\n".repeat(paragraphs);
    let mut parts = 0;
    let info = allocation_counter::measure(|| parts = flow_lang::channel::format(&text, &channel, None, None).unwrap().parts.len());
    assert!((100..1_000).contains(&parts), "{parts}");
    (info.count_total, info.bytes_total, info.bytes_max)
}

#[test]
fn a_text_of_four_times_the_length_costs_a_channel_about_four_times_as_much() {
    let wrong = too_much(250, format_cost);
    assert!(wrong.is_empty(), "{}", wrong.join(", "));
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
