//! Programs that are agents: what a model of the providers `cli` and `acp` says of one, over what its preset says.

use super::context::{Lower, quoted};
use super::keys::{self, KeyTable};
use super::owner::KeyOwner;
use super::presets::{ACP_PRESETS, PRESETS};
use super::reader::KeyReader;
use super::started::{environment, is_variable_name, network, path_of, program, words};
use crate::model::{
    AgentAnswer, AgentOutput, AgentProgram, AgentProtocol, AnswerPlace, Form, OutputWord, PrintMode, ProgramCommand, ProgramNetwork,
    ProgramOutput, PromptOption,
};
use crate::source::{SourceFile, Spanned};
use crate::syntax::{self, MapKey, Node};

/// What `provider: cli` says, over what its preset says.
pub(super) fn print_mode(keys: &KeyReader) -> Option<AgentProgram> {
    read(keys, &PRESETS, (&ACP_PRESETS, "speaks the Agent Client Protocol", "acp"), &keys::PRINTING_AGENT)
}

/// What `provider: acp` says, over what its preset says.
pub(super) fn acp(keys: &KeyReader) -> Option<AgentProgram> {
    read(keys, &ACP_PRESETS, (&PRESETS, "prints its answer", "cli"), &keys::TALKING_AGENT)
}

/// The presets of the other provider, what their programs do, and its name.
type OtherPresets<'p> = (&'p [(&'p str, &'p str)], &'p str, &'p str);

fn read(keys: &KeyReader, presets: &[(&str, &str)], other: OtherPresets, own: &'static KeyTable) -> Option<AgentProgram> {
    let base = match keys.get("preset") {
        Some(node) => {
            let (others, what, provider) = other;
            let is_in = |list: &[(&str, &str)]| node.as_scalar().is_some_and(|scalar| list.iter().any(|(name, _)| *name == scalar.text));
            if is_in(others) && !is_in(presets) {
                let name = node.as_scalar().map_or_else(String::new, |scalar| quoted(&scalar.text));
                return keys.lower.reject(node.span, format!("the program of preset {name} {what}"), format!("write provider: {provider}"));
            }
            let word = keys.word("preset")?;
            let (_, text) = presets.iter().find(|(name, _)| *name == word)?;
            let mut silent = vec![];
            let source = SourceFile::new(format!("{word}.yaml"), (*text).to_owned());
            let node = syntax::parse(keys.lower.file, &source, &mut silent);
            let preset = KeyReader::lenient(keys.lower, KeyOwner::Named("preset", word.to_owned()), &[own], &node)?;
            let known = over(&preset, None)?;
            Some(AgentProgram { run: placed(known.run, keys), ..known })
        }
        None => None,
    };
    over(keys, base)
}

/// What a preset starts stands, for findings, where its name stands.
fn placed(run: ProgramCommand, keys: &KeyReader) -> ProgramCommand {
    let span = keys.value_span("preset");
    ProgramCommand { program: Spanned::new(run.program.value, span), ..run }
}

fn over(keys: &KeyReader, base: Option<AgentProgram>) -> Option<AgentProgram> {
    let has_preset = base.is_some();
    let (old_run, old) = match base {
        Some(base) => (Some(base.run.clone()), Some(base)),
        None => (None, None),
    };
    let speaks = old.as_ref().map(|old| old.speaks.clone());
    let own = command(keys);
    if own.is_none() && keys.has("program") {
        return None;
    }
    let Some(run) = own.or(old_run) else {
        if !has_preset {
            keys.missing(
                "has neither \"preset\" nor \"program\"",
                "add preset: claude_code (or another one), or program: with the program and its arguments",
            );
        }
        return None;
    };
    let mut env = environment(keys);
    env.extend(run.env.iter().filter(|(name, _)| !keys.entries("env").any(|(own, _)| own.text == name.value)).cloned().collect::<Vec<_>>());
    let writes = keys.names("writes").unwrap_or_default();
    let writes = writes.iter().filter_map(|path| Some(Spanned::new(path_of(keys, "folder", path)?, path.span))).collect();
    let reads = keys.names("reads").unwrap_or_default();
    let reads = reads.iter().filter_map(|path| Some(Spanned::new(path_of(keys, "file", path)?, path.span))).collect();
    let folder = keys.name("folder").and_then(|path| Some(Spanned::new(path_of(keys, "folder", &path)?, path.span)));
    let text = |key: &str, of: Option<String>| keys.fixed(key).map(|fixed| fixed.value).or(of);
    let variable = |key: &str, of: Option<String>| {
        let own = keys.fixed(key).and_then(|name| match is_variable_name(&name.value) {
            true => Some(name.value),
            false => {
                let message = format!("{} cannot be the name of a variable of the environment", quoted(&name.value));
                keys.lower.reject(name.span, message, "use letters, digits and \"_\", a letter first")
            }
        });
        own.or(of)
    };
    for (key, variable, known) in [
        ("api_key", "api_key_variable", old.as_ref().and_then(|old| old.api_key_variable.as_ref())),
        ("base_url", "base_url_variable", old.as_ref().and_then(|old| old.base_url_variable.as_ref())),
    ] {
        if keys.has(key) && known.is_none() && !keys.has(variable) {
            keys.does_not_fit(
                key,
                &format!("has {key}, but nothing says where its program finds it"),
                &format!("add {variable}: with the name of the variable"),
            );
        }
    }
    // Where its model is another one, the hosts of the preset are not its own.
    let network = match (keys.has("network"), keys.has("base_url")) {
        (true, _) => network(keys),
        (false, true) => ProgramNetwork::None,
        (false, false) => run.network.clone(),
    };
    let speaks = match (keys.allows("prompt"), speaks) {
        (true, Some(AgentProtocol::Print(mode))) => AgentProtocol::Print(Box::new(print(keys, *mode)?)),
        (true, _) => AgentProtocol::Print(Box::new(print(keys, PrintMode::default())?)),
        (false, Some(AgentProtocol::Acp(base))) => AgentProtocol::Acp(options(keys, base)?),
        (false, _) => AgentProtocol::Acp(options(keys, vec![])?),
    };
    Some(AgentProgram {
        run: ProgramCommand { env, writes, network, ..run },
        folder,
        reads,
        api_key_variable: variable("api_key_variable", old.as_ref().and_then(|old| old.api_key_variable.clone())),
        base_url_variable: variable("base_url_variable", old.as_ref().and_then(|old| old.base_url_variable.clone())),
        version: text("version", old.as_ref().and_then(|old| old.version.clone())),
        max_cost_usd: keys.read("max_cost_usd", Lower::positive),
        speaks,
    })
}

