//! The table of codes. A code is never reused and never changes its meaning.

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Severity {
    /// The file cannot run.
    Error,
    /// It runs, perhaps not as meant.
    Warning,
    /// A remark, shown with `-v`.
    Info,
}

has_word!(Severity);

macro_rules! codes {
    ($($variant:ident = $id:literal, $name:literal, $severity:ident, $suppressible:literal;)*) => {
        /// What kind of mistake a diagnostic is; each has a page (`flow explain CODE`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the table's own names say it, and each code has a page")]
        pub enum Code { $($variant,)* }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// `F` and three digits.
            pub fn id(self) -> &'static str {
                match self { $(Code::$variant => $id,)* }
            }

            /// The short name.
            pub fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// How grave it is.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)* }
            }

            /// The page that `flow explain CODE` shows, in Markdown.
            pub fn page(self) -> &'static str {
                match self { $(Code::$variant => include_str!(concat!("../../../../docs/codes/", $id, ".md")),)* }
            }

            /// Whether `# flow-ignore` may hide it.
            pub fn is_suppressible(self) -> bool {
                match self { $(Code::$variant => $suppressible,)* }
            }
        }
    };
}

impl Code {
    /// Finds a code by its id (`F101`) or its name (`cycle`), in any case.
    pub fn find(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|c| c.id().eq_ignore_ascii_case(text) || c.name().eq_ignore_ascii_case(text))
    }
}

