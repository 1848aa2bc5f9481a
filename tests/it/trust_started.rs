//! What a server runs of the project: no step writes it, a change of it is asked about, and one in mid-run is not started. Each of these for every way
//! to name it in a command.

use std::path::Path;

use tempfile::TempDir;

use crate::extras::{Extra, has};
use crate::program::{Ran, command, ran, until};

/// A server that leaves a mark and ends.
const SCRIPT: &str = "open('started', 'a').write('x')\n";

/// A way to name what is run; the file that is run; how the command names it; variables of the surroundings.
struct Way {
    tool: &'static str,
    file: &'static str,
    set: &'static [(&'static str, &'static str)],
}

const fn way(tool: &'static str, file: &'static str) -> Way {
    Way { tool, file, set: &[] }
}

const WAYS: [Way; 31] = [
    way("command: python3, args: [servers/mcp.py]", "servers/mcp.py"),
    way("command: python3, args: [servers]", "servers/__main__.py"),
    way("command: python3, args: [./servers/]", "servers/__main__.py"),
    way("command: sh, args: [-c, 'exec python3 servers/mcp.py']", "servers/mcp.py"),
    way("command: sh, args: [-c, 'cd servers && python3 mcp.py']", "servers/mcp.py"),
    way("command: sh, args: [-c, 'python3 $PWD/servers/mcp.py']", "servers/mcp.py"),
    way("command: python3, args: ['{{ env.SCR | default(\"servers/mcp.py\") }}']", "servers/mcp.py"),
    Way { tool: "command: python3, args: ['{{ env.SCR }}']", file: "servers/mcp.py", set: &[("SCR", "servers/mcp.py")] },
    way("command: python3, args: ['{{ inputs.f }}']", "servers/mcp.py"),
    way("command: python3, args: [-m, servers.mcp]", "servers/mcp.py"),
    way("command: python3, args: [-m, servers]", "servers/__main__.py"),
    way("command: python3, args: [-mservers.mcp]", "servers/mcp.py"),
    way("command: python3, args: [-m, mcp], env: { PYTHONPATH: '/nowhere:servers' }", "servers/mcp.py"),
    way("command: env, args: ['-Spython3 servers/mcp.py']", "servers/mcp.py"),
    way("command: env, args: [-C, servers, python3, mcp.py]", "servers/mcp.py"),
    way("command: env, args: [--chdir=servers, python3, mcp.py]", "servers/mcp.py"),
    way("command: python3, args: [lib/main.py, -cconf/a.json]", "conf/a.json"),
    way("command: python3, args: [lib/main.py, '@conf/a.json']", "conf/a.json"),
    way("command: python3, args: [lib/main.py, 'file:conf/a.json']", "conf/a.json"),
    way("command: python3, args: [lib/main.py, '--config=conf/b.json,conf/a.json']", "conf/a.json"),
    way("command: python3, args: [-um, servers.mcp]", "servers/mcp.py"),
    way("command: python3, args: [-Bum, servers]", "servers/__main__.py"),
    way("command: sh, args: [-c, \"exec python3 'my servers/mcp.py'\"]", "my servers/mcp.py"),
    way("command: sh, args: [-c, 'exec python3 my\\ servers/mcp.py']", "my servers/mcp.py"),
    way("command: sh, args: [-c, \"cd 'my servers' && exec python3 mcp.py\"]", "my servers/mcp.py"),
    way("command: sh, args: [-c, 'exec python3 serv*/mcp.py']", "servers/mcp.py"),
    way("command: sh, args: [-c, 'exec python3 */mcp.py']", "servers/mcp.py"),
    way("command: sh, args: [-c, \"exec python3 ser''vers/mcp.py\"]", "servers/mcp.py"),
    way("command: python3, args: [-c, 'import servers.mcp']", "servers/mcp.py"),
    way("command: bash, args: [-c, 'true; exec python3 lib/main.py'], env: { BASH_ENV: conf/e.txt }", "conf/e.txt"),
    way("command: python3, args: [lib/main.py, run, --project, app]", "app/Program.cs"),
];

