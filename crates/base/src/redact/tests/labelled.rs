//! A labelled set: lines with values that must be found, and lines without any. Values are generated, so that no file of the project
//! holds anything that looks like a real key.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::super::{PiiKind, find_pii};

/// A fixed sequence of numbers (the generator of Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn of(&mut self, set: &str, count: usize) -> String {
        let set: Vec<char> = set.chars().collect();
        (0..count).map(|_| set[self.below(set.len())]).collect()
    }

    fn digits(&mut self, count: usize) -> String {
        self.of("0123456789", count)
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    /// `#` is a digit, `%` one from 2 to 9.
    fn shaped(&mut self, shape: &str) -> String {
        shape
            .chars()
            .map(|c| match c {
                '#' => self.digits(1),
                '%' => self.of("23456789", 1),
                other => other.to_string(),
            })
            .collect()
    }
}

const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const SMALL: &str = "abcdefghijklmnopqrstuvwxyz";

fn card(numbers: &mut Numbers) -> String {
    let (prefix, length) =
        [("4", 16), ("51", 16), ("2221", 16), ("34", 15), ("37", 15), ("6011", 16), ("36", 14), ("3530", 16), ("4", 13), ("62", 19)]
            [numbers.below(10)];
    let mut number = prefix.to_owned();
    number.push_str(&numbers.digits(length - prefix.len() - 1));
    let sum: usize = number
        .bytes()
        .rev()
        .enumerate()
        .map(|(at, byte)| {
            let digit = usize::from(byte - b'0');
            if at % 2 == 0 { digit / 5 + digit * 2 % 10 } else { digit }
        })
        .sum();
    number.push_str(&((10 - sum % 10) % 10).to_string());
    let gap = numbers.pick(&["", " ", "-"]);
    let sizes: &[usize] = match number.len() {
        16 => &[4, 4, 4, 4],
        15 => &[4, 6, 5],
        14 => &[4, 6, 4],
        _ => &[],
    };
    let mut at = 0;
    let groups: Vec<&str> = sizes
        .iter()
        .map(|size| {
            at += size;
            &number[at - size..at]
        })
        .collect();
    if groups.is_empty() { number.clone() } else { groups.join(gap) }
}

fn iban(numbers: &mut Numbers) -> String {
    let (country, shape) = [
        ("DE", "##################"),
        ("GB", "ABCD##############"),
        ("FR", "##########X##########X#"),
        ("ES", "####################"),
        ("NL", "INGB##########"),
        ("AT", "################"),
        ("CH", "#################"),
        ("NO", "###########"),
    ][numbers.below(8)];
    let body: String = shape.chars().map(|c| if c == '#' { numbers.digits(1) } else { c.to_string() }).collect();
    let value = format!("{body}{country}00").chars().fold(0_u32, |rest, c| match c.to_digit(36) {
        Some(digit) if digit < 10 => (rest * 10 + digit) % 97,
        digit => (rest * 100 + digit.unwrap_or(0)) % 97,
    });
    let plain = format!("{country}{:02}{body}", 98 - value);
    match numbers.below(3) {
        0 => plain,
        1 => plain.to_lowercase(),
        _ => plain.as_bytes().chunks(4).map(|chunk| String::from_utf8_lossy(chunk).into_owned()).collect::<Vec<_>>().join(" "),
    }
}

fn email(numbers: &mut Numbers) -> String {
    let (first, second) = (numbers.of(SMALL, 5), numbers.of(SMALL, 7));
    let local = match numbers.below(6) {
        0 => format!("{first}.{second}"),
        1 => format!("{first}+{second}"),
        2 => format!("{first}_{}", numbers.digits(2)),
        3 => format!("{}'{second}", &first[..1]),
        4 => format!("{first}é"),
        _ => first.to_uppercase(),
    };
    let top = numbers.pick(&["com", "de", "co.uk", "example", "museum", "xn--p1ai", "io"]);
    format!("{local}@{}{}.{top}", numbers.pick(&["", "mail.", "a-b."]), numbers.of(SMALL, 6))
}

fn ssn(numbers: &mut Numbers) -> String {
    format!(
        "{}-{:02}-{:04}",
        numbers.pick(&["001", "123", "219", "665", "667", "899", "457"]),
        1 + numbers.below(99),
        1 + numbers.below(9999)
    )
}

