//! Settings of the project and of the user, through the program.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use crate::program::{Ran, command, ran};

const ASKS: &str = "flow: 1
name: asks
description: Asks the model that the project names.
agents:
  writer: { instructions: You write one sentence. }
steps:
  - { id: compose, agent: writer, prompt: Say hello. }
outputs: { text: \"{{ steps.compose.output }}\" }
";
const OF_PROJECT: &str = "[models.default]\nprovider = \"scripted\"\nreplies = \"project.replies.yaml\"\n";

/// With `user.toml` as the settings of a person, if it is there.
fn flow(folder: &Path, arguments: &[&str]) -> Ran {
    let own = folder.join("user.toml");
    ran(command(folder, arguments).env("FLOW_CONFIG", if own.exists() { own.as_os_str() } else { "".as_ref() }))
}

fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn the_project_gives_the_model_of_files_that_have_none_and_the_user_after_it() {
    let replies = |text: &str| format!("flow: 1\nreplies: {{ compose: {text} }}\n");
    let own = "models:\n  default: { provider: scripted, replies: own.replies.yaml }\n";
    let folder = project(&[
        ("p.yaml", ASKS),
        ("own.yaml", &ASKS.replace("agents:", &format!("{own}agents:"))),
        ("flow.toml", OF_PROJECT),
        ("user.toml", &OF_PROJECT.replace("project", "user")),
        ("project.replies.yaml", &replies("from the project")),
        ("user.replies.yaml", &replies("from the user")),
        ("own.replies.yaml", &replies("from the file")),
    ]);
    let said = flow(folder.path(), &["run", "p.yaml"]);
    assert_eq!((said.exit, said.out.as_str()), (0, "from the project\n"), "{}", said.err);
    assert!(said.err.contains("models are scripted"), "{}", said.err);
    assert_eq!(flow(folder.path(), &["run", "own.yaml"]).out, "from the file\n");
    std::fs::write(folder.path().join("flow.toml"), "").unwrap();
    assert_eq!(flow(folder.path(), &["run", "p.yaml"]).out, "from the user\n");
}

#[test]
fn a_mistake_in_the_settings_is_told_with_its_place_and_nothing_starts() {
    let folder = project(&[("p.yaml", ASKS), ("flow.toml", "[models.default]\nprovder = \"ollama\"\nmodel = \"m\"\n[policy]\n")]);
    for command in ["run", "validate"] {
        let said = flow(folder.path(), &[command, "p.yaml"]);
        let told = said.out + &said.err;
        assert_eq!(said.exit, 1, "{told}");
        assert!(told.contains("flow.toml:2:1") && told.contains("did you mean \"provider\"?"), "{told}");
        assert!(told.contains("unknown key \"policy\" in flow.toml"), "{told}");
    }
    std::fs::write(folder.path().join("flow.toml"), "[limits]\nmax_parallel = 0\ndeadline = \"5\"\nmax_tokens = \"many\"\n").unwrap();
    let told = flow(folder.path(), &["validate", "flow.toml"]).out;
    for part in ["F505", "F008", "F005", "flow.toml:2:16"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn the_project_says_which_warnings_are_errors_and_where_nothing_is_told() {
    let unused = ASKS.replace("agents:", "inputs: { region: { type: text, default: north } }\nagents:");
    let folder = project(&[("pipelines/new.yaml", &unused), ("pipelines/old/a.yaml", &unused), ("flow.toml", "")]);
    let counted = |settings: &str| {
        std::fs::write(folder.path().join("flow.toml"), settings).unwrap();
        let said = flow(folder.path(), &["validate"]);
        (said.exit, said.err.lines().last().unwrap_or_default().to_string())
    };
    assert_eq!(counted(""), (0, "2 warnings in 3 files".to_string()));
    assert_eq!(counted("[lint]\ndeny = [\"F210\"]\n"), (1, "2 errors in 3 files".to_string()));
    let old = "[lint]\ndeny = [\"unused-input\"]\n[lint.paths.\"pipelines/old/**\"]\nignore = [\"F210\"]\n";
    assert_eq!(counted(old), (1, "1 error in 3 files".to_string()));
    let said = flow(folder.path(), &["run", "pipelines/new.yaml"]);
    assert_eq!((said.exit, said.err.contains("error[F210]")), (1, true), "{}", said.err);
    assert!(flow(folder.path(), &["validate", "--no-ignore"]).err.contains("1 error and 1 warning in 3 files"));
    let wrong = counted("[lint]\ndeny = [\"F101\", \"F999\"]\n[lint.paths.\"a[\"]\nignore = [\"F101\"]\n");
    assert_eq!(wrong, (1, "3 errors and 2 warnings in 3 files".to_string()));
    for same in ["./pipelines/old/**", "pipelines/old", "./pipelines/old/", "pipelines/old/a.yaml", "pipelines/o*"] {
        assert_eq!(counted(&old.replace("pipelines/old/**", same)), (1, "1 error in 3 files".to_string()), "{same}");
    }
    assert_eq!(
        counted(&old.replace("pipelines/old/**", "pipelines/ol")),
        (1, "2 errors in 3 files".to_string()),
        "a part of a name is none"
    );
}

#[test]
fn what_the_user_does_not_allow_no_file_can_do_and_bounds_only_become_narrower() {
    let fetches = "flow: 1
name: fetches
description: Asks a host.
steps:
  - { id: ask, http: GET http://127.0.0.1:9/x }
  - { id: also, needs: [], wait: 10s }
outputs: { text: \"{{ steps.ask.output.status }}\" }
";
    let folder = project(&[
        ("p.yaml", fetches),
        ("flow.toml", "[limits]\ndeadline = \"1h\"\n"),
        ("user.toml", "[policy]\ndescription = \"Only our own host.\"\n[policy.network_access]\nhosts = [\"crm.example.com\"]\n"),
    ]);
    let said = flow(folder.path(), &["run", "p.yaml", "--trust"]);
    assert_eq!(said.exit, 6, "{}", said.err);
    assert!(said.err.contains("denied") && said.err.contains("user"), "{}", said.err);
    std::fs::write(folder.path().join("user.toml"), "[limits]\ndeadline = \"300ms\"\n").unwrap();
    std::fs::write(
        folder.path().join("p.yaml"),
        fetches.replace("GET http://127.0.0.1:9/x }", "GET http://127.0.0.1:9/x, on_failure: continue }"),
    )
    .unwrap();
    let said = flow(folder.path(), &["run", "p.yaml", "--trust", "--deadline", "1h"]);
    assert_eq!((said.exit, said.err.contains("the deadline of 300ms")), (7, true), "{}", said.err);
}

#[test]
fn a_hostile_pattern_of_paths_is_a_finding() {
    for pattern in ["{".repeat(1000) + &"}".repeat(1000), "{".repeat(200_000), "a".repeat(600)] {
        let folder = project(&[("p.yaml", ASKS), ("flow.toml", &format!("[lint.paths.\"{pattern}\"]\nignore = [\"F105\"]\n"))]);
        let said = flow(folder.path(), &["validate"]);
        assert_eq!((said.exit, said.out.contains("F007")), (1, true), "{}", said.err);
    }
}

#[test]
fn a_bound_on_money_needs_the_prices_of_called_pipelines_too() {
    let root = "flow: 1\nname: root\ndescription: Calls another.\nsteps:\n  - { id: go, call: sub.yaml }\noutputs: { text: \"{{ steps.go.output.text }}\" }\n";
    let own = "models:\n  default: { provider: ollama, model: m }\n";
    let folder = project(&[("root.yaml", root), ("sub.yaml", &ASKS.replace("agents:", &format!("{own}agents:"))), ("flow.toml", "")]);
    let said = flow(folder.path(), &["run", "root.yaml", "--trust", "--max-cost-usd", "1"]);
    assert_eq!((said.exit, said.err.contains("model default has no price")), (2, true), "{}", said.err);
}

#[test]
fn a_bound_on_money_needs_no_price_of_a_model_of_the_variables_that_nobody_asks() {
    let own = "models:\n  own: { provider: scripted, replies: replies.yaml, fallback: FALLBACK }\n";
    let text = ASKS.replace("agents:", &format!("{own}agents:")).replace("writer: {", "writer: { model: own,");
    for (fallback, exit) in [("[]", 0), ("[default]", 2)] {
        let folder = project(&[
            ("p.yaml", &text.replace("FALLBACK", fallback)),
            ("flow.toml", ""),
            ("replies.yaml", "flow: 1\nreplies: { compose: Fine. }\n"),
        ]);
        let mut run = command(folder.path(), &["run", "p.yaml", "--trust", "--max-cost-usd", "1"]);
        let said = ran(run.env("FLOW_MODEL", "m").env("FLOW_MODEL_BASE_URL", "http://127.0.0.1:9/v1"));
        assert_eq!((said.exit, said.err.contains("model default (from FLOW_MODEL) has no price")), (exit, exit == 2), "{}", said.err);
    }
}

#[test]
fn a_plan_gives_the_model_of_the_settings_to_each_file_that_has_none() {
    let root = ASKS.replace("name: asks", "name: root").replace("steps:\n", "steps:\n  - { id: go, call: sub.yaml }\n");
    let own = ASKS.replace(
        "agents:",
        "models: { default: { provider: ollama, model: own, price: { input: 1000, output: 1000 }, max_output_tokens: 1 } }\nagents:",
    );
    let of_settings = "[models.default]\nprovider = \"openai\"\nmodel = \"m\"\nmax_output_tokens = 1000\n[models.default.price]\ninput = 1.0\noutput = 2.0\n";
    let folder = project(&[("root.yaml", &root), ("sub.yaml", ASKS), ("flow.toml", "")]);
    let cost = || {
        let said = flow(folder.path(), &["plan", "root.yaml", "--json"]);
        let plan: serde_json::Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}", said.err));
        plan["cost"].clone()
    };
    let unpriced = cost();
    assert!(unpriced.to_string().contains("\"default\""), "nobody has a price: {unpriced}");
    std::fs::write(folder.path().join("flow.toml"), of_settings).unwrap();
    let (both, calls) = (cost(), 6.0);
    assert_eq!(both["usd"].as_f64(), Some(calls * 1000.0 * 2.0 / 1e6), "{both}");
    std::fs::write(folder.path().join("sub.yaml"), &own).unwrap();
    let one = cost();
    assert_eq!(one["usd"].as_f64(), Some((3.0 * 1000.0 + 3.0) * 1000.0 / 1e6), "a file's own model stays: {one}");
}

#[test]
fn models_that_tests_ask_may_stand_in_the_private_network_that_the_user_named() {
    let test = "flow: 1\ntest: p.yaml\ncases:\n  - { id: a, expect: { status: succeeded } }\n";
    let own = "models: { default: { provider: openai, model: m, base_url: http://llm.invalid:9/v1 } }\nagents:";
    let folder = project(&[("p.yaml", &ASKS.replace("agents:", own)), ("p.test.yaml", test), ("flow.toml", "")]);
    let live = || flow(folder.path(), &["test", "--live", "--trust"]).out;
    assert!(live().contains("http:// is for this machine"), "{}", live());
    std::fs::write(folder.path().join("user.toml"), "private_hosts = [\"llm.invalid\"]\n").unwrap();
    let allowed = live();
    assert!(!allowed.contains("http:// is for this machine") && allowed.contains("llm.invalid"), "{allowed}");
}

#[test]
fn what_the_user_does_not_allow_holds_for_tests_that_ask_models_and_for_no_others() {
    let reads = "flow: 1
name: reads
description: Reads a file.
steps:
  - { id: notes, read: notes.md }
outputs: { text: \"{{ steps.notes.output }}\" }
";
    let test = "flow: 1\ntest: p.yaml\ncases:\n  - { id: a, expect: { status: succeeded } }\n";
    let policy = "[policy]\ndescription = \"No files.\"\n[policy.file_access]\nread = []\n";
    let folder = project(&[("p.yaml", reads), ("p.test.yaml", test), ("notes.md", "# Hi\n"), ("flow.toml", ""), ("user.toml", policy)]);
    assert_eq!(flow(folder.path(), &["test"]).exit, 0);
    let live = flow(folder.path(), &["test", "--live"]);
    assert_eq!((live.exit, live.out.contains("denied")), (1, true), "{}{}", live.out, live.err);
}

#[test]
fn doctor_tries_the_host_of_the_model_of_the_settings_and_tells_broken_settings() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let of_settings = format!("[models.default]\nprovider = \"openai\"\nmodel = \"m\"\nbase_url = \"http://{address}/v1\"\n");
    let folder = project(&[("p.yaml", ASKS), ("flow.toml", &of_settings)]);
    let said = flow(folder.path(), &["doctor", "--trust"]);
    assert_eq!((said.exit, said.out.contains(&format!("host {address} answers"))), (0, true), "{}", said.out);
    drop(listener);
    let said = flow(folder.path(), &["doctor", "--trust"]);
    assert_eq!((said.exit, said.out.contains(&format!("host {address} does not respond"))), (1, true), "{}", said.out);
    std::fs::write(folder.path().join("user.toml"), "[limits]\nmax_tokens = 7\nmax_monkeys = 3\n").unwrap();
    let said = flow(folder.path(), &["doctor", "--config"]);
    assert_eq!((said.exit, said.out.contains("limits.max_tokens = 7")), (1, true), "{}", said.out);
    assert!(said.err.contains("user.toml:3:1") && said.err.contains("max_monkeys"), "{}", said.err);
}

#[test]
fn no_link_of_a_project_leads_what_flow_writes_out_of_it() {
    let test = "flow: 1\ntest: p.yaml\ncases: [{ id: a, golden: true }]\n";
    for (link, arguments, made) in [
        ("goldens", vec!["test", "--update"], "p.test/a/outputs.json"),
        ("channels", vec!["init", "."], "sms.yaml"),
        (".flow", vec!["run", "p.yaml"], "runs.db"),
    ] {
        let (project, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| project.path().join(name);
        std::fs::write(
            at("p.yaml"),
            "flow: 1\nname: p\ndescription: Sets.\nsteps: [{ id: a, set: 1 }]\noutputs: { a: \"{{ steps.a.output }}\" }\n",
        )
        .unwrap();
        std::fs::write(at("p.test.yaml"), test).unwrap();
        symlink(outside.path(), at(link)).unwrap();
        let ran = flow(project.path(), &arguments);
        assert!(ran.exit != 0 && format!("{}{}", ran.out, ran.err).contains("a link leads out of"), "{link}: {}{}", ran.out, ran.err);
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0, "{link}");
        // Inside of the project it may lead where it likes.
        std::fs::remove_file(at(link)).unwrap();
        std::fs::create_dir(at("inner")).unwrap();
        symlink("inner", at(link)).unwrap();
        let ran = flow(project.path(), &arguments);
        assert!(ran.exit == 0 && at("inner").join(made).is_file(), "{link}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn what_stands_in_the_place_of_settings_and_cannot_be_read_stops_every_command() {
    use std::os::unix::fs::symlink;
    let pipe = |path: &Path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    type Make<'a> = (&'a str, &'a dyn Fn(&Path));
    let makes: [Make; 5] = [
        ("a link that leads nowhere", &|path| symlink("/nowhere/at/all", path).unwrap()),
        ("it is a folder", &|path| std::fs::create_dir(path).unwrap()),
        ("it is a pipe", &|path| pipe(path)),
        ("symbolic link", &|path| symlink(path, path).unwrap()),
        ("a device", &|path| symlink("/dev/null", path).unwrap()),
    ];
    let calls: [&[&str]; 3] = [&["run", "p.yaml"], &["doctor", "--config"], &["plan", "p.yaml"]];
    let text = "flow: 1\nname: p\ndescription: Says one word.\nsteps:\n  - { id: a, set: { text: hi } }\noutputs: { text: \"{{ steps.a.output.text }}\" }\n";
    let check = |folder: &Path, own: Option<&Path>, name: &str, why: &str| {
        // The project of a file that is named is looked for upwards.
        for call in calls.into_iter().filter(|call| call.contains(&"p.yaml") || !folder.ends_with("sub")) {
            let mut command = command(folder, call);
            match own {
                Some(own) => command.env_remove("FLOW_CONFIG").env("XDG_CONFIG_HOME", own),
                None => command.env("FLOW_CONFIG", ""),
            };
            let said = ran(&mut command);
            assert_eq!((said.exit, said.out.as_str()), (2, ""), "{name} {why} {call:?}: {}", said.err);
            assert!(said.err.contains(name) && said.err.contains(why), "{name} {why} {call:?}: {}", said.err);
        }
        assert!(!folder.join(".flow").exists(), "nothing ran");
    };
    for (why, make) in makes {
        let folder = project(&[("p.yaml", text)]);
        make(&folder.path().join("flow.toml"));
        check(folder.path(), None, "flow.toml", why);
        let said = flow(folder.path(), &["validate", "p.yaml"]);
        assert!(said.exit != 0 && (said.out + &said.err).contains("flow.toml"), "{why}");
        // Also from below.
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/p.yaml"), text).unwrap();
        check(&folder.path().join("sub"), None, "flow.toml", why);
        let folder = project(&[("p.yaml", text), ("home/flow/other", "")]);
        make(&folder.path().join("home/flow/config.toml"));
        check(folder.path(), Some(&folder.path().join("home")), "config.toml", why);
    }
    let folder = project(&[("p.yaml", text), ("home/flow", "")]);
    check(folder.path(), Some(&folder.path().join("home")), "config.toml", "ot a directory");
    symlink("/nowhere/at/all", folder.path().join("away")).unwrap();
    check(folder.path(), Some(&folder.path().join("away")), "config.toml", "away is a link that leads nowhere");
    let said = ran(command(folder.path(), &["run", "p.yaml"]).env_remove("FLOW_CONFIG").env("XDG_CONFIG_HOME", folder.path().join("none")));
    assert_eq!(said.exit, 0, "{}", said.err);
}

#[test]
fn a_pipe_as_the_file_of_the_key_is_refused_at_once() {
    let folder = project(&[("user.toml", "[journal]\nencrypt = true\nkey_file = \"key\"\n"), ("p.yaml", ASKS), ("flow.toml", "")]);
    nix::unistd::mkfifo(&folder.path().join("key"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    let said = flow(folder.path(), &["run", "p.yaml"]);
    assert_eq!((said.exit, said.err.contains("it is a pipe")), (2, true), "{}", said.err);
}

#[test]
fn a_pipe_that_is_named_as_tests_is_told_as_what_it_is() {
    let folder = project(&[]);
    nix::unistd::mkfifo(&folder.path().join("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
    let said = flow(folder.path(), &["test", "pipe"]);
    assert!(said.exit != 0 && said.err.contains("it is a pipe") && !said.err.contains("does not exist"), "{}", said.err);
}

#[test]
fn a_model_of_settings_reads_variables_by_name_and_none_that_is_flows_own() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("a.yaml"),
        "flow: 1\nname: a\nsteps: [{ id: a, set: 1 }]\noutputs: { a: \"{{ steps.a.output }}\" }\n",
    )
    .unwrap();
    let told = |key: &str| {
        let settings = format!("[models.default]\nprovider = \"openai\"\nmodel = \"m\"\napi_key = \"{{{{ {key} }}}}\"\n");
        std::fs::write(folder.path().join("flow.toml"), settings).unwrap();
        flow(folder.path(), &["validate", "flow.toml"])
    };
    for key in ["env.FLOW_API_KEY", "env", "env[x]"] {
        let ran = told(key);
        assert!(ran.exit == 1 && ran.out.contains("error[F208]"), "{key}: {}{}", ran.out, ran.err);
    }
    let ran = told("env.MY_KEY");
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
}

#[test]
fn a_model_whose_address_is_none_is_reported_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("p.yaml"),
        "flow: 1\nname: p\nsteps: [{ id: s, set: x }]\noutputs: { o: \"{{ steps.s.output }}\" }\n",
    )
    .unwrap();
    for address in ["/v1", "127.0.0.1", "my-host/v1"] {
        let mut run = crate::program::command(folder.path(), &["run", "p.yaml"]);
        let ran = crate::program::ran(run.env("FLOW_MODEL", "m").env("FLOW_MODEL_BASE_URL", address));
        assert!(ran.exit == 2 && ran.err.contains("FLOW_MODEL_BASE_URL is not a web address"), "{address}: {} {}", ran.exit, ran.err);
    }
}

#[test]
fn what_a_project_excludes_is_left_out_of_searches_and_checked_where_it_is_named() {
    let broken = "flow: 1\nname: broken\ndescription: Broken.\nsteps: [{ id: a, set: x, nope: 1 }]\n";
    let fails = "flow: 1\nname: fails\ndescription: Its test fails.\nsteps: [{ id: a, set: x }]\noutputs: { a: \"{{ steps.a.output }}\" }\n\
                 tests: [{ id: wrong, expect: { outputs: { a: y } } }]\n";
    let files = [
        ("fine.yaml", fails.replace("a: y", "a: x")),
        ("fixtures/deep/broken.yaml", broken.to_owned()),
        ("fixtures/fails.yaml", fails.to_owned()),
        ("old/one/fails.yaml", fails.to_owned()),
        ("one.yaml", broken.to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let folder = project(&files);
    let set = |patterns: &str| std::fs::write(folder.path().join("flow.toml"), format!("exclude = {patterns}\n")).unwrap();
    let exits = |words: &[&[&str]]| words.iter().map(|words| flow(folder.path(), words).exit).collect::<Vec<_>>();
    set("[]");
    assert_eq!(exits(&[&["validate"], &["test"], &["fix", "--diff"]]), [1, 1, 1]);
    for patterns in [
        r#"["fixtures", "old", "one.yaml"]"#,
        r#"["./fixtures/", "old/**", "one.yaml"]"#,
        r#"["fixtures/**", "**/one/*", "one.*"]"#,
        r#"["{fixtures,old}", "one.yaml"]"#,
    ] {
        set(patterns);
        assert_eq!(exits(&[&["validate"], &["test"], &["validate", "."], &["test", "."], &["fix"]]), [0; 5], "{patterns}");
        assert_eq!(std::fs::read_to_string(folder.path().join("one.yaml")).unwrap(), broken, "{patterns}");
        // Who names a file or a folder wants it.
        let named: [&[&str]; 5] = [
            &["validate", "one.yaml"],
            &["validate", "fixtures"],
            &["validate", "fixtures/deep"],
            &["test", "fixtures"],
            &["test", "old/one/fails.yaml"],
        ];
        assert_eq!(exits(&named), [1; 5], "{patterns}");
    }
    let below = ran(command(&folder.path().join("fixtures"), &["validate"]).env("FLOW_CONFIG", ""));
    assert_eq!(below.exit, 0, "it is the project that is checked: {}", below.out);
    set(r#"["*.yaml", "old", "fixtures"]"#);
    let nothing = flow(folder.path(), &["validate"]);
    assert!(nothing.exit == 4 && nothing.err.contains("exclude in flow.toml leaves out all there are"), "{}", nothing.err);
    set(r#"["[a"]"#);
    let unreadable = flow(folder.path(), &["validate", "flow.toml"]);
    assert!(unreadable.exit == 1 && unreadable.out.contains("the pattern \"[a\" cannot be read"), "{}", unreadable.out);
}