fn project(way: &Way) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("flow.toml", "");
    write("lib/main.py", SCRIPT);
    write(way.file, if way.file.ends_with(".py") { SCRIPT } else { "{}" });
    folder
}

/// Does it for every one, some at once.
fn for_each<T: Sync>(all: &[T], check: impl Fn(usize, &T) + Sync) {
    let check = &check;
    std::thread::scope(|scope| {
        for hand in 0..4 {
            scope.spawn(move || all.iter().enumerate().skip(hand).step_by(4).for_each(|(at, one)| check(at, one)));
        }
    });
}

fn for_each_way(check: impl Fn(usize, &Way) + Sync) {
    for_each(&WAYS, check);
}

/// A pipeline that writes `name` into `place`, waits, and starts the server.
fn pipeline(way: &Way, place: &str, name: &str) -> String {
    format!(
        "flow: 1\nname: p\ndescription: Starts a server.\ninputs: {{ f: {{ type: text, default: servers/mcp.py }} }}\ntools:\n  s: {{ {}, allow: [x], connect_timeout: 20s }}\n  place: {{ file: {place}, allow: [write] }}\nsteps:\n  - {{ id: write, tool: place.write, with: {{ name: {name}, text: \"# other\" }}, on_failure: continue }}\n  - {{ id: start, tool: s.x, needs: [write], on_failure: continue }}\n",
        way.tool
    )
}

fn flow(folder: &Path, way: &Way, arguments: &[&str]) -> Ran {
    ran(command(folder, arguments).envs(way.set.iter().copied()))
}

fn started(folder: &Path) -> bool {
    let home = |name: &str| folder.join(name);
    ["started", "servers/started", "my servers/started"].iter().any(|name| std::fs::remove_file(home(name)).is_ok())
}

#[test]
fn no_step_writes_what_a_server_runs_however_it_is_named() {
    for_each_way(|_, way| {
        let project = project(way);
        let folder = project.path();
        let (place, name) = way.file.split_once('/').unwrap();
        let before = std::fs::read_to_string(folder.join(way.file)).unwrap();
        std::fs::write(folder.join("p.yaml"), pipeline(way, place, name)).unwrap();
        let said = flow(folder, way, &["run", "p.yaml", "--trust", "-v"]);
        let is_told = said.err.contains("F616") || said.err.contains("no step may write");
        assert!(is_told, "{}: {}", way.tool, said.err);
        assert_eq!(std::fs::read_to_string(folder.join(way.file)).unwrap(), before, "{}", way.tool);
    });
}

#[test]
fn a_change_of_what_a_server_runs_is_asked_about_however_it_is_named() {
    if !has(&[Extra::Python]) {
        return;
    }
    for_each_way(|_, way| {
        let project = project(way);
        let folder = project.path();
        std::fs::write(folder.join("p.yaml"), pipeline(way, "out", "a.txt")).unwrap();
        assert_eq!(flow(folder, way, &["trust", "p.yaml"]).exit, 0, "{}", way.tool);
        let said = flow(folder, way, &["run", "p.yaml"]);
        assert_eq!((said.exit, started(folder)), (0, true), "{}: {}", way.tool, said.err);
        let said = flow(folder, way, &["run", "p.yaml"]);
        assert_eq!((said.exit, started(folder)), (0, true), "what the server left changes nothing, {}: {}", way.tool, said.err);
        let before = std::fs::read_to_string(folder.join(way.file)).unwrap();
        std::fs::write(folder.join(way.file), format!("{before} ")).unwrap();
        let said = flow(folder, way, &["run", "p.yaml"]);
        assert_eq!((said.exit, started(folder)), (6, false), "{}: {}", way.tool, said.err);
        assert!(said.err.contains("is not what you trusted on"), "{}: {}", way.tool, said.err);
    });
}

