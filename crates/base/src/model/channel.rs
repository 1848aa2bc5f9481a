//! Channels and style guides: data, one file each.

use super::PERSON_NAME;
use crate::source::Span;

/// A channel file: what one way of sending allows.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    /// Its name, as in `--channel`.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// A sentence for people.
    pub description: Option<String>,
    /// Longest part as it is sent, in `length_unit`; `None`: unlimited.
    pub max_length: Option<u64>,
    /// What lengths count.
    pub length_unit: LengthUnit,
    /// The Markdown features it can show; empty: none.
    pub markdown: Features,
    /// Whether emojis may be sent.
    pub emojis: bool,
    /// How a long text becomes parts; `None`: always one part.
    pub split: Option<Split>,
    /// The sentence that ends a text cut short. Default: `The rest was left out.`
    pub too_long: String,
    /// What is sent.
    pub body: Body,
    /// How features are written with `body: markup`.
    pub markup: Markup,
    /// The channel as a person of another language gets it.
    pub languages: Languages<Channel>,
}

/// What is said otherwise to people of some languages: the whole, in each of them. Codes of BCP 47: `de`, `pt-BR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Languages<T>(pub Vec<(String, T)>);

impl<T> Default for Languages<T> {
    fn default() -> Self {
        Languages(vec![])
    }
}

/// What may be said otherwise to people of some languages.
pub trait Multilingual: Sized {
    /// How it is said in other languages than its own.
    fn languages(&self) -> &Languages<Self>;

    /// As a person of this language gets it: that of the whole code (`de-AT`), else that of its first part (`de`), else the file's own.
    fn in_language(&self, language: Option<&str>) -> &Self {
        let code = |text: &str| text.trim().replace('_', "-").to_ascii_lowercase();
        let find = |wanted: &str| self.languages().0.iter().find(|(language, _)| code(language) == wanted).map(|(_, spoken)| spoken);
        let wanted = language.map(code).unwrap_or_default();
        find(&wanted).or_else(|| find(wanted.split('-').next().unwrap_or_default())).unwrap_or(self)
    }

    /// As it is said in each language, the file's own first.
    fn in_each_language(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.languages().0.iter().map(|(_, spoken)| spoken))
    }
}

/// A channel and a style guide as they speak to people of each language that one of them has, their own first.
pub fn spoken_together<'s>(channel: &'s Channel, style: Option<&'s StyleGuide>) -> Vec<(&'s Channel, Option<&'s StyleGuide>)> {
    let of_style = style.into_iter().flat_map(|style| &style.languages.0).map(|(code, _)| code.as_str());
    let codes = channel.languages.0.iter().map(|(code, _)| code.as_str()).chain(of_style).map(Some);
    let each = std::iter::once(None).chain(codes);
    each.map(|code| (channel.in_language(code), style.map(|style| style.in_language(code)))).collect()
}

impl Multilingual for Channel {
    fn languages(&self) -> &Languages<Channel> {
        &self.languages
    }
}

impl Multilingual for StyleGuide {
    fn languages(&self) -> &Languages<StyleGuide> {
        &self.languages
    }
}

impl StyleGuide {
    /// Whether its greeting may have the person's name in it, in whichever language.
    pub fn greets_by_name(&self) -> bool {
        self.in_each_language().any(|style| match &style.formatting.greeting {
            Phrase::Off => false,
            Phrase::On => style.formatting.use_user_name,
            Phrase::Own(text) => text.contains(PERSON_NAME),
        })
    }
}

/// What a length counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, strum::IntoStaticStr, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum LengthUnit {
    /// Unicode characters (scalar values).
    #[default]
    Characters,
    /// UTF-16 code units.
    Utf16,
    /// Bytes of UTF-8.
    Bytes,
    /// SMS segments: 160 (153 each when several) in the GSM 03.38 alphabet, else 70 (67).
    SmsSegments,
}

impl LengthUnit {
    /// As people say it.
    pub fn in_words(self) -> &'static str {
        match self {
            LengthUnit::Characters => "characters",
            LengthUnit::Utf16 => "UTF-16 units",
            LengthUnit::Bytes => "bytes",
            LengthUnit::SmsSegments => "SMS segments",
        }
    }
}

/// A set of Markdown features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(missing_docs, reason = "each field is the feature of that name")]
pub struct Features {
    pub bold: bool,
    pub italic: bool,
    pub strike: bool,
    pub headers: bool,
    pub tables: bool,
    pub links: bool,
    pub code: bool,
    pub lists: bool,
}

impl Features {
    /// No Markdown.
    pub const NONE: Features =
        Features { bold: false, italic: false, strike: false, headers: false, tables: false, links: false, code: false, lists: false };
    /// All of it.
    pub const FULL: Features =
        Features { bold: true, italic: true, strike: true, headers: true, tables: true, links: true, code: true, lists: true };
    /// The words of the language.
    pub const WORDS: [&'static str; 8] = ["bold", "italic", "strike", "headers", "tables", "links", "code", "lists"];

    /// The features as words, in the order of [`Features::WORDS`].
    pub fn words(&self) -> Vec<&'static str> {
        let set = [self.bold, self.italic, self.strike, self.headers, self.tables, self.links, self.code, self.lists];
        Features::WORDS.iter().zip(set).filter(|(_, on)| *on).map(|(word, _)| *word).collect()
    }

    /// Switches a feature on by its word; false if there is no such word.
    pub fn enable(&mut self, word: &str) -> bool {
        let flag = match word {
            "bold" => &mut self.bold,
            "italic" => &mut self.italic,
            "strike" => &mut self.strike,
            "headers" => &mut self.headers,
            "tables" => &mut self.tables,
            "links" => &mut self.links,
            "code" => &mut self.code,
            "lists" => &mut self.lists,
            _ => return false,
        };
        *flag = true;
        true
    }
}

