//! Keys of channel files, style guides, scripted replies and tests.

use strum::VariantNames;

use super::Takes::*;
use super::Thing::{Channel, Model, Tool};
use super::work::{FILE, FLOW};
use super::{KeyTable, key};
use crate::model::{Body, FailureKind, Features, LengthUnit, MessageRole, Purpose, SplitAt};

/// A channel file.
pub static CHANNEL: KeyTable = KeyTable::of("channel").keys(&[
    FLOW,
    key("channel", Id, "its name").required(),
    key("description", Sentence, "what it is"),
    key("max_length", Limit, "longest part as it is sent; left out: unlimited"),
    key("length_unit", Word(LengthUnit::VARIANTS), "what lengths count"),
    key("markdown", Either(&[Word(&["none", "full"]), List(&Word(&Features::WORDS))]), "the Markdown it can show"),
    key("emojis", Boolean, "whether emojis may be sent"),
    key("split", Keys(&SPLIT), "how a long text becomes parts"),
    key("too_long", Sentence, "the sentence that ends a text cut short"),
    key("body", Word(Body::VARIANTS), "what is sent"),
    key("markup", Keys(&MARKUP), "how each feature is written with body: markup"),
    key("languages", Named(&Keys(&CHANNEL_IN_LANGUAGE)), "its words for people of other languages, by code"),
]);

/// The words of a channel in one language.
pub(crate) static CHANNEL_IN_LANGUAGE: KeyTable = KeyTable::of("channel in one language").keys(&[
    key("too_long", Sentence, "the sentence that ends a text cut short"),
    key("indicator", Sentence, "the end of each part, with {part} and {parts}"),
]);

/// `split` of a channel.
pub(crate) static SPLIT: KeyTable = KeyTable::of("split").keys(&[
    key("at", Word(SplitAt::VARIANTS), "the largest unit kept whole"),
    key("most_parts", Limit, "most parts"),
    key("indicator", Sentence, "the end of each part, with {part} and {parts}"),
]);

/// `markup` of a channel.
pub(crate) static MARKUP: KeyTable = KeyTable::of("markup").keys(&[
    key("bold", Sentence, "a mark on both sides, or a text with {text}"),
    key("italic", Sentence, "a mark on both sides, or a text with {text}"),
    key("strike", Sentence, "a mark on both sides, or a text with {text}"),
    key("code", Sentence, "a mark on both sides, or a text with {text}"),
    key("bullet", Sentence, "what each element of a list begins with"),
    key("link", Sentence, "a text with {text} and {url}"),
    key("heading", Sentence, "a text with {text}"),
    key("table", Word(&["lines"]), "one line a row"),
    key("escape", Named(&Sentence), "characters that mean something to the channel, and how each is sent"),
    key("lookalike", Named(&Sentence), "characters that cannot be escaped, and the sign sent where one could be a mark"),
]);

/// A style guide file.
pub static STYLE_GUIDE: KeyTable = KeyTable::of("style guide").keys(&[
    FLOW,
    key("style_guide", Id, "its name").required(),
    key("version", Loose, "its version"),
    key("description", Sentence, "what it is"),
    key("brand_name", Sentence, "the brand"),
    key("personality", Sentence, "who speaks"),
    key("tone", Keys(&TONE), "tone by occasion"),
    key("emojis", Keys(&EMOJIS), "which emojis"),
    key("humor", Keys(&HUMOR), "how much humour"),
    key("formatting", Keys(&FORMATTING), "greeting and sign-off"),
    key("words", Keys(&WORDS), "words to prefer, avoid, ban"),
    key("languages", Named(&Keys(&STYLE_IN_LANGUAGE)), "what it says otherwise to people of other languages, by code"),
]);

/// What a style guide says otherwise in one language.
pub(crate) static STYLE_IN_LANGUAGE: KeyTable = KeyTable::of("style guide in one language").keys(&[
    key("brand_name", Sentence, "the brand"),
    key("personality", Sentence, "who speaks"),
    key("tone", Keys(&TONE), "tone by occasion"),
    key("humor", Keys(&HUMOR), "how much humour"),
    key("formatting", Keys(&FORMATTING), "greeting and sign-off"),
    key("words", Keys(&WORDS), "words to prefer, avoid, ban"),
]);

/// `tone` of a style guide.
pub(crate) static TONE: KeyTable = KeyTable::of("tone").keys(&[
    key("default", Sentence, "mostly"),
    key("error", Sentence, "when something failed"),
    key("success", Sentence, "when it worked"),
]);

/// `emojis` of a style guide.
pub(crate) static EMOJIS: KeyTable = KeyTable::of("emojis").keys(&[
    key("enabled", Boolean, "whether any may be used"),
    key("success", Sentence, "for what worked"),
    key("warning", Sentence, "for warnings"),
    key("error", Sentence, "for what failed"),
    key("info", Sentence, "for remarks"),
]);

/// `humor` of a style guide.
pub(crate) static HUMOR: KeyTable = KeyTable::of("humor").keys(&[
    key("enabled", Boolean, "whether there is any"),
    key("style", Sentence, "of which kind"),
    key("frequency", Sentence, "how often"),
]);

/// `formatting` of a style guide.
pub(crate) static FORMATTING: KeyTable = KeyTable::of("formatting").keys(&[
    key("greeting", Either(&[Boolean, Sentence]), "true, false, or your own"),
    key("sign_off", Either(&[Boolean, Sentence]), "true, false, or your own"),
    key("use_user_name", Boolean, "whether the greeting names the person"),
]);

/// `words` of a style guide.
pub static WORDS: KeyTable = KeyTable::of("words").keys(&[
    key("prefer", Named(&Sentence), "instead of the left, the right"),
    key("avoid", Many(&Name), "named in the prompt only"),
    key("banned", Many(&Name), "fail the style_guide check"),
]);