#[test]
fn what_changes_while_a_run_waits_is_not_started_however_it_is_named_and_whoever_agreed() {
    for_each_way(|at, way| {
        let project = project(way);
        let folder = project.path();
        let waits = pipeline(way, "out", "a.txt").replace("  - { id: start", "  - { id: wait, wait: 1s }\n  - { id: start");
        let waits = waits.replace("needs: [write]", "needs: [write, wait]");
        // A server that some policy may reject does not start with the run.
        let waits = waits.replace("tools:\n", "policies: { narrow: { allowed_tools: [place.write] } }\ntools:\n");
        std::fs::write(folder.join("p.yaml"), waits).unwrap();
        // The first half by the list, the others by the flag.
        let flag: &[&str] = if at % 2 == 0 { &["run", "p.yaml", "-v"] } else { &["run", "p.yaml", "-v", "--trust"] };
        if at % 2 == 0 {
            assert_eq!(flow(folder, way, &["trust", "p.yaml"]).exit, 0);
        }
        let before = std::fs::read_to_string(folder.join(way.file)).unwrap();
        let mut run = command(folder, flag);
        run.envs(way.set.iter().copied()).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        let child = run.spawn().unwrap();
        // The step before the wait has written: all that is asked about was looked at.
        until("the step before the wait did not write", || folder.join("out/a.txt").exists());
        std::fs::write(folder.join(way.file), format!("{before} ")).unwrap();
        let said = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(!started(folder), "{}: {err}", way.tool);
        let name = Path::new(way.file).file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            err.contains("was not started") && err.contains(&format!("{name} has changed since it was trusted")),
            "{}: {err}",
            way.tool
        );
        assert!(err.contains("flow trust p.yaml"), "{}: {err}", way.tool);
    });
}

#[test]
fn a_folder_of_data_that_a_server_is_given_is_written_and_code_in_it_is_not() {
    if !has(&[Extra::Python]) {
        return;
    }
    let way = way("command: python3, args: [lib/main.py, ./notes]", "lib/main.py");
    let names = ["a.md", "a.json", "a"].map(|name| (name, true));
    let code = ["__main__.py", "index.js", "package.json", "Makefile", "go.mod", "x.rs", "x.node", "deno.jsonc"];
    let files: Vec<_> = names.into_iter().chain(code.map(|name| (name, false))).collect();
    let cases: Vec<_> = [false, true].into_iter().flat_map(|is_there| files.iter().map(move |file| (is_there, *file))).collect();
    for_each(&cases, |_, &(is_there, (name, is_data))| {
        let project = project(&way);
        let folder = project.path();
        if is_there {
            std::fs::create_dir(folder.join("notes")).unwrap();
            std::fs::write(folder.join("notes/before.md"), "x").unwrap();
        }
        std::fs::write(folder.join("p.yaml"), pipeline(&way, "notes", name)).unwrap();
        assert_eq!(flow(folder, &way, &["trust", "p.yaml"]).exit, 0);
        let said = flow(folder, &way, &["run", "p.yaml", "-v"]);
        assert_eq!((folder.join("notes").join(name).exists(), started(folder)), (is_data, true), "{name}: {}", said.err);
        assert_eq!(said.err.contains("no step may write"), !is_data, "{name}: {}", said.err);
        let again = flow(folder, &way, &["run", "p.yaml"]);
        assert!(!again.err.contains("trusted"), "data asks nobody again, {name}: {}", again.err);
    });
}

#[test]
fn what_the_servers_of_another_pipeline_run_is_not_written_either() {
    let way = way("command: python3, args: [servers/mcp.py]", "servers/mcp.py");
    for (name, is_data) in [("mcp.py", false), ("json.py", false)] {
        let project = project(&way);
        let folder = project.path();
        std::fs::write(folder.join("other.yaml"), pipeline(&way, "out", "a.txt")).unwrap();
        let writes = format!(
            "flow: 1\nname: w\ndescription: Writes.\ntools: {{ place: {{ file: servers, allow: [write] }} }}\nsteps: [{{ id: write, tool: place.write, with: {{ name: {name}, text: x }} }}]\n"
        );
        std::fs::write(folder.join("w.yaml"), writes).unwrap();
        let said = flow(folder, &way, &["run", "w.yaml"]);
        assert_eq!((said.exit == 0, said.err.contains("no step may write")), (is_data, true), "{name}: {}", said.err);
        assert_eq!(std::fs::read_to_string(folder.join("servers/mcp.py")).unwrap(), SCRIPT);
    }
}

