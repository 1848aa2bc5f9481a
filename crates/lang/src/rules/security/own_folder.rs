//! F616: a `file` tool or a program that writes where no step may.

use std::path::Path;

use crate::diagnostic::{LONGEST_MESSAGE, cut};
use crate::model::{FilePart, ProgramCommand, Touch, is_code, named_by_commands, own_by_name};
use crate::policy::from_project;
use crate::rules::prelude::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::source::{Span, normalised};

/// F616: a `file` tool or a program that writes where no step may: among files that programs run, or beside the script of a server or a program.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let scripts: Vec<(String, &str)> = plan
        .program
        .pipelines
        .iter()
        .flat_map(|pipeline| named_by_commands(pipeline).into_iter().map(move |named| (pipeline, named)))
        .filter(|(_, named)| !named.is_module && is_code(Path::new(named.path)) == Some(true))
        .map(|(pipeline, named)| (from_project(&pipeline.project, &normalised(&named.starts_in.join(named.path))), named.who))
        .collect();
    let of_files = file.tools.iter().filter(|(_, tool)| tool.opens(FilePart::Write));
    let of_files = of_files.filter_map(|(name, tool)| Some((format!("tool {}", quoted(name)), tool.span, tool.kind.folder()?)));
    let of_tools = file.tools.iter().filter_map(|(name, tool)| Some(of_program("tool", name, tool.kind.starts()?)));
    let of_models =
        file.models.iter().filter_map(|(name, model)| Some(of_program("the program of model", name, &model.provider.program()?.run)));
    let of_steps = pipeline.steps.iter().map(|planned| &planned.step);
    let of_steps = of_steps.filter_map(|step| Some(of_program("step", &step.id.value, step.kind.facts().starts?)));
    for (who, span, folder) in of_files.chain(of_tools.chain(of_models).chain(of_steps).flatten()) {
        let folder = from_project(&file.project, &normalised(folder));
        let script = scripts.iter().find(|(script, _)| Path::new(script).parent().is_some_and(|home| Path::new(&folder).starts_with(home)));
        let (why, help) = match (own_by_name(&Path::new(&folder).join("x"), Touch::Write), script) {
            (Some(why), _) => (format!("a file there {why}"), "write into a folder that is only for what steps write, such as out"),
            (None, Some((script, starts))) => (
                format!("{} runs {} there, and the files beside it", quoted(starts), quoted(script)),
                "put the script into a folder of its own, such as bin, and write into another one",
            ),
            (None, None) => continue,
        };
        let message = format!("{who} may not write into {}: {why}", quoted(&folder));
        out.push(Diagnostic::own_file(span, cut(&message, LONGEST_MESSAGE)).help(help));
    }
}

/// The folders that a program may change, each with who says so.
fn of_program<'p>(what: &str, name: &str, run: &'p ProgramCommand) -> Vec<(String, Span, &'p Path)> {
    let who = format!("{what} {}", quoted(name));
    run.writes.iter().map(|folder| (who.clone(), folder.span, folder.value.as_path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn a_folder_that_programs_run_files_from_is_written_by_no_tool() {
        let tools = |folder: &str, args: &str| {
            let server = format!("helper: {{ command: python3, args: {args}, allow: [x] }}");
            says(check, &format!("tools:\n  place: {{ file: {folder}, allow: [write] }}\n  {server}\nsteps: [{{ id: a, set: 1 }}]\n"))
        };
        assert_eq!(
            tools("out/.git/hooks", "[]"),
            "F616 4:3 tool \"place\" may not write into \"out/.git/hooks\": a file there is in a folder that programs run files from\n"
        );
        let beside =
            "F616 4:3 tool \"place\" may not write into \"servers/lib\": \"helper\" runs \"servers/x.py\" there, and the files beside it\n";
        assert_eq!(tools("servers/lib", "[servers/x.py]"), beside);
        assert!(tools(".", "[x.py]").starts_with("F616 "));
        assert!(tools("out", "['--script=./x.py']").starts_with("F616 "));
        assert_eq!(tools("servers/lib", "['-c', 'exec python3 servers/x.py']"), beside);
        for (folder, args) in [
            ("out", "[servers/x.py]"),
            ("servers", "[servers/in/x.py]"),
            ("notes", "[notes/settings.json]"),
            ("out", "['-m', out]"),
            ("out", "['-c', 'cd servers && python3 x.py']"),
        ] {
            assert_eq!(tools(folder, args), "", "{folder} {args}");
        }
        assert_eq!(says(check, "tools: { place: { file: .git } }\nsteps: [{ id: a, set: 1 }]\n"), "", "reading is not writing");
    }

    #[test]
    fn a_program_may_not_change_the_folder_of_a_script() {
        let step =
            |script: &str, writes: &str| says(check, &format!("steps:\n  - {{ id: a, program: [python3, {script}], writes: {writes} }}\n"));
        let beside = |folder: &str| {
            format!("F616 4:53 step \"a\" may not write into \"{folder}\": \"a\" runs \"script.py\" there, and the files beside it\n")
        };
        assert_eq!(step("script.py", "work"), beside("work"));
        assert_eq!(step("./script.py", "[work/out]").replace("./", ""), beside("work/out").replace("4:53", "4:56"));
        for (script, writes) in [("bin/script.py", "work"), ("bin/script.py", "[out, work]"), ("data.json", "work"), ("-m, script", "work")]
        {
            assert_eq!(step(script, writes), "", "{script} {writes}");
        }
        let agent = |words: &str, keys: &str| {
            let model = format!("m: {{ provider: cli, program: [python3, {words}], writes: out{keys} }}");
            says(check, &format!("models: {{ {model} }}\nagents: {{ x: {{ model: m }} }}\nsteps: [{{ id: a, agent: x, prompt: x }}]\n"))
        };
        assert!(agent("run.py", "").starts_with("F616 ") && agent("../run.py", ", folder: repo").starts_with("F616 "));
        assert_eq!(agent("../bin/run.py", ", folder: repo"), "");
    }
}
