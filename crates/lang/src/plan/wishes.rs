//! What a pipeline wants of this machine and of the world: programs, hosts, secrets. This is what a person must agree to before its first run.

use serde::Serialize;

use super::{PipelinePlan, Plan};
use crate::model::{DEFAULT_MODEL, Model, Pipeline, PythonNeeds, ServerKind, StartedCommand, StepKind, Text, ToolKind, known_address};

/// Everything that pipelines want, also those they call. Each once, in the order of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Wishes {
    /// Programs that are started, with their arguments and environment.
    pub programs: Vec<Wish>,
    /// Hosts that are spoken to; of an address whose host only a run knows, its text.
    pub hosts: Vec<Wish>,
    /// Declared secrets, and variables of the environment.
    pub secrets: Vec<Wish>,
}

/// One thing that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wish {
    /// What, as its author wrote it.
    pub what: String,
    /// Who wants it: tools, models, steps.
    pub by: Vec<String>,
}

impl Wishes {
    /// Of all pipelines of a plan. `given`: the model called `default` that the project gives to files which have none.
    pub fn from_plan(plan: &Plan, given: Option<&Model>) -> Wishes {
        let mut wishes = Wishes::default();
        for (at, planned) in plan.pipelines.iter().enumerate() {
            let pipeline = &planned.pipeline;
            // Its file wants it.
            if pipeline.asked.is_some() {
                continue;
            }
            let whose = if at == 0 { String::new() } else { format!(" in pipeline {}", pipeline.name.value) };
            wishes.add_tools(pipeline, &whose);
            for (name, model) in &pipeline.models {
                wishes.add_model(model, format!("model {name}{whose}"));
            }
            if let Some(model) = given.filter(|_| takes_given(pipeline)) {
                wishes.add_model(model, format!("model default of the project's flow.toml{whose}"));
            }
            for step in &planned.steps {
                if let Some(url) = step.step.kind.address() {
                    add(&mut wishes.hosts, address(&url.source), format!("step {}{whose}", step.step.id.value));
                }
            }
            let users = users(planned);
            for (name, about) in &pipeline.secrets {
                let what = format!("{name}, {}", about.value.trim().trim_end_matches('.'));
                let by = users.iter().filter(|(kind, used, _)| *kind == "secrets" && used == name).map(|(.., who)| format!("{who}{whose}"));
                add_all(&mut wishes.secrets, what, by);
            }
            for (kind, name, who) in users {
                if kind == "env" {
                    add(&mut wishes.secrets, variable(&name), format!("{who}{whose}"));
                }
            }
        }
        wishes
    }

    fn add_tools(&mut self, pipeline: &Pipeline, whose: &str) {
        for (name, tool) in &pipeline.tools {
            let by = format!("tool {name}{whose}");
            match &tool.kind {
                ToolKind::Http { url, .. } => add(&mut self.hosts, address(&url.source), by),
                ToolKind::Server(ServerKind::Url { url, auth, headers: _ }) => {
                    let named = auth.iter().flat_map(|auth| auth.addresses());
                    named.for_each(|named| add(&mut self.hosts, address(&named.value), format!("{by}, for its tokens")));
                    add(&mut self.hosts, address(&url.source), by);
                }
                ToolKind::Smtp { address, .. } => add(&mut self.hosts, format!("smtp://{}", written(&address.source)), by),
                ToolKind::Python { run, .. } => add(&mut self.programs, python(&run.needs), by),
                ToolKind::Server(ServerKind::Program { .. })
                | ToolKind::Program { .. }
                | ToolKind::Sql(_)
                | ToolKind::File(_)
                | ToolKind::Knowledge(_)
                | ToolKind::Pipeline { .. }
                | ToolKind::Broken => {}
            }
        }
        for StartedCommand { by, who, program, args, env, run, .. } in pipeline.commands() {
            let words = std::iter::once(word(&program.value)).chain(args.iter().map(|text| word(&text.source)));
            let env: Vec<String> = env.iter().map(|(name, text)| format!("{}={}", name.value, word(&text.source))).collect();
            let with = if env.is_empty() { String::new() } else { format!(" with {}", env.join(" ")) };
            let may = run.map(|run| run.powers(pipeline.least_sandbox())).unwrap_or_default();
            let may = if may.is_empty() { String::new() } else { format!(" ({})", may.join(", ")) };
            add(&mut self.programs, words.collect::<Vec<_>>().join(" ") + &with + &may, format!("{} {who}{whose}", by.section()));
        }
        for step in pipeline.all_steps() {
            if let StepKind::Task(task) = &step.kind
                && task.may_run_code()
            {
                let words = format!("{}, with code that agent {} writes", python(&task.needs), task.agent.value);
                add(&mut self.programs, words, format!("step {}{whose}", step.id.value));
            }
            if let StepKind::Python(own) = &step.kind {
                add(&mut self.programs, python(&own.run.needs), format!("step {}{whose}", step.id.value));
            }
        }
    }

