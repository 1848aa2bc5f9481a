//! A value that goes through `escape_markdown`, `table` or `bullets` reads as the value on every channel, whatever it holds.

#![expect(clippy::unwrap_used, reason = "part of each test")]

use std::path::Path;
use std::sync::LazyLock;

use flow::diagnostic::Diagnostic;
use flow_adapters::disk_files::DiskFiles;
use flow_base::model::{Channel, TextPlace};
use flow_lang::channel::{FormatError, Formatted, format};
use flow_lang::load::load;
use flow_lang::template::{Scope, compile, from_json, text};
use proptest::prelude::*;
use serde_json::json;

/// The plain text of what a channel sends for a template that is filled with a value.
fn sent(template: &str, value: &str, channel: &Channel) -> Formatted {
    formatted(template, value, channel).unwrap()
}

fn formatted(template: &str, value: &str, channel: &Channel) -> Result<Formatted, FormatError> {
    let mut found: Vec<Diagnostic> = vec![];
    let template = text(template, TextPlace::default(), &mut found);
    let mut scope = Scope::new();
    scope.set("v", from_json(&json!(value)));
    format(&compile(&template).unwrap().fill_text(&scope).unwrap(), channel, None, None)
}

static CHANNELS: LazyLock<Vec<Channel>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    ["sms", "email", "whatsapp", "teams", "telegram"]
        .iter()
        .map(|name| load(&root.join(format!("channels/{name}.yaml")), root, &DiskFiles).channel.unwrap())
        .collect()
});

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Pieces that mean something to a reader of Markdown or HTML.
fn pieces() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "*", "**", "_", "__", "~", "~~", "`", "``", "[", "]", "(", ")", "!", "<", ">", "</", "<b>", "</b>", "<script>", "</script>",
        "<br>", "<!--", "-->", "<?", "&", "&amp;", "&lt;", "&#33;", ";", "|", "\\", "#", "-", "+", "=", ":", "1.", "2)", "---", "===",
        "\n", " ", "a", "B", "é", "9", ".", ",", "\"", "'", "{{", "{%", "$", "^", "@", "\t",
    ]);
    prop::collection::vec(known, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn an_escaped_value_reads_as_the_value(value in pieces()) {
        let plain = Channel { max_length: None, split: None, ..CHANNELS[0].clone() };
        for template in ["{{ v | escape_markdown }}", "Of {{ v | escape_markdown }}, x", "x\n\n{{ v | escape_markdown }} y", "- {{ v | escape_markdown }}: 8 h"] {
            let text = match formatted(template, &value, &plain) {
                Ok(formatted) => formatted.text,
                Err(FormatError::Nothing { .. }) => String::new(),
                Err(error) => panic!("{error}"),
            };
            let expected = template.replace("{{ v | escape_markdown }}", value.trim());
            prop_assert_eq!(words(&text), words(&expected), "{} of {:?}", template, value);
        }
    }
}

#[test]
fn the_names_that_went_wrong_are_read_as_they_are_on_every_channel() {
    for channel in &*CHANNELS {
        for name in ["R&D *Atlas*", "<script>", "<b>x</b>", "[x](y)", "_x_ ~~y~~", "1. x", "# x", "a | b"] {
            let formatted = sent("On {{ v | escape_markdown }}: 8 h", name, channel);
            assert!(!formatted.markdown_removed, "{name} on {}", channel.name);
            let told = format!("On {name}: 8 h");
            let sent = match channel.name.as_str() {
                "telegram" => formatted.text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"),
                "email" => formatted.text.replace('\\', ""),
                "whatsapp" => formatted.text.replace('∗', "*").replace('ˍ', "_").replace('∼', "~").replace('ˋ', "`"),
                _ => formatted.text,
            };
            assert_eq!(sent, told, "{}", channel.name);
        }
    }
}