#[test]
fn what_python_compiled_for_flow_is_no_code_of_the_project_that_it_lies_in() {
    if !has(&[Extra::Python]) {
        return;
    }
    let way = way("command: python3, args: [servers/mcp.py, .]", "servers/mcp.py");
    let project = project(&way);
    let folder = project.path();
    std::fs::write(folder.join("servers/mcp.py"), format!("import helper\n{SCRIPT}")).unwrap();
    std::fs::write(folder.join("servers/helper.py"), "").unwrap();
    std::fs::write(folder.join("p.yaml"), pipeline(&way, "out", "a.txt")).unwrap();
    let state = folder.join("state");
    let flow = |arguments: &[&str]| ran(command(folder, arguments).env("XDG_STATE_HOME", &state));
    assert_eq!(flow(&["trust", "p.yaml"]).exit, 0);
    for _ in 0..2 {
        let said = flow(&["run", "p.yaml"]);
        assert!(!said.err.contains("trusted") && started(folder), "{}", said.err);
    }
    let kept: Vec<_> = std::fs::read_dir(state.join("flow/compiled")).unwrap().collect();
    assert!(!kept.is_empty(), "Python compiled nothing");
}

#[test]
fn what_a_program_of_another_pipeline_only_looks_at_is_written() {
    let project = tempfile::tempdir().unwrap();
    let put = |name: &str, text: String| std::fs::write(project.path().join(name), text).unwrap();
    let pipeline = |step: &str| format!("flow: 1\nname: p\ndescription: One step.\nsteps: [{{ id: s, {step} }}]\n");
    std::fs::create_dir(project.path().join("out")).unwrap();
    put("w.yaml", pipeline("program: [touch, out/a], writes: out"));
    for (at, look) in ["[ls, out]", "[grep, -r, x, out]", "[git, diff, --, out]", "[find, ./out]"].into_iter().enumerate() {
        put(&format!("z{at}.yaml"), pipeline(&format!("program: {look}, reads_only: true")));
    }
    let agent = "flow: 1\nname: p\ndescription: Reads.\nmodels: { m: { provider: cli, preset: codex, folder: out, price: { input: 1, output: 1 } } }\nagents: { a: { model: m, instructions: Look. } }\nsteps: [{ id: s, agent: a, prompt: hi }]\n";
    put("zz.yaml", agent.to_owned());
    for _ in 0..2 {
        let said = ran(&mut command(project.path(), &["run", "w.yaml", "--trust"]));
        assert_eq!(said.exit, 0, "{}", said.err);
    }
    // What runs code from there is another matter.
    put("zz.yaml", pipeline("program: [python3, out/run.py], reads_only: true"));
    std::fs::write(project.path().join("out/run.py"), "").unwrap();
    let said = ran(&mut command(project.path(), &["run", "w.yaml", "--trust"]));
    assert!(said.exit == 6 && said.err.contains("no step may write"), "{}", said.err);
}

#[test]
fn a_file_that_is_not_there_yet_and_that_a_command_names_is_not_written_either() {
    for (tool, name) in [
        ("command: python3, args: [lib/main.py, --config=conf/x.json]", "x.json"),
        ("command: sh, args: [-c, '[ -f conf/env.txt ] && . conf/env.txt; exec python3 lib/main.py']", "env.txt"),
    ] {
        let way = way(tool, "lib/main.py");
        let project = project(&way);
        let folder = project.path();
        std::fs::write(folder.join("p.yaml"), pipeline(&way, "conf", name)).unwrap();
        let said = flow(folder, &way, &["run", "p.yaml", "--trust", "-v"]);
        assert!(said.err.contains("no step may write") && !folder.join("conf").join(name).exists(), "{tool}: {}", said.err);
    }
}

