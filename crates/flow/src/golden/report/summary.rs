//! A summary for a pull request, in Markdown. Texts of models, files and people appear only in code and in fences, so that hosts render no
//! links, mentions or markup from them.

use super::super::markdown::{code, fenced};
use super::super::outcome::{Golden, GoldenFile, Outcome, Report};
use super::summary;
use crate::report::Diff;

/// Maximum size in bytes: GitHub accepts 65,536 characters in a comment, and 1 MiB for all steps in the summary of a job.
const MOST: usize = 60_000;
/// Maximum size of all tables in it.
const MOST_OF_TABLES: usize = 24_000;
/// Maximum size of one difference in bytes.
const MOST_OF_DIFF: usize = 8_000;

/// Formats the counts, the failures, and the goldens that this run or the change modified, with their differences.
pub fn markdown(report: &Report) -> String {
    let mut out = format!("## flow test\n\n**{}**\n", summary(report));
    let goldens: Vec<(&Outcome, &GoldenFile, &str)> = report.outcomes.iter().filter_map(changed).collect();
    let rows = goldens.iter().enumerate().map(|(index, (outcome, golden, word))| {
        let lines = golden.diff.as_ref().map_or(String::new(), |diff| format!("−{} +{}", diff.removed(), diff.added()));
        let (path, case, channel) = (golden.path.display().to_string(), &outcome.case, outcome.channel.as_deref().unwrap_or_default());
        format!("| {} | {word} | {} | {} | {} | {lines} |\n", index + 1, code(&path), code(case), code(channel))
    });
    let head = format!(
        "\n### Goldens that changed: {} of {}\n\n| | | golden | case | channel | lines |\n|---|---|---|---|---|---|\n",
        goldens.len(),
        { report.outcomes.iter().filter(|outcome| outcome.golden.is_some()).count() }
    );
    table(&mut out, &head, rows.collect());
    let models = report.models();
    let rows = models.iter().map(|model| {
        let [name, others @ ..] = super::cells(model);
        format!("| {} | {} |\n", code(&name), others.join(" | "))
    });
    table(&mut out, "\n### Models\n\n| model | passed | cost (USD) | tokens | time |\n|---|---|---|---|---|\n", rows.collect());
    let failed = report.outcomes.iter().filter_map(|outcome| Some((&outcome.name, &outcome.complaints.first()?.message)));
    let broken = report.broken.iter().map(|broken| (&broken.file, broken.lines.first().unwrap_or(&broken.file)));
    let rows = failed.chain(broken).map(|(name, why)| format!("| {} | {} |\n", code(name), code(why)));
    table(&mut out, "\n### Failed\n\n| test | why |\n|---|---|\n", rows.collect());
    let mut left_out = 0;
    for (index, (_, golden, _)) in goldens.iter().enumerate() {
        let Some(diff) = &golden.diff else { continue };
        let text = fenced(&cut(diff));
        let block = format!("\n<details><summary>{}: old (-) and new (+)</summary>\n\n{text}\n</details>\n", index + 1);
        if out.len() + block.len() > MOST { left_out += 1 } else { out.push_str(&block) }
    }
    if left_out > 0 {
        out.push_str(&format!("\nToo large for this summary: {left_out} more differences. `flow test` shows them.\n"));
    }
    out
}

/// Returns the golden of a trial, if it changed, and how.
fn changed(outcome: &Outcome) -> Option<(&Outcome, &GoldenFile, &'static str)> {
    let golden = outcome.golden.as_ref()?;
    let word = match golden.state {
        Golden::Same => return None,
        Golden::Accepted => "changed",
        Golden::Written => "written",
        Golden::Wrong => "**differs**",
    };
    Some((outcome, golden, word))
}

/// Adds a table with as many rows as there is room for; nothing without rows.
fn table(out: &mut String, head: &str, rows: Vec<String>) {
    if rows.is_empty() {
        return;
    }
    out.push_str(head);
    let most = out.len() + MOST_OF_TABLES / 2;
    let mut shown = 0;
    for row in &rows {
        if out.len() + row.len() > most {
            break;
        }
        out.push_str(row);
        shown += 1;
    }
    if shown < rows.len() {
        out.push_str(&format!("\nand {} more\n", rows.len() - shown));
    }
}

