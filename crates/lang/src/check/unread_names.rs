//! Why an input or an output seems to be unused: it stands in the text in the form of another tool, or behind a " #", which begins a comment. The finding
//! then stands there, and says that. It stays a pass: what stands in comments and in the marks of other tools is text of the file, which the model does not hold.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::diagnostic::{Code, Diagnostic, Fix};
use crate::source::{FileId, SourceFile, Sources, Span};

/// Places to fill in, as mailing tools, word processors, shells and other engines write them.
static PLACEHOLDERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"<<\s*(\w+)\s*>>|%(\w+)%|\*\|(\w+)\|\*|\$\((\w+)\)|\[%\s*(\w+)\s*%\]|\$\{(\w+)(?:\.output[\w.]*)?\}|#\{(\w+)\}|\[\[\s*(\w+)\s*\]\]").ok()
});

/// The output of a step, as programs with `${…}` write it.
static OUTPUT_OF: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\$\{(\w+\.output[\w.]*)\}").ok());

/// A name behind a " #", where it is a comment: its line, and the rest of it.
static COMMENTED: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?m)^([^\n#]*?: )([^\n]* #[^\n]*)$").ok());
static READ: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"inputs\.(\w+)").ok());
static OTHERWISE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?m)otherwise: (\w+) *(?:$|[,}])").ok());

/// What a file has in other forms.
#[derive(Default)]
struct OtherForms {
    /// By the name in small letters, without "_".
    placeholders: HashMap<String, (usize, usize)>,
    /// The inputs in comments: where the value of the key begins, where its comment begins, and its end.
    comments: HashMap<String, (usize, usize, usize)>,
    /// The texts of `otherwise` that are one word.
    otherwise: HashMap<String, usize>,
}

impl OtherForms {
    fn of(file: &SourceFile) -> OtherForms {
        let mut forms = OtherForms::default();
        for found in PLACEHOLDERS.iter().flat_map(|regex| regex.captures_iter(&file.text)) {
            let (Some(whole), Some(name)) = (found.get(0), found.iter().skip(1).flatten().next()) else { continue };
            forms.placeholders.entry(plain(name.as_str())).or_insert((whole.start(), whole.end()));
        }
        for found in COMMENTED.iter().flat_map(|regex| regex.captures_iter(&file.text)) {
            let Some(value) = found.get(2).filter(|value| !value.as_str().starts_with(['"', '\''])) else { continue };
            let Some(hash) = value.as_str().find(" #") else { continue };
            let behind = value.as_str().get(hash..).unwrap_or_default();
            for read in READ.iter().flat_map(|regex| regex.captures_iter(behind)) {
                let hash = value.start() + hash + 1;
                forms.comments.entry(read[1].to_owned()).or_insert((value.start(), hash, value.end()));
            }
        }
        for name in OTHERWISE.iter().flat_map(|regex| regex.captures_iter(&file.text)).filter_map(|found| found.get(1)) {
            forms.otherwise.entry(name.as_str().to_owned()).or_insert(name.start());
        }
        forms
    }
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace('_', "")
}

/// Moves the findings of unused names to where these stand in another form.
pub(super) fn settle(found: &mut Vec<Diagnostic>, sources: &Sources) {
    let mut forms: HashMap<FileId, OtherForms> = HashMap::new();
    let mut comments: HashSet<Span> = HashSet::new();
    let mut looked_at: HashSet<FileId> = HashSet::new();
    let told: Vec<Span> = found.iter().map(|found| found.span).collect();
    let told_cuts: Vec<Span> = found.iter().filter(|found| found.code == Code::YamlTrap).map(|found| found.span).collect();
    found.retain_mut(|found| {
        // Who writes one value as another tool does writes others so, too.
        if found.code == Code::SingleBraces && sources.text(found.span).starts_with("${") && looked_at.insert(found.span.file) {
            let text = &sources.file(found.span.file).text;
            for step in OUTPUT_OF.iter().flat_map(|regex| regex.captures_iter(text)) {
                let (Some(whole), name) = (step.get(0), &step[1]) else { continue };
                let span = Span::new(found.span.file, whole.start(), whole.end());
                if !told.iter().any(|other| other.start <= span.start && span.end <= other.end && other.file == span.file) {
                    found.related.push((span, format!("write \"{{{{ steps.{name} }}}}\" here, too")));
                }
            }
        }
        if ![Code::UnusedInput, Code::UnusedOutput].contains(&found.code) {
            return true;
        }
        let file = sources.file(found.span.file);
        let forms = forms.entry(found.span.file).or_insert_with(|| OtherForms::of(file));
        let name = sources.text(found.span).to_owned();
        let at = |start: usize, end: usize| Span::new(found.span.file, start, end);
        let is_input = found.code == Code::UnusedInput;
        let path = if is_input { format!("inputs.{name}") } else { format!("steps.{name}.output") };
        if let Some((start, end)) = forms.placeholders.get(&plain(&name)) {
            let (span, write) = (at(*start, *end), format!("{{{{ {path} }}}}"));
            let message = format!("\"{}\" is only text here; a value is written {write}", sources.text(span));
            *found = instead(found, span, message, format!("write {write}"), Some((span, write)));
        } else if let Some((value, hash, end)) = forms.comments.get(&name).filter(|_| is_input) {
            if told_cuts.iter().any(|cut| cut.file == found.span.file && cut.start as usize == *hash) {
                return false;
            }
            let quoted = crate::syntax::quoted(sources.text(at(*value, *end)).trim());
            let message = "\" #\" begins a comment here, so what follows it is not read".to_owned();
            let help = format!("write {quoted}: a text with \" #\" stands in quotes");
            *found = instead(found, at(*hash, *end), message, help, Some((at(*value, *end), quoted)));
            // One comment may hold several names.
            return comments.insert(found.span);
        } else if let Some(start) = forms.otherwise.get(&name).filter(|_| !is_input) {
            let message = format!("otherwise is a text: \"{name}\" would be sent as it stands, and the step of this id is never read");
            let help = "write the text itself here, and remove the step".to_owned();
            *found = instead(found, at(*start, start + name.len()), message, help, None);
        }
        true
    });
}

/// Another finding in place of one, without what that says at other places.
fn instead(found: &Diagnostic, span: Span, message: String, help: String, edit: Option<(Span, String)>) -> Diagnostic {
    let candidate = edit.map(|edit| Fix { edits: vec![edit], safe: false });
    Diagnostic { message, span, help: vec![help], candidate, related: vec![], ..found.clone() }
}