codes! {
    YamlSyntax = "F001", "yaml-syntax", Error, false;
    UnknownKey = "F002", "unknown-key", Error, false;
    DuplicateKey = "F003", "duplicate-key", Error, false;
    MissingKey = "F004", "missing-key", Error, false;
    WrongType = "F005", "wrong-type", Error, false;
    TwoKinds = "F006", "two-kinds", Error, false;
    BadValue = "F007", "bad-value", Error, false;
    BadDuration = "F008", "bad-duration", Error, false;
    YamlTrap = "F009", "yaml-trap", Warning, true;
    UnquotedPhone = "F010", "unquoted-phone", Error, false;
    BadId = "F011", "bad-id", Error, false;
    ReservedName = "F012", "reserved-name", Error, false;
    DuplicateId = "F013", "duplicate-id", Error, false;
    LanguageVersion = "F014", "language-version", Error, false;
    EmptySection = "F015", "empty-section", Error, false;
    ImportMissing = "F016", "import-missing", Error, false;
    ImportCircle = "F017", "import-circle", Error, false;
    ImportClash = "F018", "import-clash", Error, false;
    SchemaInvalid = "F019", "schema-invalid", Error, false;
    InputRules = "F020", "input-rules", Error, false;
    BadPattern = "F021", "bad-pattern", Error, false;
    TooLarge = "F022", "too-large", Error, false;
    HiddenCharacters = "F023", "hidden-characters", Error, true;
    UnsupportedYaml = "F024", "unsupported-yaml", Error, false;
    MissingFile = "F025", "missing-file", Error, false;
    UnmatchedPattern = "F026", "unmatched-pattern", Warning, true;
    UnknownStep = "F100", "unknown-step", Error, false;
    Cycle = "F101", "cycle", Error, false;
    RedundantNeed = "F102", "redundant-need", Info, true;
    NotUpstream = "F103", "not-upstream", Error, false;
    UnreachableStep = "F104", "unreachable-step", Warning, true;
    UnusedOutput = "F105", "unused-output", Warning, true;
    ConstantCondition = "F106", "constant-condition", Warning, true;
    SelfCall = "F107", "self-call", Error, false;
    NoResult = "F108", "no-result", Warning, true;
    SameFileWritten = "F109", "same-file-written", Warning, true;
    RouteOpen = "F110", "route-open", Warning, true;
    RouteCaseHidden = "F111", "route-case-hidden", Warning, true;
    FailureTarget = "F112", "failure-target", Error, false;
    TooManyCalls = "F113", "too-many-calls", Error, false;
    RouteValue = "F114", "route-value", Error, false;
    RouteFreeText = "F115", "route-free-text", Warning, true;
    UntilUnchanged = "F116", "until-unchanged", Warning, true;
    TemplateSyntax = "F200", "template-syntax", Error, false;
    UnknownName = "F201", "unknown-name", Error, false;
    UnknownField = "F202", "unknown-field", Error, false;
    UnknownFilter = "F203", "unknown-filter", Error, false;
    MaybeSkipped = "F204", "maybe-skipped", Warning, true;
    TypeMismatch = "F205", "type-mismatch", Error, false;
    ComparisonType = "F206", "comparison-type", Warning, true;
    BracesInCondition = "F207", "braces-in-condition", Error, false;
    WrongPlace = "F208", "wrong-place", Error, false;
    CallInputs = "F209", "call-inputs", Error, false;
    UnusedInput = "F210", "unused-input", Warning, true;
    NoOutputFields = "F211", "no-output-fields", Warning, true;
    UnquotedTemplate = "F212", "unquoted-template", Error, false;
    UnknownTable = "F213", "unknown-table", Error, false;
    SingleBraces = "F214", "single-braces", Warning, true;
    UnknownColumn = "F215", "unknown-column", Error, false;
    QueryFails = "F216", "query-fails", Error, false;
    QueryValues = "F217", "query-values", Error, false;
    MissingBraces = "F218", "missing-braces", Warning, true;
    DollarBraces = "F219", "dollar-braces", Warning, true;
    AbsentSection = "F220", "absent-section", Warning, true;
    WholeStep = "F221", "whole-step", Warning, true;
    ElementUnread = "F222", "element-unread", Warning, true;
    QueryNever = "F223", "query-never", Warning, true;
    ShellWords = "F224", "shell-words", Warning, true;
    DefaultUnused = "F225", "default-unused", Warning, true;
    WholeValue = "F226", "whole-value", Warning, true;
    PathForFile = "F227", "path-for-file", Warning, true;
    AnyRow = "F228", "any-row", Warning, true;
    TableContent = "F229", "table-content", Warning, true;
    QueryPlace = "F230", "query-place", Error, false;
    UnknownReference = "F300", "unknown-reference", Error, false;
    UnusedDefinition = "F301", "unused-definition", Warning, true;
    ToolNotOpen = "F302", "tool-not-open", Error, false;
    ToolArguments = "F303", "tool-arguments", Error, false;
    FallbackCircle = "F304", "fallback-circle", Error, false;
    DefaultBound = "F305", "default-bound", Info, true;
    EmbedModel = "F306", "embed-model", Error, false;
    NoEnd = "F310", "no-end", Error, false;
    DialogueParticipants = "F311", "dialogue-participants", Error, false;
    PlanOutsidePolicy = "F312", "plan-outside-policy", Error, false;
    TaskUnmeasured = "F313", "task-unmeasured", Error, false;
    ApproveBySilence = "F314", "approve-by-silence", Error, false;
    ToolsOfProgram = "F315", "tools-of-program", Error, false;
    ToolModelPlace = "F316", "tool-model-place", Error, false;
    ApprovalIgnored = "F317", "approval-ignored", Warning, true;
    OutputIgnored = "F318", "output-ignored", Warning, true;
    ArgumentUnread = "F319", "argument-unread", Warning, true;
    HistoryAlone = "F320", "history-alone", Error, false;
    OneConversation = "F321", "one-conversation", Warning, true;
    ConversationUnread = "F322", "conversation-unread", Warning, true;
    JudgeTools = "F323", "judge-tools", Warning, true;
    SecondRefinement = "F400", "second-refinement", Error, false;
    RefineNotUpstream = "F401", "refine-not-upstream", Error, false;
    RefineRepeatsEffect = "F402", "refine-repeats-effect", Error, false;
    FeedbackUnread = "F403", "feedback-unread", Warning, true;
    CriterionUnchecked = "F404", "criterion-unchecked", Error, false;
    JudgeMissing = "F405", "judge-missing", Error, false;
    CriterionTooShort = "F406", "criterion-too-short", Error, false;
    CheckImpossible = "F407", "check-impossible", Error, false;
    CheckAgainstChannel = "F408", "check-against-channel", Error, false;
    RefineInside = "F409", "refine-inside", Error, false;
    TextPastGate = "F410", "text-past-gate", Error, false;
    GateTooLate = "F411", "gate-too-late", Error, false;
    GateNoWayOut = "F412", "gate-no-way-out", Warning, true;
    OtherwiseFails = "F413", "otherwise-fails", Error, false;
    JudgeIsAuthor = "F414", "judge-is-author", Warning, true;
    DraftPastGate = "F415", "draft-past-gate", Warning, true;
    PatternSlashes = "F416", "pattern-slashes", Warning, true;
    TextAsPattern = "F417", "text-as-pattern", Warning, true;
    CheckDescription = "F418", "check-description", Warning, true;
    GateOnInput = "F419", "gate-on-input", Warning, true;
    ChannelImpossible = "F420", "channel-impossible", Error, false;
    ChannelConflict = "F421", "channel-conflict", Error, false;
    RawSend = "F422", "raw-send", Warning, true;
    NoEffect = "F423", "no-effect", Warning, true;
    StyleConflict = "F430", "style-conflict", Error, false;
    DefaultTimeout = "F500", "default-timeout", Info, true;
    PastDeadline = "F501", "past-deadline", Warning, true;
    OnceWithRetry = "F502", "once-with-retry", Error, false;
    EffectWithRetry = "F503", "effect-with-retry", Warning, true;
    WiderInside = "F504", "wider-inside", Warning, true;
    ZeroLimit = "F505", "zero-limit", Error, false;
    UnpricedModel = "F506", "unpriced-model", Error, false;
    NestedRetry = "F507", "nested-retry", Warning, true;
    CacheHidesEffect = "F508", "cache-hides-effect", Error, false;
    SameKey = "F509", "same-key", Warning, true;
    LimitContradicts = "F510", "limit-contradicts", Warning, true;
    ShortTimeout = "F511", "short-timeout", Warning, true;
    GroupRetry = "F512", "group-retry", Error, false;
    EffectInRepeat = "F513", "effect-in-repeat", Warning, true;
    ExtraUnchecked = "F514", "extra-unchecked", Info, true;
    SecretInFile = "F600", "secret-in-file", Error, true;
    SecretInText = "F601", "secret-in-text", Error, false;
    SecretInAddress = "F602", "secret-in-address", Error, false;
    TextAsCode = "F603", "text-as-code", Error, false;
    PathEscape = "F604", "path-escape", Error, false;
    PiiUnmarked = "F605", "pii-unmarked", Warning, true;
    PiiInLog = "F606", "pii-in-log", Error, false;
    PiiLeaves = "F607", "pii-leaves", Warning, true;
    UndeclaredSecret = "F608", "undeclared-secret", Error, false;
    SecretToOpenHost = "F609", "secret-to-open-host", Error, false;
    ListsOverlap = "F610", "lists-overlap", Error, false;
    PolicyLimit = "F611", "policy-limit", Error, false;
    PolicyTooWide = "F612", "policy-too-wide", Error, false;
    OutsidePolicy = "F613", "outside-policy", Error, false;
    NoSandbox = "F614", "no-sandbox", Error, false;
    PlainHttp = "F615", "plain-http", Warning, true;
    OwnFile = "F616", "own-file", Error, false;
    GuaranteeUnmet = "F618", "guarantee-unmet", Error, false;
    PolicyEntry = "F617", "policy-entry", Warning, true;
    TestUnknownName = "F700", "test-unknown-name", Error, false;
    TestExpectsNothing = "F701", "test-expects-nothing", Error, false;
    GoldenOrphan = "F702", "golden-orphan", Warning, true;
    NoTests = "F703", "no-tests", Info, true;
    MockShape = "F704", "mock-shape", Warning, true;
    TestContradicts = "F705", "test-contradicts", Error, false;
    TestLacksAnswer = "F706", "test-lacks-answer", Warning, true;
    TestName = "F707", "test-name", Warning, true;
    UnusedSuppression = "F900", "unused-suppression", Warning, true;
    BadSuppression = "F901", "bad-suppression", Error, false;
}