/// Returns the lines of a difference, as many as there is room for.
fn cut(diff: &Diff) -> String {
    let drawn = diff.draw(false);
    let mut out = String::new();
    for line in drawn.split_inclusive('\n') {
        if out.len() + line.len() > MOST_OF_DIFF {
            out.push_str("        … the rest is too long to be shown here\n");
            break;
        }
        out.push_str(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::*;
    use crate::golden::outcome::{Broken, Complaint};

    const HOSTILE: &str =
        "```\n</details><img src=x onerror=alert(1)>\n@team [x](https://evil.example) | a\\| `b` ``` ````\n~~~\n<!-- \u{202e}\r# h";

    fn outcome(text: &str, state: Golden) -> Outcome {
        let diff = Diff::between("old\n", text);
        let path = format!("tests/goldens/{text}").into();
        Outcome {
            name: text.into(),
            case: text.into(),
            channel: Some(text.into()),
            complaints: vec![Complaint::new(text)],
            golden: Some(GoldenFile { path, state, diff }),
            ..Outcome::default()
        }
    }

    /// Returns everything that is not code: the texts and the tags.
    fn active(markdown: &str) -> (String, Vec<String>) {
        let (mut texts, mut marks, mut in_code) = (String::new(), vec![], false);
        for event in Parser::new_ext(markdown, Options::all()) {
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(pulldown_cmark::TagEnd::CodeBlock) => in_code = false,
                Event::Text(text) if !in_code => texts.push_str(&text),
                Event::Html(text) | Event::InlineHtml(text) => marks.push(text.trim().to_owned()),
                Event::Start(Tag::Link { .. } | Tag::Image { .. }) => marks.push("link".into()),
                _ => {}
            }
        }
        (texts, marks)
    }

    #[test]
    fn no_text_of_others_is_markup_a_mention_or_a_link() {
        let lines: String = HOSTILE.lines().map(|line| format!("{line}\n")).collect();
        let outcomes = vec![outcome(&lines, Golden::Wrong), outcome(HOSTILE, Golden::Accepted), outcome("`", Golden::Written)];
        let broken = Broken { file: HOSTILE.into(), drawn: String::new(), lines: vec![HOSTILE.into()] };
        let text = markdown(&Report { outcomes, broken: vec![broken], ..Report::default() });
        let (texts, marks) = active(&text);
        for word in ["evil", "@team", "onerror", "https"] {
            assert!(text.contains(word) && !texts.contains(word), "{word} in {texts}");
        }
        let allowed = ["<details><summary>1: old (-) and new (+)</summary>", "<details><summary>2: old (-) and new (+)</summary>"];
        let marks: Vec<&String> = marks.iter().filter(|mark| !allowed.contains(&mark.as_str()) && *mark != "</details>").collect();
        assert_eq!(marks, ["<details><summary>3: old (-) and new (+)</summary>"], "{text}");
        assert!(!text.contains(['\u{202e}', '\r']), "{text:?}");
    }

    #[test]
    fn it_fits_a_comment_and_says_what_is_left_out() {
        let long = "a line of some length\n".repeat(1_000);
        let one = outcome(&long, Golden::Wrong);
        let outcomes: Vec<Outcome> = std::iter::repeat_n(one, 300).collect();
        let text = markdown(&Report { outcomes, ..Report::default() });
        assert!(text.len() < 65_536, "{}", text.len());
        assert!(text.contains("more\n") && text.contains("Too large for this summary: "), "{text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }

    #[test]
    fn goldens_are_told_with_their_case_channel_and_lines() {
        let mut one = outcome("a\nnew\n", Golden::Wrong);
        (one.name, one.case, one.channel) = ("a.test.yaml/one/sms".into(), "one".into(), Some("sms".into()));
        one.golden.as_mut().unwrap().path = "goldens/a.test/one/sms.txt".into();
        one.complaints[0].message = "golden goldens/a.test/one/sms.txt differs".into();
        let same = GoldenFile { path: "b".into(), state: Golden::Same, diff: None };
        let report = Report { outcomes: vec![one, Outcome { golden: Some(same), ..Outcome::default() }], ..Report::default() };
        insta::assert_snapshot!(markdown(&report), @r"
        ## flow test

        **1 passed, 1 failed**

        ### Goldens that changed: 1 of 2

        | | | golden | case | channel | lines |
        |---|---|---|---|---|---|
        | 1 | **differs** | `goldens/a.test/one/sms.txt` | `one` | `sms` | −1 +2 |

        ### Failed

        | test | why |
        |---|---|
        | `a.test.yaml/one/sms` | `golden goldens/a.test/one/sms.txt differs` |

        <details><summary>1: old (-) and new (+)</summary>

        ```text
            1 - old
            1 + a
            2 + new
        ```

        </details>
        ");
    }
}
