//! What is lost in an import, and why: one table, each reason once with the words that people read.

use std::fmt;

/// Makes the type and its words from the table below.
macro_rules! table {
    ($($name:ident $(($($field:ident: $kind:ty),+))? => $words:literal,)+) => {
        /// Why something is not in the result, or means something else there.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum LostWhy {
            $($name $(($($kind),+))?,)+
        }

        impl fmt::Display for LostWhy {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(LostWhy::$name $(($($field),+))? => write!(f, $words $($(, $field = $field)+)?),)+
                }
            }
        }
    };
}

table! {
    // Of any file.
    NoCounterpart => "has no counterpart",
    NoName => "it has no name",
    WrittenTwice => "the first one counts",
    OtherFolder => "only files in the folder of this file are read",
    Unreadable(name: String, problem: String) => "{name} cannot be read: {problem}",
    FileInFile => "a file that names another file is not followed; its text is kept as it is",
    Finding(message: String) => "{message}",
    Asked(why: Box<LostWhy>) => "{why}; a person is asked for its result",
    StepKind(kind: String) => "a step of type {kind} has no counterpart",
    NoSuchAgent => "there is no such agent",
    FilledModel => "a model that is filled in has no counterpart; the one called default is used",
    NoProvider => "there is no such provider; the model called default is used",
    NeedsBaseUrl => "imported as an endpoint like that of OpenAI: give it its base_url",
    NoSetting => "there is no such setting of a model",
    // Of texts.
    NotClosed => "it is not closed",
    WholeText(why: Box<LostWhy>) => "{why}; the whole text is kept as plain text",
    NoStatement(word: String) => "there is no statement \"{word}\"",
    ForWithoutIn => "a for without in",
    OpenQuote => "a quote is not closed",
    NamelessField => "a field of something that has no name",
    UnknownSign(sign: char) => "the sign {sign} is not known",
    NoFunction(name: String) => "there is no function {name}",
    EmptyExpression => "it is empty",
    Unknown(path: String) => "there is no {path}",
    NameMissing => "a name is missing",
    OtherRounding => "halves are rounded away from zero here, and a whole number has no .0",
    NoNumber => "a text that is no number stops the run here; give the filter a default",
    NullIsThere => "null is replaced there, and only what is missing here; default(…, true) replaces all that is empty",
    CutSooner => "a text that is up to 5 characters too long is cut here, and left as it is there",
    GroupsAreList => "groups are a list of pairs here, and an object there",
    // Of tests.
    TestsElsewhere => "tests of another file are not read",
    OnePrompt => "a pipeline has one prompt a step; the first is taken",
    ProgramPrompt => "a prompt that a program makes has no counterpart",
    NoTextMessage => "a message that is no text is not imported",
    OneModel => "a run uses one model; set FLOW_MODEL for another one",
    FixedSentence => "what a judge decides is a fixed text here",
    FileAsValue => "a file in a variable is not read: its path is the value",
    FilledVariable => "braces in a variable are filled in there; here they are text",
    ListOfTests => "a list makes a test for each of its values there; here it is one value",
    OneCheck(key: &'static str) => "a case has one {key}",
    FilledValue => "a value with braces or of a file is not imported",
    TextCompared => "an answer is compared as text",
    OtherJudge => "its judge works in another way: write what it decides as a sentence in expect.judge",
    CodeOfTest => "code of a test is not run: write an expression in a scorecard",
    BoundOfRun => "how long a run may take is bounded by limits of the pipeline",
    NeedsPrice => "imported as max_cost_usd: give the model its price, or the case fails",
    NoCheck => "there is no such check",
    // Of nodes.
    Circle => "it reads itself, by way of others or not",
    Picture => "a picture is a file here: read it with a read step and attach it",
    NoReference => "it is no reference",
    ReferenceInText => "a reference inside a longer text",
    ListInInputs => "a list or an object in inputs",
    OneLine => "a run has one line of data; a step over all of them has no counterpart",
    OneVariant => "a step has one form; the default variant is taken",
    NoNetwork => "code of a python step has none: use an http step",
    ToolClass => "a tool that is a class has no counterpart",
    NoTool => "its file has no function marked @tool",
    // Of routes and agents.
    NoEntry => "it names no agent; the first one is the first step",
    NoRouteTo => "no route leads to it",
    AgentsCounted => "there is no count of agents; the bound of the loop is max_iterations",
    RoundsCounted => "it counts the agents of a whole run there, and the rounds of each loop here",
    ElementsFail => "outputs of elements that may fail have another shape here; one that fails stops the run",
    OnlyAgents => "only an agent can be done for each element",
    ExitCodes => "0, 1 and 2 are results here; any other code fails the step",
    NoServer => "no server of this file has it",
    // Of tasks.
    SameReference => "several tasks have this reference; the last one is read",
    NotBefore => "it is not done before",
    OtherPath => "this path has no counterpart",
    Delay => "has no counterpart; write a step wait above it",
    OutputsOfStop => "the outputs of a run that stops are those of the pipeline",
    UnwrittenTime => "its time is not written out",
    OnlyAlerts => "a run that takes longer only raises an alert there; a deadline would end it",
    SeveralMessages => "several messages are one prompt here",
    NotOneCondition => "it is JavaScript that is more than one condition",
    NotWhole => "only a whole ${{…}} is read in a script",
    NoSingleValue(name: String) => "{name} is no single value",
    EmptyIsTrue => "an empty list or object counts as true there, and as false here",
    WaitsForSome => "it waits for some of the branches there; the group waits for all of them",
    WholeRequest => "the longest pause of an answer there; here the time of the whole request",
    LooseEquals => "== of JavaScript converts types (\"1\" == 1); here it does not",
    ScriptLost(why: Box<LostWhy>) => "its script is not imported ({why})",
    CaseAsked(why: Box<LostWhy>) => "{why}; a person is asked which case it is",
    OneRound(why: Box<LostWhy>) => "{why}; the loop ends in a failure after one round",
    NoEnd(rounds: u64) => "a loop ends after {rounds} rounds at the latest, and fails",
}

impl LostWhy {
    pub(super) fn asked(self) -> LostWhy {
        LostWhy::Asked(Box::new(self))
    }
}
