//! What an author is reported, and what a text reads.

use super::*;

#[test]
fn a_text_without_braces_is_plain_and_one_pair_alone_keeps_its_type() {
    assert_eq!(form("100 % plain { text }"), Form::Plain);
    assert_eq!(form("{{ inputs.name }}"), Form::Sole);
    assert_eq!(form("{{ inputs.name }}\n"), Form::Sole);
    assert_eq!(form("{{ inputs.name }} "), Form::Template);
    assert_eq!(form("{{ a }}{{ b }}"), Form::Template);
    assert_eq!(form("{% if a %}x{% endif %}"), Form::Template);
    assert_eq!(form("{# a remark #}x"), Form::Template);
}

#[test]
fn reads_come_in_order_with_their_places() {
    let source = "Hi {{ inputs.name }}: {{ steps[\"facts\"].output[0].logged | round }} {{ steps.a.output[inputs.key].x }}";
    let (text, found) = checked(source);
    assert!(found.is_empty());
    assert_eq!(reads(&text), ["inputs.name", "steps.facts.output.0.logged", "steps.a.output", "inputs.key"]);
    let shown: Vec<&str> = text.reads.iter().map(|read| &source[read.span.start as usize - 100..read.span.end as usize - 100]).collect();
    assert_eq!(shown, ["inputs.name", "steps[\"facts\"].output[0].logged", "steps.a.output", "inputs.key"]);
}

#[test]
fn default_and_is_defined_guard_a_whole_path_but_is_none_does_not() {
    assert_eq!(reads(&checked("{{ steps.a.output.b | default(inputs.c) }}").0), ["steps.a.output.b?", "inputs.c"]);
    assert_eq!(reads(&checked("{{ a.b is defined }}{{ a.c is undefined }}{{ a.d is none }}").0), ["a.b?", "a.c?", "a.d"]);
    assert_eq!(reads(&checked("{{ (a.b if x else a.c) | default(a.d) | default(1) }}").0), ["x", "a.b?", "a.c?", "a.d?"]);
    assert_eq!(reads(&checked("{{ a.b | upper | default(1) }}").0), ["a.b"]);
}

#[test]
fn what_a_condition_has_tested_is_guarded_below_it_and_not_after_it() {
    let source = "{% if steps.a.output is defined %}{{ steps.a.output.x }}{% endif %}{{ steps.a.output }}";
    assert_eq!(reads(&checked(source).0), ["steps.a.output?", "steps.a.output.x?", "steps.a.output"]);
    let source = "{{ steps.a.output if steps.a.status == \"succeeded\" else \"\" }}";
    assert_eq!(reads(&checked(source).0), ["steps.a.status", "steps.a.output?"]);
    assert_eq!(reads(&checked_bare("a.b is defined and a.b > 3").0), ["a.b?", "a.b?"]);
}

#[test]
fn loop_variables_are_not_read_and_date_reads_the_time_zone() {
    let source = "{% for day, hours in inputs.days if hours %}{{ loop.index }} {{ day }} {{ hours.x }} {{ item }}{% endfor %}{{ day }}";
    assert_eq!(reads(&checked(source).0), ["inputs.days", "item", "day"]);
    assert_eq!(reads(&checked("{{ run.now | date(\"%H\") }}").0), ["run.now", "run.time_zone?"]);
}

#[test]
fn braces_that_are_not_closed_are_shown_with_what_to_add() {
    assert_eq!(finding("Dear {{ inputs.name }, hello"), (Code::TemplateSyntax, "\"{{ inputs.name }\" is not closed; add \"}\"".into()));
    assert_eq!(message("{{ inputs.name"), "\"{{ inputs.name\" is not closed; add \"}}\"");
    assert_eq!(message("{{ inputs.name, how are you?\nBye"), "\"{{ inputs.name, how are you?\" is not closed; add \"}}\"");
    assert_eq!(message("{{ a {{ b }}"), "\"{{ a\" is not closed; add \"}}\"");
    assert_eq!(message("No \"{{ a \" here."), "\"{{ a \" here.\" is not closed; add \"}}\"");
    assert_eq!(message("No \"{{ a \" and {{ b }} here."), "\"{{ a \" and\" is not closed; add \"}}\"");
    assert_eq!(message("{% if a }x{% endif %}"), "\"{% if a }\" is not closed; end it with \"%}\"");
    assert_eq!(message("{{ a %}"), "\"{{ a %}\" is not closed; end it with \"}}\"");
    assert_eq!(message("{# a"), "a comment {# … is not closed; add \"#}\"");
    assert_eq!(message("{{ f(a }}"), "this \"(\" is not closed; add \")\"");
    assert_eq!(message("{{ a) }}"), "\")\" closes nothing here");
    assert_eq!(message("{{ \"a }}"), "a text in quotes is not closed here; add the same quote at its end");
}