/// `program`, without what stands in keys of its own.
fn command(keys: &KeyReader) -> Option<ProgramCommand> {
    if !keys.has("program") {
        return None;
    }
    let words = words(keys)?;
    let (first, args) = words.split_first()?;
    if first.form != Form::Plain {
        let message = "the program itself must be written out: which one is started is not for a value to say";
        return keys.lower.reject(first.place.span, message, "write its name as the first item, and values as arguments behind it");
    }
    Some(ProgramCommand {
        program: program(keys, "program", &Spanned::new(first.source.to_string(), first.place.span))?,
        args: args.to_vec(),
        input: None,
        env: vec![],
        gives: ProgramOutput::Word(OutputWord::Text),
        ok_exits: vec![0],
        reads_only: false,
        network: ProgramNetwork::None,
        writes: vec![],
    })
}

fn print(keys: &KeyReader, base: PrintMode) -> Option<PrintMode> {
    let prompt = match keys.get("prompt") {
        None => base.prompt,
        Some(node) if node.as_list().is_some() => Some(plain_words(keys.lower, "prompt", node)?),
        Some(node) => {
            keys.lower.word("prompt", node, keys::PROMPT_PLACES)?;
            None
        }
    };
    let options = options(keys, base.options)?;
    let output: AgentOutput = keys.choice("output").unwrap_or(base.output);
    let answer = match keys.section("answer", &keys::AGENT_ANSWER) {
        Some(own) => answer(&own, base.answer),
        None => base.answer,
    };
    match output {
        AgentOutput::Text if keys.has("answer") => {
            keys.does_not_fit("answer", "prints text, so its answer is all of it", "remove answer, or add output: json");
        }
        AgentOutput::Json | AgentOutput::Jsonl if answer.text.is_empty() => {
            keys.missing(
                "prints JSON, but does not say where the answer stands",
                "add answer: { text: … }, the path of its text, such as result",
            );
        }
        AgentOutput::Text | AgentOutput::Json | AgentOutput::Jsonl => {}
    }
    Some(PrintMode { prompt, options, output, answer })
}

/// What it is told beside the prompt, over what the preset says, in the order of the table.
fn options(keys: &KeyReader, mut options: Vec<(PromptOption, Vec<String>)>) -> Option<Vec<(PromptOption, Vec<String>)>> {
    if let Some(own) = keys.section("options", &keys::AGENT_OPTIONS) {
        for word in PromptOption::WORDS {
            let (Some(node), Ok(option)) = (own.get(word), word.parse::<PromptOption>()) else { continue };
            let words = plain_words(keys.lower, word, node)?;
            options.retain(|(known, _)| *known != option);
            options.push((option, words));
        }
    }
    options.sort_by_key(|(option, _)| *option);
    Some(options)
}

/// A list of words that are given as they are.
fn plain_words(lower: &Lower, key: &str, node: &Node) -> Option<Vec<String>> {
    let items = lower.list(key, node)?;
    let words: Vec<String> = items.iter().filter_map(|item| Some(lower.fixed(key, item)?.value)).collect();
    (words.len() == items.len()).then_some(words)
}