fn key(numbers: &mut Numbers) -> String {
    let (prefix, length) = [
        ("sk-", 48),
        ("sk-proj-", 60),
        ("sk-ant-api03-", 90),
        ("ghp_", 36),
        ("github_pat_", 82),
        ("glpat-", 20),
        ("xoxb-", 50),
        ("AIza", 35),
        ("npm_", 36),
        ("hf_", 34),
        ("sk_live_", 24),
        ("shpat_", 32),
        ("whsec_", 32),
        ("gsk_", 52),
        ("dop_v1_", 64),
    ][numbers.below(15)];
    if numbers.below(8) == 0 {
        return format!("AKIA{}", numbers.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16));
    }
    format!("{prefix}{}", numbers.of(WORD, length))
}

fn jwt(numbers: &mut Numbers) -> String {
    let head = URL_SAFE_NO_PAD.encode(numbers.pick(&[
        "{\"alg\":\"HS256\",\"typ\":\"JWT\"}",
        "{\"typ\":\"JWT\",\"alg\":\"RS256\",\"kid\":\"1\"}",
        "{\"alg\":\"none\"}",
    ]));
    let body = URL_SAFE_NO_PAD.encode(format!("{{\"sub\":\"{}\"}}", numbers.digits(10)));
    let length = 43 + numbers.below(200);
    format!("{head}.{body}.{}", numbers.of(WORD, length))
}