    fn add_model(&mut self, model: &Model, by: String) {
        let Some(endpoint) = model.address() else { return };
        add(&mut self.hosts, address(endpoint), by.clone());
        // Those of a file are among its users; those of the project's settings are not.
        for read in [&model.base_url, &model.api_key, &model.model].into_iter().flatten().flat_map(|text| &text.reads) {
            if let [root, name, ..] = read.path.as_slice()
                && root == "env"
            {
                add(&mut self.secrets, variable(name), by.clone());
            }
        }
    }

    /// Whether nothing is wanted: then nobody is asked.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.hosts.is_empty() && self.secrets.is_empty()
    }
}

/// Whether a pipeline asks a model called `default` and has none of its own.
pub fn takes_given(pipeline: &Pipeline) -> bool {
    !pipeline.models.contains_key(DEFAULT_MODEL) && asks_default(pipeline)
}

/// Whether an agent may ask the model called `default`, itself or in place of another model.
pub fn asks_default(pipeline: &Pipeline) -> bool {
    let mut fallbacks = pipeline.models.values().flat_map(|model| &model.fallback);
    pipeline.agents.values().any(|agent| agent.model_name() == DEFAULT_MODEL) || fallbacks.any(|name| name.value == DEFAULT_MODEL)
}

/// The interpreter that runs code, always in a sandbox.
fn python(needs: &PythonNeeds) -> String {
    match &needs.venv {
        Some(venv) => format!("python3 of {} (in a sandbox)", word(&venv.value.to_string_lossy())),
        None => "python3 (in a sandbox)".to_owned(),
    }
}

/// `secrets` or `env`, the name, and what reads it, each once.
pub fn users(planned: &PipelinePlan) -> Vec<(&'static str, String, String)> {
    let mut found = vec![];
    let mut take = |texts: Vec<&Text>, who: String| {
        for read in texts.iter().flat_map(|text| &text.reads) {
            let [root, name, ..] = read.path.as_slice() else { continue };
            let kind = match root.as_str() {
                "secrets" => "secrets",
                "env" => "env",
                _ => continue,
            };
            if !found.iter().any(|(k, n, w)| *k == kind && n == name && *w == who) {
                found.push((kind, name.clone(), who.clone()));
            }
        }
    };
    for (who, texts) in planned.pipeline.texts_with_secrets() {
        take(texts, who.to_string());
    }
    found
}

fn address(url: &str) -> String {
    let port = |url: &url::Url| url.port().map(|port| format!(":{port}")).unwrap_or_default();
    match known_address(url) {
        Some(url) => format!("{}://{}{}", url.scheme(), url.host_str().unwrap_or_default(), port(&url)),
        None => format!("an address that only a run knows: {}", written(url)),
    }
}

fn variable(name: &str) -> String {
    format!("{name}, a variable that is not declared as a secret")
}

/// A text as its author wrote it, on one line.
fn written(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One word of a command line; in quotes where it would else look like several, or like none.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,~^".contains(c);
    let is_one = !text.is_empty() && text.chars().all(is_plain);
    if is_one { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn add(list: &mut Vec<Wish>, what: String, by: String) {
    add_all(list, what, std::iter::once(by));
}

fn add_all(list: &mut Vec<Wish>, what: String, by: impl Iterator<Item = String>) {
    let at = list.iter().position(|wish| wish.what == what).unwrap_or_else(|| {
        list.push(Wish { what, by: vec![] });
        list.len() - 1
    });
    let Some(wish) = list.get_mut(at) else { return };
    for who in by {
        if !wish.by.contains(&who) {
            wish.by.push(who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_the_one_that_would_be_called() {
        let of = |text: &str| address(text);
        for (text, shown) in [
            ("https://api.example.com/v1?x=1", "https://api.example.com"),
            ("https://good.example@evil.example/x", "https://evil.example"),
            ("https://good.example\\@evil.example", "https://good.example"),
            ("http://[::1]:8080/v1", "http://[::1]:8080"),
            ("HTTPS://API.example.com:443/", "https://api.example.com"),
            ("https://api.example.com/{{ inputs.x }}", "https://api.example.com"),
            ("https://{{ inputs.x }}.example.com/", "an address that only a run knows: https://{{ inputs.x }}.example.com/"),
            ("{{ env.BASE }}/x", "an address that only a run knows: {{ env.BASE }}/x"),
            (
                "https://api.example{% if a %}.com{% endif %}/",
                "an address that only a run knows: https://api.example{% if a %}.com{% endif %}/",
            ),
        ] {
            assert_eq!(of(text), shown);
        }
    }

    #[test]
    fn words_of_a_command_are_told_apart() {
        let shown = ["a b", "", "plain-1.py", "it's", "--x=1;rm", "{{ inputs.a }}"].map(word);
        assert_eq!(shown, ["'a b'", "''", "plain-1.py", "'it'\\''s'", "'--x=1;rm'", "'{{ inputs.a }}'"]);
    }
}
