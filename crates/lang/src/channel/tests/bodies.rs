//! One text in every body.

use super::{channel, chat, html, one, plain, telegram, text, words};
use crate::model::{Body, Features};

const RICH: &str = "# Week\n\nYou logged **32** of *40* ~~hours~~ in `flow`, see [the sheet](https://a.example/s).\n\n- one\n- two\n  - deep\n\n\
3. three\n4. four\n\n| Day | Hours |\n|---|---|\n| Mon | 8 |\n| Tue | **7** |\n\n> said\n\n```rust\nlet x = 1;\n\nx\n```\n";

#[test]
fn plain_text_keeps_lists_lines_of_tables_and_addresses() {
    insta::assert_snapshot!(text(RICH, &plain()), @r#"
    Week

    You logged 32 of 40 ~~hours~~ in flow, see the sheet (https://a.example/s).

    - one
    - two
      - deep

    3. three
    4. four

    Day: Mon, Hours: 8
    Day: Tue, Hours: 7

    > said

    let x = 1;

    x
    "#);
}

#[test]
fn a_channels_own_marks_are_those_of_its_file() {
    insta::assert_snapshot!(text(RICH, &chat()), @r#"
    Week

    You logged *32* of _40_ ~hours~ in `flow`, see the sheet (https://a.example/s).

    - one
    - two
      - deep

    3. three
    4. four

    Day: Mon, Hours: 8
    Day: Tue, Hours: *7*

    > said

    `let x = 1;`

    `x`
    "#);
    insta::assert_snapshot!(text(RICH, &telegram()), @r#"
    *Week*

    You logged *32* of _40_ ~hours~ in `flow`, see [the sheet](https://a\.example/s)\.

    • one
    • two
      • deep

    3\. three
    4\. four

    Day: Mon, Hours: 8
    Day: Tue, Hours: *7*

    \> said

    `let x \= 1;`

    `x`
    "#);
}

#[test]
fn markdown_is_written_one_way() {
    insta::assert_snapshot!(text(RICH, &channel(Body::Markdown, Features::FULL)), @r#"
    # Week

    You logged **32** of *40* ~~hours~~ in `flow`, see [the sheet](https://a.example/s).

    - one
    - two
      - deep

    3. three
    4. four

    | Day | Hours |
    | --- | --- |
    | Mon | 8 |
    | Tue | **7** |

    > said

    ```rust
    let x = 1;

    x
    ```
    "#);
    insta::assert_snapshot!(text(RICH, &channel(Body::Markdown, words(&["bold"]))), @r#"
    Week

    You logged **32** of 40 \~\~hours\~\~ in flow, see the sheet (https://a.example/s).

    \- one  
    \- two  
    \- deep

    3\. three  
    4\. four

    Day: Mon, Hours: 8  
    Day: Tue, Hours: **7**

    > said

    let x = 1;
    x
    "#);
}

#[test]
fn html_is_a_fragment_with_every_text_escaped() {
    insta::assert_snapshot!(html(RICH), @r#"
    <h1>Week</h1>
    <p>You logged <strong>32</strong> of <em>40</em> <del>hours</del> in <code>flow</code>, see <a href="https://a.example/s" rel="noopener noreferrer">the sheet</a>.</p>
    <ul>
    <li>one</li>
    <li>two
    <ul>
    <li>deep</li>
    </ul>
    </li>
    </ul>
    <ol start="3">
    <li>three</li>
    <li>four</li>
    </ol>
    <table>
    <thead>
    <tr><th>Day</th><th>Hours</th></tr>
    </thead>
    <tbody>
    <tr><td>Mon</td><td>8</td></tr>
    <tr><td>Tue</td><td><strong>7</strong></td></tr>
    </tbody>
    </table>
    <blockquote>
    <p>said</p>
    </blockquote>
    <pre><code>let x = 1;

    x</code></pre>
    "#);
    assert_eq!(html("1 < 2 & \"x\" 'y' Vec<Item>"), "<p>1 &lt; 2 &amp; &quot;x&quot; &#39;y&#39; Vec&lt;Item&gt;</p>");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one list of cases")]
fn a_card_has_texts_headings_and_tables() {
    let formatted = one(RICH, &channel(Body::AdaptiveCard, Features::FULL));
    insta::assert_snapshot!(serde_json::to_string_pretty(&formatted.parts[0].content).unwrap_or_default(), @r#"
    {
      "type": "AdaptiveCard",
      "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
      "version": "1.5",
      "body": [
        {
          "type": "TextBlock",
          "text": "Week",
          "wrap": true,
          "weight": "Bolder",
          "size": "Large"
        },
        {
          "type": "TextBlock",
          "text": "You logged **32** of _40_ \\~\\~hours\\~\\~ in flow, see [the sheet](https://a.example/s).",
          "wrap": true
        },
        {
          "type": "TextBlock",
          "text": "- one\r- two\r  - deep",
          "wrap": true
        },
        {
          "type": "TextBlock",
          "text": "3. three\r4. four",
          "wrap": true
        },
        {
          "type": "Table",
          "firstRowAsHeader": true,
          "columns": [
            {
              "width": 1
            },
            {
              "width": 1
            }
          ],
          "rows": [
            {
              "type": "TableRow",
              "cells": [
                {
                  "type": "TableCell",
                  "items": [
                    {
                      "type": "TextBlock",
                      "text": "Day",
                      "wrap": true
                    }
                  ]
                },
                {
                  "type": "TableCell",
                  "items": [
                    {
                      "type": "TextBlock",
                      "text": "Hours",
                      "wrap": true
                    }
                  ]
                }
              ]
            },
            {
              "type": "TableRow",
              "cells": [
                {
                  "type": "TableCell",
                  "items": [
                    {
                      "type": "TextBlock",
                      "text": "Mon",
                      "wrap": true
                    }
                  ]
                },
                {
                  "type": "TableCell",
                  "items": [
                    {
                      "type": "TextBlock",
                      "text": "8",
                      "wrap": true
                    }
                  ]
                }
              ]
            },
            {
              "type": "TableRow",
              "cells": [
                {
                  "type": "TableCell",
                  "items": [
                    {
                      "type": "TextBlock",
                      "text": "Tue",
                      "wrap": true
                    }
                  ]
                },
                {
                  "type": "TableCell",
                  "items": [
                    {
                      "type": "TextBlock",
                      "text": "**7**",
                      "wrap": true
                    }
                  ]
                }
              ]
            }
          ]
        },
        {
          "type": "TextBlock",
          "text": "> said",
          "wrap": true
        },
        {
          "type": "TextBlock",
          "text": "let x = 1;\n\n\n\nx",
          "wrap": true
        }
      ]
    }
    "#);
    assert!(formatted.text.starts_with("Week\n\nYou logged 32 of 40 ~~hours~~ in flow, see the sheet (https://a.example/s)."));
    assert!(formatted.markdown_removed, "strike and code are not for cards");
}

#[test]
fn a_text_of_a_card_is_a_list_only_where_it_is_one() {
    let source = "1\\. Atlas  \n\\- b\n\n# \\+ c\n\n- \\- d\n- -5 to 12.5\n\n| \\- e | 3) |\n|---|---|\n| - | 2026-11-18 |";
    let card = one(source, &channel(Body::AdaptiveCard, Features::FULL)).parts[0].content.to_string();
    for text in [
        "\"1\\\\. Atlas\\n\\n\\\\- b\"",
        "\"\\\\+ c\"",
        "\"- \\\\- d\\r- -5 to 12.5\"",
        "\"\\\\- e\"",
        "\"3\\\\)\"",
        "\"\\\\-\"",
        "\"2026-11-18\"",
    ] {
        assert!(card.contains(&format!("\"text\":{text}")), "no {text} in {card}");
    }
}

#[test]
fn a_text_of_a_card_brings_no_mark_and_no_hidden_character_of_its_own() {
    let source = r"\`x\` \~y\~ \&lt; \&#x202E;z R&D 1 < 2 <i> a\![b](https://c.example)";
    let card = one(source, &channel(Body::AdaptiveCard, Features::FULL));
    let expected = r"\`x\` \~y\~ \&lt; \&#x202E;z R&D 1 < 2 <i> a\![b](https://c.example)";
    assert_eq!(card.parts[0].content["body"][0]["text"], expected);
}
