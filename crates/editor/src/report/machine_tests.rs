use serde_json::{Value, json};

use super::tests::example;
use super::*;
use crate::diagnostic::{Code, SuppressedBy};
use crate::source::Span;

#[test]
fn json_is_one_object_and_jsonl_one_finding_a_line() {
    let (sources, mut found) = example();
    found.iter_mut().for_each(|found| found.is_denied = found.code == Code::YamlTrap);
    let findings = Findings::new(&sources, &found);
    let whole: Value = serde_json::from_str(&json(&findings)).unwrap();
    assert_eq!((&whole["version"], &whole["files"], &whole["errors"], &whole["warnings"]), (&json!(1), &json!(3), &json!(2), &json!(1)));
    let lines: Vec<Value> = jsonl(&findings).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(Value::from(&lines[..3]), whole["findings"]);
    assert_eq!(lines[3], json!({"summary": {"version": 1, "files": 3, "errors": 2, "warnings": 1}}));
    insta::assert_snapshot!(format!("{:#}", whole["findings"][2]), @r#"
    {
      "code": "F009",
      "name": "yaml-trap",
      "severity": "error",
      "message": "no without quotes is text here and false elsewhere; write \"no\" or false",
      "file": "pipelines/a team,1.yaml",
      "line": 3,
      "column": 18,
      "end_line": 3,
      "end_column": 20,
      "related": [],
      "help": [
        "write \"no\" for the word, false for true/false"
      ],
      "fix": {
        "safe": true,
        "edits": [
          {
            "file": "pipelines/a team,1.yaml",
            "line": 3,
            "column": 18,
            "end_line": 3,
            "end_column": 20,
            "text": "\"no\""
          }
        ]
      },
      "snippet": "  idle: { tools: no }"
    }
    "#);
    assert_eq!(whole["findings"][0]["related"][0]["label"], "\"draft\" waits for \"review\"");
}

#[test]
fn json_holds_no_control_characters() {
    let mut sources = Sources::default();
    let file = sources.add("a.yaml", "a: \u{1b}\u{9b}\u{7f}\n");
    let found = [Diagnostic::new(Code::BadValue, Span::new(file, 3, 7), "m\u{1b}\u{9b}\u{7f}\r\n")];
    let findings = Findings::new(&sources, &found);
    for text in [
        json(&findings),
        jsonl(&findings),
        sarif(&findings),
        github(&findings),
        gitlab(&findings),
        junit(&findings),
        human(&findings, Look::default()),
    ] {
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    }
    let back: Value = serde_json::from_str(&json(&findings)).unwrap();
    assert_eq!(back["findings"][0]["message"], "m\u{1b}\u{9b}\u{7f}\r\n");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one list of cases")]
fn sarif_has_rules_regions_fixes_and_suppressions() {
    let (sources, mut found) = example();
    let hidden = [Suppressed { diagnostic: found.remove(1), by: SuppressedBy::Comment, reason: "kept for March".to_owned() }];
    let findings = Findings { hidden: &hidden, ..Findings::new(&sources, &found) };
    insta::assert_snapshot!(sarif(&findings).replace(env!("CARGO_PKG_VERSION"), "VERSION"), @r#"
    {
      "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
      "version": "2.1.0",
      "runs": [
        {
          "tool": {
            "driver": {
              "name": "flow",
              "version": "VERSION",
              "rules": [
                {
                  "id": "F009",
                  "name": "yaml-trap",
                  "shortDescription": {
                    "text": "yaml trap"
                  },
                  "help": {
                    "text": "flow explain F009"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                },
                {
                  "id": "F101",
                  "name": "cycle",
                  "shortDescription": {
                    "text": "cycle"
                  },
                  "help": {
                    "text": "flow explain F101"
                  },
                  "defaultConfiguration": {
                    "level": "error"
                  }
                },
                {
                  "id": "F105",
                  "name": "unused-output",
                  "shortDescription": {
                    "text": "unused output"
                  },
                  "help": {
                    "text": "flow explain F105"
                  },
                  "defaultConfiguration": {
                    "level": "warning"
                  }
                }
              ]
            }
          },
          "columnKind": "unicodeCodePoints",
          "originalUriBaseIds": {
            "%SRCROOT%": {
              "description": {
                "text": "The root of the repository; outside of one, the folder in which flow was started."
              }
            }
          },
          "results": [
            {
              "ruleId": "F101",
              "ruleIndex": 1,
              "level": "error",
              "message": {
                "text": "steps wait for each other: draft -> review -> draft\nremove one of the two names"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "pipelines/mail.yaml",
                      "uriBaseId": "%SRCROOT%"
                    },
                    "region": {
                      "startLine": 12,
                      "startColumn": 13,
                      "endLine": 12,
                      "endColumn": 18
                    }
                  }
                }
              ],
              "relatedLocations": [
                {
                  "id": 1,
                  "message": {
                    "text": "\"draft\" waits for \"review\""
                  },
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "pipelines/mail.yaml",
                      "uriBaseId": "%SRCROOT%"
                    },
                    "region": {
                      "startLine": 7,
                      "startColumn": 13,
                      "endLine": 7,
                      "endColumn": 19
                    }
                  }
                },
                {
                  "id": 2,
                  "message": {
                    "text": "\"review\" waits for \"draft\""
                  },
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "pipelines/mail.yaml",
                      "uriBaseId": "%SRCROOT%"
                    },
                    "region": {
                      "startLine": 12,
                      "startColumn": 13,
                      "endLine": 12,
                      "endColumn": 18
                    }
                  }
                }
              ],
              "fixes": [],
              "suppressions": []
            },
            {
              "ruleId": "F009",
              "ruleIndex": 0,
              "level": "warning",
              "message": {
                "text": "no without quotes is text here and false elsewhere; write \"no\" or false\nwrite \"no\" for the word, false for true/false"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "pipelines/a%20team%2C1.yaml",
                      "uriBaseId": "%SRCROOT%"
                    },
                    "region": {
                      "startLine": 3,
                      "startColumn": 18,
                      "endLine": 3,
                      "endColumn": 20
                    }
                  }
                }
              ],
              "relatedLocations": [],
              "fixes": [
                {
                  "description": {
                    "text": "Safe: flow fix writes this."
                  },
                  "artifactChanges": [
                    {
                      "artifactLocation": {
                        "uri": "pipelines/a%20team%2C1.yaml",
                        "uriBaseId": "%SRCROOT%"
                      },
                      "replacements": [
                        {
                          "deletedRegion": {
                            "startLine": 3,
                            "startColumn": 18,
                            "endLine": 3,
                            "endColumn": 20
                          },
                          "insertedContent": {
                            "text": "\"no\""
                          }
                        }
                      ]
                    }
                  ]
                }
              ],
              "suppressions": []
            },
            {
              "ruleId": "F105",
              "ruleIndex": 2,
              "level": "warning",
              "message": {
                "text": "the output of \"review\" is never used\nuse steps.review.output, 100% or remove the step"
              },
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "pipelines/mail.yaml",
                      "uriBaseId": "%SRCROOT%"
                    },
                    "region": {
                      "startLine": 10,
                      "startColumn": 9,
                      "endLine": 10,
                      "endColumn": 15
                    }
                  }
                }
              ],
              "relatedLocations": [
                {
                  "id": 1,
                  "message": {
                    "text": "its agent"
                  },
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "pipelines/a%20team%2C1.yaml",
                      "uriBaseId": "%SRCROOT%"
                    },
                    "region": {
                      "startLine": 2,
                      "startColumn": 3,
                      "endLine": 2,
                      "endColumn": 9
                    }
                  }
                }
              ],
              "fixes": [],
              "suppressions": [
                {
                  "kind": "inSource",
                  "justification": "kept for March"
                }
              ]
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn github_escapes_what_would_end_a_command() {
    let (sources, mut found) = example();
    found[0].message.push_str("\n::warning::x");
    insta::assert_snapshot!(github(&Findings::new(&sources, &found)), @r#"
    ::error file=pipelines/mail.yaml,line=12,col=13,title=F101::steps wait for each other: draft -> review -> draft\n::warning::x%0Aremove one of the two names
    ::warning file=pipelines/mail.yaml,line=10,col=9,title=F105::the output of "review" is never used%0Ause steps.review.output, 100%25 or remove the step
    ::warning file=pipelines/a team%2C1.yaml,line=3,col=18,title=F009::no without quotes is text here and false elsewhere; write "no" or false%0Awrite "no" for the word, false for true/false
    "#);
}

#[test]
fn junit_has_a_suite_for_each_file_and_a_case_for_each_error() {
    let (sources, mut found) = example();
    found[0].message.push_str(" <&\"'> \u{1b}");
    insta::assert_snapshot!(junit(&Findings::new(&sources, &found)), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="flow validate" tests="3" failures="1" errors="0">
      <testsuite name="pipelines/mail.yaml" tests="1" failures="1" errors="0">
        <testcase name="F101 cycle 12:13" classname="pipelines/mail.yaml">
          <failure type="F101" message="steps wait for each other: draft -&gt; review -&gt; draft &lt;&amp;&quot;&apos;&gt; \x1B">F101 pipelines/mail.yaml:12:13: steps wait for each other: draft -&gt; review -&gt; draft &lt;&amp;&quot;&apos;&gt; \x1B; remove one of the two names</failure>
        </testcase>
        <system-out>warning F105 pipelines/mail.yaml:10:9: the output of &quot;review&quot; is never used; use steps.review.output, 100% or remove the step</system-out>
      </testsuite>
      <testsuite name="pipelines/a team,1.yaml" tests="1" failures="0" errors="0">
        <testcase name="validate" classname="pipelines/a team,1.yaml"/>
        <system-out>warning F009 pipelines/a team,1.yaml:3:18: no without quotes is text here and false elsewhere; write &quot;no&quot; or false; write &quot;no&quot; for the word, false for true/false</system-out>
      </testsuite>
      <testsuite name="pipelines/clean.yaml" tests="1" failures="0" errors="0">
        <testcase name="validate" classname="pipelines/clean.yaml"/>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
fn gitlab_has_an_object_for_each_finding_whose_fingerprint_stays() {
    let (sources, found) = example();
    let list: Value = serde_json::from_str(&gitlab(&Findings::new(&sources, &found))).unwrap();
    let first = &list[0];
    assert_eq!((&first["check_name"], &first["severity"]), (&json!("F101"), &json!("major")));
    assert_eq!(
        first["location"],
        json!({ "path": sources.file(found[0].span.file).name, "lines": { "begin": sources.start(found[0].span).line } })
    );
    assert!(first["description"].as_str().unwrap().starts_with(&found[0].message));
    let prints = |lines: &str| {
        let mut sources = Sources::default();
        let file = sources.add("a.yaml", format!("{lines}a: 1\na: 1\n"));
        let at = lines.len();
        let found = [at, at + 5].map(|at| Diagnostic::new(Code::BadValue, Span::new(file, at, at + 1), "m"));
        let list: Value = serde_json::from_str(&gitlab(&Findings::new(&sources, &found))).unwrap();
        [0, 1].map(|index: usize| list[index]["fingerprint"].as_str().unwrap().to_owned())
    };
    let now = prints("");
    assert_ne!(now[0], now[1], "two that are alike are two");
    assert_eq!(prints("# more\n"), now);
}