#[test]
fn a_bracket_that_was_lost_is_put_back_where_the_name_of_a_filter_ends() {
    for (source, message, help) in [
        ("of {{ b }} ({{ a ), {{ b }}", "\"{{ a\" is not closed", "write }} before \")\""),
        ("{{ a | defaultnone) }}", "\")\" closes nothing here", "write default(none)"),
        ("{{ a | replace'!', ' ') | trim }}", "\")\" closes nothing here", "write replace('!', ' ')"),
        ("{{ a | default([]) | default[]) }}", "\")\" closes nothing here", "write default([])"),
        (
            "{{ a) }}",
            "\")\" closes nothing here",
            "write \"(\" where it begins, or }} before \")\" if the value ends there, or remove \")\"",
        ),
        (
            "{{ a | nothing0) }}",
            "\")\" closes nothing here",
            "write \"(\" where it begins, or }} before \")\" if the value ends there, or remove \")\"",
        ),
        (
            "{% for d in 1, 2] %}{% endfor %}",
            "\"]\" closes nothing here",
            "write \"[\" where it begins, or %} before \"]\" if the value ends there, or remove \"]\"",
        ),
        ("{{ a | default(]) }}", "this \"(\" is not closed; add \")\"", "or write \"[\" where what \"]\" closes begins"),
    ] {
        let mut found = vec![];
        text(source, TextPlace::default(), &mut found);
        let [found] = found.as_slice() else { panic!("{source}: {found:?}") };
        assert_eq!((found.message.as_str(), found.help.join("; ").as_str()), (message, help), "{source}");
    }
}

#[test]
fn statements_that_do_not_fit_together_are_named() {
    assert_eq!(message("{% if a %}x"), "this if is never ended; add {% endif %}");
    assert_eq!(message("{% for a in b %}{% endif %}"), "endif is where endfor is due");
    assert_eq!(message("x{% endif %}"), "endif ends nothing; there is no {% if … %} before it");
    assert_eq!(message("{% else %}"), "else is outside {% if … %} or {% for … %}");
    assert_eq!(message("{% raw %}x"), "{% raw %} is never ended; add {% endraw %}");
    assert_eq!(message("{% iff a %}x{% endif %}"), "there is no statement \"iff\"; did you mean \"if\"?");
    assert_eq!(message("{% for a in b recursive %}{% endfor %}"), "a loop here cannot be \"recursive\"");
}

#[test]
fn every_statement_that_makes_names_points_to_the_set_step() {
    for word in ["set", "with", "macro", "call", "filter", "block", "include", "import", "from", "extends", "autoescape", "do"] {
        let (_, found) = checked(&format!("{{% {word} x %}}"));
        assert_eq!(found.len(), 1, "{word}");
        assert_eq!(found[0].code, Code::TemplateSyntax, "{word}");
        assert_eq!(found[0].message, format!("\"{word}\" cannot be used in a template; its statements are if, for and raw"));
        assert_eq!(
            found[0].help,
            ["make the value in a step of its own, - { id: NAME, set: \"{{ … }}\" }, and read it here as steps.NAME.output"]
        );
    }
    assert!(message("{{ namespace(a=1) }}").contains("\"namespace\" cannot be used in a template"));
}