/// How a long text becomes parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The largest unit that is kept whole where possible; smaller ones are tried after it.
    pub at: SplitAt,
    /// Most parts; a longer text is cut and ends with `too_long`.
    pub most_parts: u64,
    /// The end of each part, with `{part}` and `{parts}`; empty: none.
    pub indicator: String,
}

/// Where a text is split first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, strum::IntoStaticStr, strum::EnumString, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum SplitAt {
    Paragraph,
    #[default]
    Sentence,
    Word,
}

/// What is sent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, strum::IntoStaticStr, strum::EnumString, strum::VariantNames, strum::VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Body {
    /// Plain text.
    #[default]
    Text,
    /// The channel's own marks.
    Markup,
    /// CommonMark with tables and strike.
    Markdown,
    /// HTML.
    Html,
    /// An Adaptive Card (JSON).
    AdaptiveCard,
}

impl Body {
    /// The ending of a golden file that holds such a body.
    pub fn extension(self) -> &'static str {
        match self {
            Body::Text | Body::Markup => "txt",
            Body::Markdown => "md",
            Body::Html => "html",
            Body::AdaptiveCard => "json",
        }
    }

    /// Whether what is sent is an object, and no text.
    pub fn is_object(self) -> bool {
        match self {
            Body::Text | Body::Markup | Body::Markdown | Body::Html => false,
            Body::AdaptiveCard => true,
        }
    }

    /// Whether the channel file says how it marks what is bold, a link, a list.
    pub fn has_own_marks(self) -> bool {
        match self {
            Body::Markup => true,
            Body::Text | Body::Markdown | Body::Html | Body::AdaptiveCard => false,
        }
    }

    /// Whether its lists keep the marks of Markdown.
    pub fn keeps_marks_of_lists(self) -> bool {
        match self {
            Body::Markdown => true,
            Body::Text | Body::Markup | Body::Html | Body::AdaptiveCard => false,
        }
    }
}

/// How a `body: markup` channel writes each feature. A missing key: the feature becomes plain text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Markup {
    /// A mark put on both sides, or a text with `{text}`.
    pub bold: Option<String>,
    /// As `bold`.
    pub italic: Option<String>,
    /// As `bold`.
    pub strike: Option<String>,
    /// As `bold`.
    pub code: Option<String>,
    /// What each element of a list begins with.
    pub bullet: Option<String>,
    /// A text with `{text}` and `{url}`.
    pub link: Option<String>,
    /// A text with `{text}`.
    pub heading: Option<String>,
    /// `lines`: one line a row, `Day: Mon, Hours: 8`.
    pub table: Option<String>,
    /// Characters that mean something to the channel, and how each is sent.
    pub escape: Vec<(String, String)>,
    /// Where the channel has no way to escape a character: the sign that is in its place wherever it could be read as a mark.
    pub lookalike: Vec<(String, String)>,
}

impl Markup {
    /// The features that it can write.
    pub fn features(&self) -> Features {
        let Markup { bold, italic, strike, code, bullet, link, heading, table, escape: _, lookalike: _ } = self;
        Features {
            bold: bold.is_some(),
            italic: italic.is_some(),
            strike: strike.is_some(),
            headers: heading.is_some(),
            tables: table.is_some(),
            links: link.is_some(),
            code: code.is_some(),
            lists: bullet.is_some(),
        }
    }
}

/// A style guide file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StyleGuide {
    /// Its name.
    pub name: String,
    /// Where the name stands.
    pub span: Span,
    /// Its version.
    pub version: Option<String>,
    /// The brand.
    pub brand_name: Option<String>,
    /// Who speaks, for the prompt.
    pub personality: Option<String>,
    /// Tone by occasion, for the prompt.
    pub tone: Tone,
    /// Which emojis.
    pub emojis: Emojis,
    /// How much humour, for the prompt.
    pub humor: Humor,
    /// Greeting and sign-off.
    pub formatting: Formatting,
    /// Words to prefer, avoid, ban.
    pub words: Words,
    /// The style guide as it speaks to people of another language.
    pub languages: Languages<StyleGuide>,
}

/// Tone by occasion.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Tone {
    pub default: Option<String>,
    pub error: Option<String>,
    pub success: Option<String>,
}

/// Emojis by occasion; none at all unless `enabled`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Emojis {
    pub enabled: bool,
    pub success: Option<String>,
    pub warning: Option<String>,
    pub error: Option<String>,
    pub info: Option<String>,
}

/// Humour.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Humor {
    pub enabled: bool,
    pub style: Option<String>,
    pub frequency: Option<String>,
}

/// Greeting and sign-off, which `format` adds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Formatting {
    /// `On`: `Hello,`, or `Hi Ana,` with `use_user_name` and a known name: its first word.
    pub greeting: Phrase,
    /// `On`: the brand name.
    pub sign_off: Phrase,
    /// Whether the greeting names the person.
    pub use_user_name: bool,
}

/// `false`, `true`, or the author's own text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Phrase {
    /// `false`
    #[default]
    Off,
    /// `true`
    On,
    /// The author's own text; in a greeting, `{name}` is the person's name.
    Own(String),
}

/// Word lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words {
    /// Instead of the left, the right. Whole words, any case.
    pub prefer: Vec<(String, String)>,
    /// Named in the prompt only.
    pub avoid: Vec<String>,
    /// Fail the `style_guide` check. Whole words, any case.
    pub banned: Vec<String>,
}