#[test]
fn a_change_of_what_lies_beside_a_script_is_asked_about_and_installed_packages_are_not_looked_at() {
    let way = way("command: python3, args: [servers/mcp.py]", "servers/mcp.py");
    for (name, asks) in [
        ("servers/helper.py", true),
        ("servers/lib/more.py", true),
        ("servers/node_modules/a/index.js", false),
        ("servers/notes.md", false),
        ("other/x.py", false),
    ] {
        let project = project(&way);
        let folder = project.path();
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "# first").unwrap();
        std::fs::write(folder.join("p.yaml"), pipeline(&way, "out", "a.txt")).unwrap();
        assert_eq!(flow(folder, &way, &["trust", "p.yaml"]).exit, 0);
        assert_eq!(flow(folder, &way, &["run", "p.yaml"]).exit, 0);
        std::fs::write(&path, "# second").unwrap();
        let said = flow(folder, &way, &["run", "p.yaml"]);
        assert_eq!(said.exit == 6, asks, "{name}: {}", said.err);
    }
}

#[test]
fn what_only_a_run_names_is_no_program_of_an_interpreter_whatever_it_is_called_and_wherever_it_lies() {
    if !has(&[Extra::Python]) {
        return;
    }
    let way = way("command: python3, args: ['{{ inputs.f }}']", "servers/mcp.py");
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("x.txt"), SCRIPT).unwrap();
    for file in ["lib/main.py", "lib/data.txt", &elsewhere.path().join("x.txt").display().to_string()] {
        let project = project(&way);
        let folder = project.path();
        std::fs::write(folder.join("lib/data.txt"), SCRIPT).unwrap();
        std::fs::write(folder.join("p.yaml"), pipeline(&way, "out", "a.txt")).unwrap();
        assert_eq!(flow(folder, &way, &["trust", "p.yaml"]).exit, 0);
        let said = flow(folder, &way, &["run", "p.yaml", "--input", &format!("f={file}"), "-v"]);
        assert!(!started(folder) && said.err.contains("is named by a value of this run only"), "{file}: {}", said.err);
        let said = flow(folder, &way, &["run", "p.yaml", "--input", &format!("f={file}"), "--trust"]);
        assert!(started(folder), "{file}: {}", said.err);
    }
}

#[test]
fn what_a_trusted_pipeline_that_no_search_finds_runs_is_not_written() {
    let way = way("command: python3, args: [../servers/mcp.py]", "servers/mcp.py");
    for name in [".real/5.yaml", "flows/crm", "flows/j.json"] {
        let project = project(&way);
        let folder = project.path();
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = "flow: 1\nname: o\ndescription: Other.\ntools: { s: { command: python3, args: [../servers/mcp.py], allow: [x] } }\nsteps: [{ id: a, tool: s.x }]\n";
        std::fs::write(&path, text).unwrap();
        let said = flow(folder, &way, &["trust", name]);
        assert_eq!(said.exit, 0, "{name}: {}", said.err);
        let writes = "flow: 1\nname: w\ndescription: Writes.\ntools: { place: { file: servers, allow: [write] } }\nsteps: [{ id: write, tool: place.write, with: { name: json.py, text: x } }]\n";
        std::fs::write(folder.join("w.yaml"), writes).unwrap();
        let said = flow(folder, &way, &["run", "w.yaml"]);
        assert!(said.exit != 0 && said.err.contains("no step may write"), "{name}: {}", said.err);
    }
}

/// A module that leaves a mark, compiled so that Python runs it whatever the script beside it says (an unchecked hash, PEP 552).
fn compiled(folder: &Path, module: &str) {
    let code = "import importlib._bootstrap_external as b, importlib.util as u, os, sys\n\
        folder, name = sys.argv[1:]\n\
        code = compile(\"open('untold', 'w')\", name + '.py', 'exec')\n\
        source = open(os.path.join(folder, name + '.py'), 'rb').read()\n\
        file = u.cache_from_source(os.path.join(folder, name + '.py'))\n\
        os.makedirs(os.path.dirname(file), exist_ok=True)\n\
        open(file, 'wb').write(b._code_to_hash_pyc(code, u.source_hash(source), False))\n";
    let mut python = std::process::Command::new("python3");
    python.env_remove("PYTHONPYCACHEPREFIX").args(["-c", code]).arg(folder).arg(module);
    assert!(python.status().unwrap().success());
}

