//! F616: a `file` tool that writes where no step may.

use std::path::Path;

use super::{Diagnostic, PipelinePlan, Plan, quoted};
use crate::diagnostic::{LONGEST_MESSAGE, cut};
use crate::model::{FilePart, Touch, is_code, named_by_commands, own_by_name};
use crate::policy::from_project;

/// F616: a `file` tool that writes where no step may: among files that programs run, or beside the script of a server.
pub(super) fn check(pipeline: &PipelinePlan, plan: &Plan, out: &mut Vec<Diagnostic>) {
    let file = &pipeline.pipeline;
    let scripts: Vec<(String, &str)> = plan
        .program
        .pipelines
        .iter()
        .flat_map(|pipeline| named_by_commands(pipeline).into_iter().map(move |named| (pipeline, named)))
        .filter(|(_, named)| !named.is_module && is_code(Path::new(named.path)) == Some(true))
        .map(|(pipeline, named)| (from_project(&pipeline.project, &pipeline.folder.join(named.path)), named.who))
        .collect();
    for (name, tool) in file.tools.iter().filter(|(_, tool)| tool.opens(FilePart::Write)) {
        let Some(folder) = tool.kind.folder() else { continue };
        let folder = from_project(&file.project, folder);
        let script = scripts.iter().find(|(script, _)| Path::new(script).parent().is_some_and(|home| Path::new(&folder).starts_with(home)));
        let (why, help) = match (own_by_name(&Path::new(&folder).join("x"), Touch::Write), script) {
            (Some(why), _) => (format!("a file there {why}"), "write into a folder that is only for what steps write, such as out"),
            (None, Some((script, server))) => (
                format!("tool {} runs {} there, and the files beside it", quoted(server), quoted(script)),
                "keep what servers run in a folder of its own, such as servers, and write into another one",
            ),
            (None, None) => continue,
        };
        let message = format!("tool {} may not write into {}: {why}", quoted(name), quoted(&folder));
        out.push(Diagnostic::own_file(tool.span, cut(&message, LONGEST_MESSAGE)).help(help));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

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
        let beside = "F616 4:3 tool \"place\" may not write into \"servers/lib\": tool \"helper\" runs \"servers/x.py\" there, and the files beside it\n";
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
}