fn answer(keys: &KeyReader, base: AgentAnswer) -> AgentAnswer {
    let places = |key: &str, base: Vec<AnswerPlace>| match keys.get(key) {
        Some(node) => node.as_list().unwrap_or(std::slice::from_ref(node)).iter().filter_map(|node| place(keys, key, node)).collect(),
        None => base,
    };
    AgentAnswer {
        text: places("text", base.text),
        ended: places("ended", base.ended),
        session: places("session", base.session),
        failed: places("failed", base.failed),
        error: places("error", base.error),
        model: places("model", base.model),
        input_tokens: places("input_tokens", base.input_tokens),
        output_tokens: places("output_tokens", base.output_tokens),
        cost_usd: places("cost_usd", base.cost_usd),
        cumulative: keys.boolean("cumulative").unwrap_or(base.cumulative),
        denied: places("denied", base.denied),
    }
}

/// A path, or a path with what must hold beside it.
fn place(keys: &KeyReader, key: &str, node: &Node) -> Option<AnswerPlace> {
    if node.as_map().is_none() {
        return Some(AnswerPlace { path: path(keys, key, &keys.lower.fixed(key, node)?)?, only: vec![], takes_all: false });
    }
    let own = KeyReader::of_key(keys.lower, key, &keys.owner, &[&keys::ANSWER_PLACE], node)?;
    let named = |name: &MapKey| path(keys, "only", &Spanned::new(name.text.clone(), name.span));
    let only = own.entries("only").filter_map(|(name, value)| Some((named(name)?, value.to_value()))).collect();
    Some(AnswerPlace { path: path(keys, "path", &own.fixed("path")?)?, only, takes_all: own.boolean("all").unwrap_or_default() })
}

fn path(keys: &KeyReader, key: &str, written: &Spanned<String>) -> Option<Vec<String>> {
    let names: Vec<String> = written.value.split('.').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) {
        let message = format!("{} {} is no path of fields", quoted(key), quoted(&written.value));
        return keys.lower.reject(written.span, message, "write names of fields with dots between them, such as usage.input_tokens");
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::pipeline;
    use crate::lower::tests::read;
    use crate::model::{Model, Provider};

    #[test]
    fn every_preset_is_read_without_a_finding() {
        for (provider, name, text) in
            PRESETS.map(|(name, text)| ("cli", name, text)).into_iter().chain(ACP_PRESETS.map(|(name, text)| ("acp", name, text)))
        {
            let node = text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("    {line}\n")).collect::<String>();
            let head = |keys: &str| {
                format!(
                    "flow: 1\nname: a\nmodels:\n  m:\n    provider: {provider}\n{keys}agents: {{ w: {{ model: m }} }}\nsteps: [{{ id: a, agent: w, prompt: x }}]\noutputs: {{ x: \"{{{{ steps.a.output }}}}\" }}\n"
                )
            };
            let model = |keys: &str| -> Model {
                let (file, findings) = read(&head(keys), pipeline);
                assert_eq!(findings, "", "{name}");
                file.models.get("m").cloned().unwrap_or_else(|| Model::new(Provider::Broken))
            };
            // By its name it is the same as written out.
            let (by_name, written) = (model(&format!("    preset: {name}\n")), model(&node));
            let (Some(by_name), Some(written)) = (by_name.provider.program(), written.provider.program()) else { unreachable!("{name}") };
            assert_eq!((&by_name.speaks, &by_name.version), (&written.speaks, &written.version), "{name}");
            assert_eq!(by_name.run.program.value, written.run.program.value);
        }
    }

    #[test]
    fn what_does_not_go_with_a_program_is_told_with_what_to_write() {
        for (keys, told) in [
            ("provider: acp, preset: aider", "the program of preset \"aider\" prints its answer"),
            ("provider: cli, preset: llm, answer: { text: x }, output: json", ""),
            ("provider: cli, program: [p], output: json, answer: { text: \"\" }", "\"text\" \"\" is no path of fields"),
            (
                "provider: cli, program: [p], output: json, answer: { text: a, cost_usd: a..b }",
                "\"cost_usd\" \"a..b\" is no path of fields",
            ),
            (
                "provider: cli, program: [p], output: json, answer: { text: { path: ., only: { a: 1 } } }",
                "\"path\" \".\" is no path of fields",
            ),
            (
                "provider: cli, program: [p], output: json, answer: { text: { path: a, only: { a.: 1 } } }",
                "\"only\" \"a.\" is no path of fields",
            ),
            (
                "provider: cli, program: [p], api_key: k, api_key_variable: A B",
                "\"A B\" cannot be the name of a variable of the environment",
            ),
        ] {
            let text = format!(
                "flow: 1\nname: a\nmodels: {{ m: {{ {keys} }} }}\nagents: {{ w: {{ model: m }} }}\nsteps: [{{ id: a, agent: w, prompt: x }}]\noutputs: {{ x: \"{{{{ steps.a.output }}}}\" }}\n"
            );
            let (_, findings) = read(&text, pipeline);
            assert!(findings.contains(told) && findings.is_empty() == told.is_empty(), "{keys}: {findings}");
            assert!(!findings.contains("neither"), "one fault, one finding: {findings}");
        }
    }

    #[test]
    fn the_table_of_options_has_the_words_of_the_type() {
        let keys: Vec<&str> = keys::AGENT_OPTIONS.keys.iter().map(|key| key.name).collect();
        assert_eq!(keys, PromptOption::WORDS);
    }
}