#[test]
fn compiled_code_beside_a_script_does_not_run_or_is_asked_about() {
    if !has(&[Extra::Python]) {
        return;
    }
    let plain = "import helper\nopen('started', 'a').write('x')\n";
    let ways = [
        ("command: python3, args: [servers/t.py]", plain, false),
        ("command: python3, args: [-u, servers/t.py]", plain, false),
        ("command: sh, args: [-c, 'exec python3 servers/t.py']", plain, false),
        ("command: env, args: [-C, servers, python3, t.py]", plain, false),
        // These take no variables, so the cache counts as code, which Python itself fills at first.
        ("command: python3, args: [-E, servers/t.py]", plain, true),
        ("command: python3, args: [-sE, servers/t.py]", plain, true),
        ("command: sh, args: [-c, 'exec python3 -E servers/t.py']", plain, true),
        ("command: python3, args: [-BE, servers/t.py]", plain, true),
        ("command: python3, args: [-B, -X, 'pycache_prefix=', servers/t.py]", plain, true),
        ("command: env, args: [-i, python3, -B, servers/t.py]", plain, true),
        ("command: sh, args: [-c, 'unset PYTHONPYCACHEPREFIX; exec python3 -B servers/t.py']", plain, true),
        (
            "command: python3, args: [-B, servers/t.py]",
            "import sys; sys.pycache_prefix = None\nimport helper\nopen('started', 'a').write('x')\n",
            true,
        ),
    ];
    for_each(&ways, |_, (tool, script, asks)| {
        let is_filled = *asks && !tool.contains("-B");
        let way = way(tool, "servers/t.py");
        let project = project(&way);
        let folder = project.path();
        std::fs::write(folder.join("servers/t.py"), script).unwrap();
        std::fs::write(folder.join("servers/helper.py"), "X = 1\n").unwrap();
        std::fs::write(folder.join("p.yaml"), pipeline(&way, "out", "a.txt")).unwrap();
        assert_eq!(flow(folder, &way, &["trust", "p.yaml"]).exit, 0, "{tool}");
        let said = flow(folder, &way, &["run", "p.yaml"]);
        assert_eq!((said.exit, started(folder)), (0, true), "{tool}: {}", said.err);
        let said = flow(folder, &way, &["run", "p.yaml"]);
        assert_eq!(said.exit == 6, is_filled, "{tool}: {}", said.err);
        if is_filled {
            assert_eq!(flow(folder, &way, &["trust", "p.yaml"]).exit, 0, "{tool}");
            assert_ne!(flow(folder, &way, &["run", "p.yaml"]).exit, 6, "{tool}");
        }
        compiled(&folder.join("servers"), "helper");
        let said = flow(folder, &way, &["run", "p.yaml"]);
        assert_eq!(said.exit == 6, *asks, "{tool}: {}", said.err);
        let is_run = ["untold", "servers/untold"].iter().any(|name| folder.join(name).exists());
        assert!(!is_run, "{tool}");
    });
}

