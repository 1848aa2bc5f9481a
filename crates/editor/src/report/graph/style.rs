//! Colours of the SVG. It has its own background, so that it is readable on light and on dark pages. The contrast of texts is above 7 to 1
//! (WCAG 2.2, criterion 1.4.6); no meaning depends on colour alone.

/// CSS classes with their styles on light and on dark backgrounds.
const CLASSES: &[(&str, &str, &str)] = &[
    ("page", "fill:#ffffff", "fill:#16191d"),
    ("title,.name", "fill:#1b1f24", "fill:#f2f4f7"),
    ("line,.legend", "fill:#3f4854", "fill:#c3cad3"),
    ("step", "fill:#f4f6f9;stroke:#7a8594", "fill:#22272e;stroke:#8b96a5"),
    ("model", "fill:#eef1fd;stroke:#4a5fc1", "fill:#232946;stroke:#8fa0f0"),
    ("check", "fill:#fdf4e3;stroke:#a06a00", "fill:#33290f;stroke:#d9a441"),
    ("send", "fill:#e9f6ee;stroke:#2f7d4f", "fill:#16301f;stroke:#63b985"),
    ("group", "fill:none;stroke:#9aa4b1", "fill:none;stroke:#6b7684"),
    ("way", "stroke:#5b6573", "stroke:#9aa4b2"),
    ("head", "fill:#5b6573", "fill:#9aa4b2"),
    ("back", "stroke:#a06a00", "stroke:#d9a441"),
    ("back-head,.back-label", "fill:#7a5000", "fill:#e8b95c"),
    ("fail", "stroke:#b3261e", "stroke:#ff8a80"),
    ("fail-head,.fail-label", "fill:#9c1f18", "fill:#ff9d94"),
    ("good", "fill:#2f7d4f", "fill:#63b985"),
    ("bad", "fill:#b3261e", "fill:#ff8a80"),
    ("under", "fill:#ffffff;fill-opacity:.88", "fill:#16191d;fill-opacity:.88"),
];

/// Styles for both backgrounds.
const ALWAYS: &str = "\
text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:12px}\
.title{font-size:14px;font-weight:600}\
.name{font-size:20px;font-weight:700}\
.step,.model,.check,.send{stroke-width:1.3}\
.group{stroke-width:1.2}\
.way,.back,.fail{fill:none;stroke-width:1.5}\
.back{stroke-dasharray:6 4}\
.aside{opacity:.6}\
.aside .aside{opacity:1}\
.aside rect{stroke-dasharray:4 3}";

/// Returns the style sheet. `name`: the class of the picture, which keeps the styles from affecting the page around it.
pub(super) fn sheet(name: &str) -> String {
    let rules = |pick: fn(&(&str, &str, &'static str)) -> String| CLASSES.iter().map(pick).collect::<String>();
    let scoped = |rules: &str| {
        let rule = |rule: &str| match rule.split_once('{') {
            Some((selectors, style)) => {
                let selectors: Vec<String> = selectors.split(',').map(|selector| format!(".{name} {selector}")).collect();
                format!("{}{{{style}", selectors.join(","))
            }
            None => String::new(),
        };
        rules.split_inclusive('}').map(rule).collect::<String>()
    };
    let light = rules(|(class, light, _)| format!(".{class}{{{light}}}"));
    let dark = rules(|(class, _, dark)| format!(".{class}{{{dark}}}"));
    format!("{}{}@media (prefers-color-scheme:dark){{{}}}", scoped(ALWAYS), scoped(&light), scoped(&dark))
}