fn pem(numbers: &mut Numbers) -> String {
    let label =
        numbers.pick(&["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "CERTIFICATE"]);
    let end = numbers.pick(&["\n", "\\n", "\r\n"]);
    let lines: Vec<String> = (0..4).map(|_| STANDARD.encode(numbers.of(WORD, 48))).collect();
    format!("-----BEGIN {label}-----{end}{}{end}-----END {label}-----", lines.join(end))
}

fn ip(numbers: &mut Numbers) -> String {
    match numbers.below(5) {
        0 => format!("2001:db8:{:x}::{:x}", 1 + numbers.below(65_000), 1 + numbers.below(65_000)),
        1 => format!("fe80::{:x}:{:x}ff:fe00:1", 1 + numbers.below(65_000), 1 + numbers.below(200)),
        2 => format!("192.168.{}.{}", numbers.below(256), numbers.below(256)),
        _ => format!("{}.{}.{}.{}", 11 + numbers.below(100), numbers.below(256), numbers.below(256), numbers.below(256)),
    }
}

/// The whole address, and the part that must be found.
fn url(numbers: &mut Numbers) -> (String, String) {
    let value = numbers.of(WORD, 16);
    match numbers.below(5) {
        0 => (format!("https://user:{value}@host.example/path"), format!("user:{value}")),
        1 => (format!("postgres://{value}@db.example:5432/x"), value),
        2 => (format!("https://api.example/v1?token={value}&a=b"), value),
        3 => (format!("https://a.example/x?b=c&sig={value}"), value),
        _ => (format!("redis://:{value}@cache.example"), format!(":{value}")),
    }
}

/// The line and the number in it.
fn phone(numbers: &mut Numbers) -> (String, String) {
    let shape = numbers.pick(&[
        "+49 151 ########", "+1 (%##) %##-####", "+1-%##-%##-####", "+44 20 #### ####", "+33 1 ## ## ## ##", "+4915########",
        "+1%##%######", "+91 98### #####", "(%##) %##-####", "%##-%##-####", "%##.%##.####", "1-%##-%##-####", "(%##)%##-####",
        "030 ########", "0151/#######", "020 7### ####", "01 %# %# %# %#", "0049 151 ########", "+34 6## ### ###", "+358 40 #######",
        "0171-#######", "+39 06 ########", "+41 44 ### ## ##",
    ]);
    let value = numbers.shaped(shape);
    (value.clone(), value)
}

const AROUND: &[(&str, &str)] = &[
    ("", ""),
    ("Here: ", "."),
    ("user=", " logged in"),
    ("(", ")"),
    ("It is ", ", as I said."),
    ("\"", "\""),
    ("INFO got '", "' from client"),
    ("Contact ", " today"),
    ("| a | ", " | b |"),
    ("- ", "\n"),
    ("ändern: ", "; übrig"),
];

/// Kind, line, and the value in it.
fn positives() -> Vec<(PiiKind, String, String)> {
    let mut numbers = Numbers(42);
    let mut lines = vec![];
    for _ in 0..60 {
        for kind in [
            PiiKind::Card,
            PiiKind::Iban,
            PiiKind::Email,
            PiiKind::Ssn,
            PiiKind::Key,
            PiiKind::Jwt,
            PiiKind::Pem,
            PiiKind::Ip,
            PiiKind::Url,
            PiiKind::Phone,
        ] {
            let (text, value) = match kind {
                PiiKind::Card => (card(&mut numbers), None),
                PiiKind::Iban => (iban(&mut numbers), None),
                PiiKind::Email => (email(&mut numbers), None),
                PiiKind::Ssn => (ssn(&mut numbers), None),
                PiiKind::Key => (key(&mut numbers), None),
                PiiKind::Jwt => (jwt(&mut numbers), None),
                PiiKind::Pem => (pem(&mut numbers), None),
                PiiKind::Ip => (ip(&mut numbers), None),
                PiiKind::Url => {
                    let (text, value) = url(&mut numbers);
                    (text, Some(value))
                }
                _ => {
                    let (text, value) = phone(&mut numbers);
                    (text, Some(value))
                }
            };
            let (before, after) = AROUND[numbers.below(AROUND.len())];
            lines.push((kind, format!("{before}{text}{after}"), value.unwrap_or(text)));
        }
    }
    // Values that need the words around them.
    for (kind, line, value) in [
        (PiiKind::Ssn, "SSN: 219099999 on file", "219099999"),
        (PiiKind::Ssn, "social security number 219 09 9999", "219 09 9999"),
        (PiiKind::Phone, "Call me at 5551234567 please", "5551234567"),
        (PiiKind::Phone, "Tel.: 555 1234", "555 1234"),
        (PiiKind::Phone, "mobile 9876543210", "9876543210"),
        (PiiKind::Phone, "Telefon: 0301234567", "0301234567"),
        (PiiKind::Key, "api_key = \"a8F3kQ92mZx7Lp04TbVe\"", "a8F3kQ92mZx7Lp04TbVe"),
        (PiiKind::Key, "Authorization: Bearer a8F3kQ92mZx7Lp04TbVe", "a8F3kQ92mZx7Lp04TbVe"),
        (PiiKind::Key, "SECRET_TOKEN=9f86d081884c7d659a2feaa0c55ad015", "9f86d081884c7d659a2feaa0c55ad015"),
    ] {
        lines.push((kind, line.to_owned(), value.to_owned()));
    }
    lines
}

/// Lines without personal data and without secrets.
const NEGATIVES: &str = "\
2024-01-02T03:04:05.678Z INFO started in 12 ms
On 01.02.2024 10:30 we met; on 2024/12/31 too; 12-31-2024 as well.
Version 1.2.3.4 and v10.0.19041.1, build 4.18.2.1, release 2.0.0.1
Listening on 127.0.0.1:8080 and 0.0.0.0:80, mask 255.255.255.0, ::1 and ::
std::fmt::Debug, a::b, de::Error, dead::beef, ab::cd::ef
12:30:45 and 1:2:3, 00:1a:2b:3c:4d:5e, 23:59:59.999
order 4111111111111112 and 1234567890123456, 0000000000000000
id 550e8400-e29b-41d4-a716-446655440000 and 123e4567-e89b-12d3-a456-426614174000
sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
checksum = 0123456789abcdef0123456789abcdef01234567
logo@2x.png, icon@3x.jpg, git@host.example:org/repo.git, @scope/pkg, user@localhost
pkg@1.2.3 and react@18.2.0
0.4111111111111111 and 3.14159265358979, 1.7976931348623157e308
1,234,567.89 and 12 345 678, 1 000 000, 100 200 3000
32 of 40 hours, 8.5 h on Mon, 7:30 on Tue, 100 %, $1,250.50
ISBN 978-3-16-148410-0, EAN 4006381333931
section 1.2.3.4 of the text, § 4.3.2.1, 1.3.6.1.4.1.311.2
pip install sk-learn-contrib-imbalanced-dataset-tools-extra, task-management-system-for-everyone
the token is read from the file; the secret: keep it; password: see the manual; api_key: text
token = parse_token(source); let secret = read_the_secret_from_the_environment();
https://example.com/path?key=value&page=2&token=$TOKEN, https://<user>@host, https://${USER}:${PASS}@host
https://host.example/a@b/c, ssh://git@host.example/org/repo, https://medium.example/@someone/post
-----BEGIN PUBLIC KEY----- is how such a file begins
eyJ is what such a token begins with; eyJhbGci is not enough; eyJ0ZXN0IjoxfQ.abc.def
666-12-3456, 000-12-3456, 900-12-3456, 123-00-4567, 123-45-0000, 12-345-6789
DE00 3704 0044 0532 0130 00, GB12 is no account, XX89370400440532013000
AKIAIOSFODNN is too short, ghp_short, xoxb-no, AIzaShort
+12, +1.5 %, 2+2, a+b, C++17, +100 points, 10 + 20 + 30
0123456, 007, 0800, 01 02 2024, 12 10 11 12
rows 100 200 3000 4000, 212 101 2000
@@ -1,7 +1,9 @@ fn main() {
0x1234567890ABCDEF, 1e10, 0b1010, #1234567, Q3 2024, FY2024-25
1700000000 and 1700000000000 and 1700000000000000000
a.b.c.d, ..., a..b@c, @, @@, a@b, .@.com
10.5.2 and 1.2.3, 999.999.999.999, 256.1.1.1
arn:aws:iam::aws:policy/ReadOnly, s3://bucket/key, file:///etc/hosts
MIT License. Copyright (c) 2024-2026 The authors. All rights reserved.
THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND (17 U.S.C. 101).
0 0 12 * * ?, 5/15 * * * *, 192.168/16, 10/8
GET /index.html HTTP/1.1 200 5316 \"-\" \"Mozilla/5.0 Chrome/120.0.0.0 Safari/537.36\"
resolution 1920x1080, 3840 x 2160, 4:3, 16:9
page 12 of 345, lines 1200-1250, 555 items, 1234 5678
";

#[test]
fn shapes_are_found_at_the_rates_that_are_asked_for() {
    let mut wanted: BTreeMap<PiiKind, usize> = BTreeMap::new();
    let mut found: BTreeMap<PiiKind, usize> = BTreeMap::new();
    let mut wrong: BTreeMap<PiiKind, Vec<String>> = BTreeMap::new();
    let mut missed = vec![];
    let positives = positives();
    assert!(positives.len() + NEGATIVES.lines().count() >= 150);
    for (kind, line, value) in &positives {
        *wanted.entry(*kind).or_default() += 1;
        let (start, end) = line.find(value.as_str()).map(|at| (at, at + value.len())).unwrap_or_default();
        let mut is_found = false;
        for hit in find_pii(line) {
            if hit.range.start <= start && end <= hit.range.end && hit.kind == *kind {
                is_found = true;
            } else if hit.range.end <= start || end <= hit.range.start || hit.kind != *kind {
                wrong.entry(hit.kind).or_default().push(line.clone());
            }
        }
        if is_found {
            *found.entry(*kind).or_default() += 1;
        } else {
            missed.push(format!("{kind:?} in {line}"));
        }
    }
    for line in NEGATIVES.lines() {
        for hit in find_pii(line) {
            wrong.entry(hit.kind).or_default().push(format!("{} in {line}", &line[hit.range]));
        }
    }
    let mut all = 0.0;
    for (kind, wanted) in &wanted {
        let (found, wrong) = (found.get(kind).copied().unwrap_or(0), wrong.get(kind).map_or(0, Vec::len));
        let recall = found as f64 / *wanted as f64;
        let precision = found as f64 / (found + wrong).max(1) as f64;
        println!("{kind:?}: recall {recall:.3}, precision {precision:.3}");
        let (least_recall, least_precision) = match kind {
            PiiKind::Ip | PiiKind::Url => (0.98, 0.98),
            PiiKind::Phone => (0.95, 0.95),
            _ => (0.99, 0.98),
        };
        assert!(recall >= least_recall, "{kind:?}: recall {recall}; missed: {missed:#?}");
        assert!(precision >= least_precision, "{kind:?}: precision {precision}; {wrong:?}");
        all += recall;
    }
    assert!(all / wanted.len() as f64 >= 0.98);
}

#[test]
fn each_line_without_personal_data_is_left_alone() {
    let wrong: Vec<String> = NEGATIVES
        .lines()
        .flat_map(|line| find_pii(line).into_iter().map(move |hit| format!("{:?} {:?} in {line}", hit.kind, &line[hit.range.clone()])))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn source_code_and_lock_files_have_hardly_any() {
    let sources = [
        include_str!("../../../../../Cargo.lock"),
        include_str!("../../../../lang/src/channel/split.rs"),
        include_str!("../../../../lang/src/channel/parse.rs"),
        include_str!("../../model/step_kind.rs"),
        include_str!("../../port/model.rs"),
        include_str!("../../diagnostic/codes.rs"),
    ];
    let found: Vec<String> = sources
        .iter()
        .flat_map(|source| find_pii(source).into_iter().map(|hit| format!("{:?} {}", hit.kind, &source[hit.range])))
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}