#[test]
fn what_interpreters_and_launchers_find_by_themselves_is_asked_about() {
    let ways = [
        // The folder that Python starts in is searched for every module.
        ("command: python3, args: [-m, lib.main]", "json.py", true),
        ("command: python3, args: [-c, 'import lib.main']", "json/__init__.py", true),
        ("command: sh, args: [-c, 'exec python3 -m lib.main']", "asyncio.py", true),
        ("command: python3, args: [lib/main.py]", "json.py", false),
        ("command: sh, args: [-c, 'true npx; exec python3 lib/main.py']", ".npmrc", true),
        ("command: sh, args: [-c, 'true npm run x; exec python3 lib/main.py']", "package.json", true),
        ("command: sh, args: [-c, 'true yarn; exec python3 lib/main.py']", ".yarn/releases/yarn.cjs", true),
        ("command: sh, args: [-c, 'true uv run x; exec python3 lib/main.py']", "pyproject.toml", true),
        ("command: sh, args: [-c, 'true Rscript x; exec python3 lib/main.py']", ".Rprofile", true),
        ("command: sh, args: [-c, 'true cargo run; exec python3 lib/main.py']", ".cargo/config.toml", true),
        ("command: python3, args: [lib/main.py]", "package.json", false),
        // A package may be called as the folders of installers and builders are.
        ("command: python3, args: [lib/main.py]", "lib/target/core.py", true),
        ("command: python3, args: [lib/main.py]", "lib/venv/core.py", true),
    ];
    for_each(&ways, |_, (tool, name, asks)| {
        let way = way(tool, "lib/main.py");
        let project = project(&way);
        let folder = project.path();
        std::fs::write(folder.join("p.yaml"), pipeline(&way, "out", "a.txt")).unwrap();
        assert_eq!(flow(folder, &way, &["trust", "p.yaml"]).exit, 0, "{tool}");
        assert_eq!(flow(folder, &way, &["run", "p.yaml"]).exit, 0, "{tool}");
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "# new").unwrap();
        let said = flow(folder, &way, &["run", "p.yaml"]);
        assert_eq!(said.exit == 6, *asks, "{tool}, {name}: {}", said.err);
    });
}

#[test]
fn what_a_script_brings_in_is_asked_about_whatever_it_is_called() {
    // The command, its script, another file, and whether a change of that asks.
    let ways = [
        ("command: python3, args: [-m, lib.main]", "import more.a", "more/a.py", true),
        ("command: python3, args: [-c, 'import lib.main']", "import more.a", "more/deep/a.py", true),
        ("command: bash, args: [lib/run.sh]", ". ./lib/part", "lib/part", true),
        ("command: bash, args: [lib/run.sh]", "source \"$(dirname \"$0\")/part.conf\"", "lib/part.conf", true),
        ("command: bash, args: [lib/run.sh]", "cat lib/notes.md", "lib/notes.md", false),
        ("command: make, args: [-s, all]", "", "GNUmakefile", true),
        ("command: make, args: [-s, all]", "", "mk/common.mk", true),
        ("command: perl, args: [lib/x.pl]", "do './lib/c.conf';", "lib/c.conf", true),
        ("command: perl, args: [-Ilib, lib/x.pl]", "", "lib/Foo.pmc", true),
        ("command: node, args: ['--env-file=conf/c.env', lib/x.js]", "", "more/e.js", true),
        ("command: python3, args: [lib/main.py]", "print('from data.txt')", "other/data.txt", false),
    ];
    for_each(&ways, |_, (tool, script, name, asks)| {
        let way = way(tool, "lib/main.py");
        let project = project(&way);
        let folder = project.path();
        for file in ["lib/main.py", "lib/run.sh", "lib/x.pl", "lib/x.js"] {
            std::fs::write(folder.join(file), format!("{script}\n")).unwrap();
        }
        std::fs::create_dir_all(folder.join("conf")).unwrap();
        std::fs::write(folder.join("conf/c.env"), "NODE_OPTIONS=--require ./more/e.js\n").unwrap();
        std::fs::write(folder.join("Makefile"), "include mk/common.mk\nall:\n\t@true\n").unwrap();
        std::fs::write(folder.join("p.yaml"), pipeline(&way, "out", "a.txt")).unwrap();
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !name.starts_with("GNU") {
            std::fs::write(&path, "").unwrap();
        }
        assert_eq!(flow(folder, &way, &["trust", "p.yaml"]).exit, 0, "{tool}");
        std::fs::write(&path, "# changed").unwrap();
        let said = flow(folder, &way, &["run", "p.yaml"]);
        assert_eq!(said.exit == 6 && said.err.contains("nothing was started"), *asks, "{tool}, {name}: {}", said.err);
    });
}