#[test]
fn expressions_that_cannot_be_read_are_explained() {
    assert_eq!(message("{{ a b }}"), "\"b\" does not belong here");
    assert_eq!(message("{{ a + }}"), "something is missing before \"}}\"");
    assert_eq!(message("{{ }}"), "something is missing before \"}}\"");
    assert_eq!(message("{% if a = 1 %}{% endif %}"), "\"=\" does not compare; write \"==\"");
    assert_eq!(message("In {{ a are {{ b }} °F."), "\"{{ a are\" is not closed; add \"}}\"");
    assert_eq!(message("{{ a && b }}"), "conditions are joined with the words and, or, not");
    assert_eq!(
        message("{{ inputs.größe }}"),
        "\"ö\" cannot be used in an expression; a name with such letters is read like this: inputs[\"größe\"]"
    );
    assert_eq!(message("{{ “a” }}"), "\"“\" cannot be used in an expression; write straight quotes, \" or '");
    assert_eq!(message("{{ 99999999999999999999999999999999999999999999 }}"), "a number here cannot be read, or is too large");
    assert_eq!(checked_bare("a ==").1[0].message, "something is missing at the end of this expression");
    assert_eq!(checked_bare("a b").1[0].message, "\"b\" does not belong here");
    assert_eq!(checked_bare("  ").1[0].message, "an expression is missing here");
}

#[test]
fn unknown_filters_functions_and_tests_come_with_what_was_meant() {
    assert_eq!(finding("{{ a | truncat(3) }}"), (Code::UnknownFilter, "there is no filter \"truncat\"; did you mean \"truncate\"?".into()));
    assert_eq!(message("{{ a | map(\"uper\") }}"), "there is no filter \"uper\"; did you mean \"upper\"?");
    assert_eq!(finding("{{ a is defind }}"), (Code::UnknownFilter, "there is no test \"defind\"; did you mean \"defined\"?".into()));
    assert_eq!(message("{{ a | selectattr(\"x\", \"odd\") }}"), "there is no test \"odd\"");
    assert_eq!(finding("{{ now() }}"), (Code::UnknownFilter, "there is no function \"now\"".into()));
    let (_, found) = checked("{{ a.upper() }}");
    assert_eq!(found[0].help, ["write a | upper"]);
    let (_, found) = checked("{{ a | foo }}{{ b | bar }}");
    assert_eq!(found.len(), 2, "all of them at once");
}

#[test]
fn the_place_of_a_finding_is_the_smallest_thing_to_change() {
    let source = "Hi {{ a | truncat }}";
    let (_, found) = checked(source);
    assert_eq!(&source[found[0].span.start as usize - 100..found[0].span.end as usize - 100], " | truncat");
    let mut found = vec![];
    let folded = TextPlace { span: Span::new(FileId(0), 5, 50), offsets: vec![] };
    text("{{ a }", folded, &mut found);
    assert_eq!(found[0].span, Span::new(FileId(0), 5, 50), "folded text: the whole value");
}

#[test]
fn wrong_values_for_filters_and_tests_are_found_before_the_run() {
    assert_eq!(message("{{ a | replace(\"x\") }}"), "the filter replace needs its new");
    assert_eq!(message("{{ a | upper(1) }}"), "the filter upper is given something it does not take; it takes: nothing");
    assert_eq!(message("{{ a | round(digits=1) }}"), "the filter round is given something it does not take; it takes: precision, method");
    assert_eq!(message("{{ a | date }}"), "the filter date needs its format");
    assert!(message("{{ a | date(\"%Q\") }}").contains("has a \"%\" that means nothing"));
    assert_eq!(message("{{ a is in }}"), "the test \"in\" takes one list, as in: x is in [1, 2]");
    assert_eq!(message("{{ a is none(1) }}"), "the test \"none\" takes nothing after its name");
    assert_eq!(message("{{ a | map(b) }}"), "map takes the name of a filter in quotes, as in map(\"upper\")");
    assert_eq!(message("{{ range() }}"), "the function range needs its start");
}

#[test]
fn a_filter_of_a_part_of_a_sum_needs_brackets() {
    for (source, help) in [
        ("{{ n * 100 | number(1, \"de\") }}", "(n * 100) | number(1, \"de\")"),
        ("{{ 2 / 3 | round(1) }}", "(2 / 3) | round(1)"),
        ("{{ 1.19 * n | float | round }}", "(1.19 * n | float) | round"),
        ("{{ (a + b) / (c) | round(1) }}", "| round(1)"),
        ("{{ a - (b * c) | int }}", "(a - (b * c)) | int"),
        ("{{ a + b * c | round }}", "(b * c) | round"),
        ("{% if (a - b | round(1)) > 2 %}x{% endif %}", "(a - b) | round(1)"),
    ] {
        let (_, found) = checked(source);
        assert_eq!(found.len(), 1, "{source}");
        assert_eq!(found[0].code, Code::TemplateSyntax, "{source}");
        assert!(found[0].help[0].contains(help), "{source}: {:?}", found[0].help);
    }
    for source in [
        "{{ (n * 100) | number(1) }}",
        "{{ n * (x | round(1)) }}",
        "{{ n * ((x | float) | round(1)) }}",
        "{{ (a | round(1)) * b }}",
        "{{ a | round(1) * b }}",
        "{{ a + b | float }}",
        "{{ 100 * a | length / b | length }}",
        "{{ \"(\" ~ (a * (b | int)) }}",
        "{{ \"a: \" ~ n | number(1) }}",
    ] {
        assert_eq!(checked(source).1.len(), 0, "{source}");
    }
}