/// A file of scripted replies.
pub static REPLIES: KeyTable = KeyTable::of("scripted replies").keys(&[
    FLOW,
    key("description", Sentence, "what they are for"),
    key("replies", Named(&Replies), "replies by step"),
    key("meanings", List(&List(&Name)), "groups of words that mean the same where its model makes vectors"),
]);

/// One scripted reply that is more than a text.
pub static REPLY: KeyTable = KeyTable::of("reply").keys(&[
    key("when", Expression, "it answers only if this is true"),
    key("action", Word(Purpose::VARIANTS), "it answers only calls for this, by the word of the record"),
    key("text", Template, "what it says"),
    key("data", Value, "structured data"),
    key("calls", Filled(&Keys(&REPLY_CALL)), "tools it calls"),
    key("error", Word(FailureKind::VARIANTS), "how it fails"),
    key("passed", True, "true: the judge lets everything pass"),
    key("failed", Named(&Loose), "criteria the judge finds not met, each with its feedback"),
    key("usage", Keys(&REPLY_USAGE), "tokens it claims"),
]);

/// What a reply says: one of these keys.
pub(crate) const BODIES: [&str; 6] = ["text", "data", "calls", "error", "passed", "failed"];

/// One tool call of a scripted reply.
pub(crate) static REPLY_CALL: KeyTable =
    KeyTable::of("call").keys(&[key("tool", Of(Tool), "the tool").required(), key("with", Value, "its arguments")]);

/// `usage` of a scripted reply.
pub(crate) static REPLY_USAGE: KeyTable =
    KeyTable::of("usage").keys(&[key("input_tokens", Whole, "tokens read"), key("output_tokens", Whole, "tokens written")]);

/// A test file.
pub static TEST: KeyTable = KeyTable::of("test").keys(&[
    FLOW,
    key("test", Path, "the pipeline under test").required(),
    key("description", Sentence, "what is tested"),
    key("now", Fixed, "the time of all cases"),
    key("mocks", Named(&Mock), "outputs of steps and tools that are not run, for all cases"),
    key("replies", Named(&Replies), "scripted replies, for all cases"),
    key("cases", Filled(&Keys(&TEST_CASE)), "the cases"),
    key("cases_from", Keys(&FILE), "a CSV file with one more case in each row"),
    key("models", Filled(&Of(Model)), "models that each case runs on, one after the other, with flow test --live"),
    key("judge_model", Of(Model), "the model that judges what expect.judge says; left out: default"),
]);

/// One case of a test.
pub static TEST_CASE: KeyTable = KeyTable::of("test case").keys(&[
    key("id", Id, "its id").required(),
    key("description", Sentence, "what it shows"),
    key("inputs", Named(&Constant), "what the run is given"),
    key("channels", Filled(&Of(Channel)), "once per channel; left out: the default one"),
    key("conversation", List(&Keys(&PAST_MESSAGE)), "messages before this one"),
    key("mocks", Named(&Mock), "outputs of steps and tools that are not run"),
    key("replies", Named(&Replies), "scripted replies by step"),
    key("expect", Keys(&EXPECT), "what must hold"),
    key("golden", Boolean, "whether what was sent is compared with a file"),
]);

/// A message before a case.
pub static PAST_MESSAGE: KeyTable = KeyTable::of("message").keys(&[
    key("role", Word(MessageRole::VARIANTS), "who spoke").required(),
    key("text", Sentence, "what was said").required(),
    key("channel", Name, "the channel it was said on"),
    key("agent", Name, "the agent with history: own that was asked it, or said it"),
]);

/// A mock that fails.
pub(crate) static MOCK_ERROR: KeyTable = KeyTable::of("mock").keys(&[key("error", Word(FailureKind::VARIANTS), "how it fails").required()]);

/// What a case expects of the calls of a step.
pub(crate) static EXPECTED_CALLS: KeyTable = KeyTable::of("calls").keys(&[
    key("agent", Many(&Name), "all agents that it asks"),
    key("prompt", Expected, "instructions, prompts and results of tools, as its models are sent them, as one text"),
    key("pictures", Many(&Name), "all pictures that its models are shown, by the names of their files"),
    key("request", Expected, "method and address of its request"),
    key("body", Expected, "the body of its request"),
    key("idempotency_key", Expected, "the idempotency key of its request"),
    key("arguments", Expected, "what its tool is given"),
]);

/// `expect` of a case.
pub(crate) static EXPECT: KeyTable = KeyTable::of("expect").keys(&[
    key(
        "status",
        Word(&["succeeded", "partial", "quality_not_met", "failed", "timed_out", "over_budget", "cancelled"]),
        "how the run ends",
    ),
    key("exit", Whole, "the exit code"),
    key("refined", Boolean, "whether the refinement ran"),
    key("outputs", Named(&Expected), "outputs by name"),
    key("result", Expected, "the result of a pipeline whose outputs is one value"),
    key("sent", Expected, "all parts as one text"),
    key("blocked", Many(&Name), "all tools, hosts and paths that rules deny in the run"),
    key("calls", Named(&Keys(&EXPECTED_CALLS)), "what steps send to models and services, by step"),
    key("asked", Many(&Name), "all agents that are asked in the run"),
    key("max_parallel", Whole, "most calls at once; 0: none is made"),
    key("judge", Sentence, "what must be true of what the run sent or gave, for a model to judge"),
    key("max_tokens", Whole, "most tokens, in and out; 0: no model is asked"),
    key("max_cost_usd", Positive, "most money, in US dollars"),
    key("steps", Named(&Word(&["succeeded", "failed", "skipped", "blocked", "cancelled", "not_run"])), "status by step"),
]);