#[test]
fn variables_that_load_code_reach_a_server_only_if_its_file_names_them() {
    if !has(&[Extra::Python]) {
        return;
    }
    let way = way("command: python3, args: [lib/main.py]", "lib/main.py");
    let project = project(&way);
    let folder = project.path();
    std::fs::write(folder.join("lib/main.py"), "import os\nopen('seen', 'w').write(' '.join(sorted(os.environ)))\n").unwrap();
    std::fs::write(folder.join("p.yaml"), pipeline(&way, "out", "a.txt")).unwrap();
    let mut run = command(folder, &["run", "p.yaml", "--trust"]);
    let loads = [
        "PYTHONSTARTUP", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "NODE_OPTIONS", "RUBYOPT", "PERL5OPT", "LD_PRELOAD_X", "BASH_ENV",
        "JAVA_TOOL_OPTIONS",
    ];
    ran(run.envs(loads.map(|name| (name, "/nowhere/x"))));
    let seen = std::fs::read_to_string(folder.join("seen")).unwrap();
    // What starts Python may set more of its own.
    let passed: Vec<&str> = seen.split(' ').filter(|name| loads.contains(name)).collect();
    assert_eq!(passed, ["PYTHONPYCACHEPREFIX"], "{seen}");
}

/// The same command as a server, a step and a tool.
fn three_ways(command: &[&str]) -> [String; 3] {
    let list = |words: &[&str]| words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    let (all, rest) = (list(command), list(&command[1..]));
    let start = "flow: 1\nname: p\ndescription: Starts a program.\n";
    [
        format!(
            "{start}tools: {{ s: {{ command: {}, args: [{rest}], allow: [x] }} }}\nsteps: [{{ id: a, tool: s.x, on_failure: continue }}]\n",
            command[0]
        ),
        format!("{start}steps: [{{ id: a, program: [{all}], on_failure: continue }}]\n"),
        format!(
            "{start}tools: {{ t: {{ description: Does it., program: [{all}] }} }}\nsteps: [{{ id: a, tool: t, on_failure: continue }}]\n"
        ),
    ]
}

#[test]
#[expect(clippy::disallowed_methods, reason = "where a test finds programs, not a setting of flow")]
fn a_changed_file_behind_an_interpreter_or_an_option_and_what_code_names_is_asked_about_and_data_is_not() {
    // The command, the text of `a.sh`, the file that changes, and whether that asks.
    let ways: [(&[&str], &str, &str, bool); 12] = [
        (&["env", "python3", "prog"], "", "prog", true),
        (&["timeout", "5", "sh", "prog"], "", "prog", true),
        (&["nice", "-n", "5", "sh", "prog.txt"], "", "prog.txt", true),
        (&["bash", "-eu", "prog.log"], "", "prog.log", true),
        (&["awk", "-f", "prog.txt"], "", "prog.txt", true),
        (&["make", "-s", "-f", "rules"], "", "rules", true),
        (&["sh", "a.sh"], "sh tools/x", "tools/x", true),
        (&["sh", "a.sh"], "foo", "bin/foo", true),
        (&["sh", "a.sh"], "git status", ".git/config", true),
        (&["sh", "a.sh"], "env -u PYTHONPYCACHEPREFIX python3 s/a.py", "s/__pycache__/b.pyc", true),
        (&["sort", "in.csv"], "", "in.csv", false),
        (&["sh", "a.sh"], "sort in.txt", "in.txt", false),
    ];
    for_each(&ways, |_, (words, script, name, asks)| {
        for text in three_ways(words) {
            let project = tempfile::tempdir().unwrap();
            let folder = project.path().canonicalize().unwrap();
            let write = |name: &str, text: &str| {
                std::fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
                std::fs::write(folder.join(name), text).unwrap();
            };
            for (name, text) in [("flow.toml", ""), ("p.yaml", &*text), ("a.sh", *script), (".git/HEAD", ""), ("s/a.py", "")] {
                write(name, text);
            }
            write(name, "");
            let path = format!("{}:{}", folder.join("bin").display(), std::env::var("PATH").unwrap());
            let flow = |arguments: &[&str]| ran(command(&folder, arguments).env("PATH", &path));
            let said = flow(&["trust", "p.yaml"]);
            assert_eq!(said.exit, 0, "{text}: {}", said.err);
            write(name, "#");
            let said = flow(&["run", "p.yaml"]);
            assert_eq!(said.exit == 6 && said.err.contains("is not what you trusted on"), *asks, "{text}, {name}: {}", said.err);
        }
    });
}