#[test]
fn braces_around_a_bare_expression_are_mended_where_they_hold_all_of_it() {
    let source = "{{ steps.score.output > 7 }}";
    let (text, found) = checked_bare(source);
    assert_eq!(found[0].code, Code::BracesInCondition);
    assert_eq!(found[0].message, "{{ }} around an expression that stands without them: steps.score.output > 7");
    let fix = found[0].candidate.as_ref().unwrap();
    assert!(fix.safe);
    let places: Vec<(u32, u32)> = fix.edits.iter().map(|(span, _)| (span.start, span.end)).collect();
    assert_eq!(places, [(100, 103), (125, 128)]);
    assert_eq!(&*text.source, "steps.score.output > 7", "the rest of the checks go on with what was meant");
    assert_eq!((text.reads[0].span.start, text.reads[0].span.end), (103, 121));
    for source in ["{{ a }} > 7", "{{ a }} and {{ b }}", "{% if a %}true{% endif %}"] {
        let (_, found) = checked_bare(source);
        assert_eq!((found[0].code, found[0].candidate.is_none()), (Code::BracesInCondition, true), "{source}");
    }
    assert!(checked_bare("inputs.text == \"{{\"").1.is_empty());
}

#[test]
fn functions_of_other_languages_lead_to_what_is_written_here() {
    for (source, help) in [
        ("{{ len(inputs.a) }}", "write inputs.a | length"),
        ("{{ now() }}", "write run.now"),
        ("{{ round(inputs.a + 1, 2) }}", "write (inputs.a + 1) | round(2)"),
        ("{{ inputs.a.contains('x') }}", "write 'x' in inputs.a"),
        ("{{ ', '.join(inputs.a) }}", "write inputs.a | join(', ')"),
        ("{{ startsWith(inputs.a, 'ab') }}", "write inputs.a[:2] == 'ab'"),
        ("{{ inputs.a | wordcount }}", "write | split | length"),
        ("{{ inputs.a is empty }}", "write == \"\" for a text, or | length == 0 for a list"),
        ("{{ inputs.a | map('name') }}", "write map(attribute='name')"),
        ("{{ inputs.a || 'x' }}", "write inputs.a or 'x'"),
        ("{{ .inputs.a }}", "write inputs.a"),
        ("{{ inputs.a | default: 'x' }}", "write inputs.a | default('x', true)"),
        ("{{ inputs.a | \"x\" }}", "write inputs.a | default(\"x\", true)"),
        ("{{ inputs.a contains 'x' }}", "write 'x' in inputs.a"),
        ("{{ inputs.a is greater than 3 }}", "write inputs.a > 3"),
        (
            "{{#each inputs.a}}",
            "write {% for item in inputs.a %} in place of {{#each inputs.a}}, {{ item }} for {{this}}, and {% endfor %} for {{/each}}",
        ),
        ("{{ if inputs.a }}", "write {% if inputs.a %} … {% endif %}"),
        ("{{{ inputs.a }}}", "write {{ inputs.a }} in place of {{{ inputs.a }}}"),
        ("{{ inputs.a.[0] }}", "write inputs.a[0]"),
        ("{{ inputs.a.toUpperCase() }}", "write | upper in place of .toUpperCase()"),
        (
            "{% if always() %}x{% endif %}",
            "remove the condition: a step also runs after one with on_failure: continue; put it under finally if it is to run after every ending",
        ),
    ] {
        let found = checked(source).1;
        assert_eq!(found[0].help, [help], "{source}");
    }
    assert_eq!(
        checked("{{ frobnicate(1) }}").1[0].help,
        ["remove it: the only function is range(n); everything else is a filter behind the value, as in value | length"]
    );
}
