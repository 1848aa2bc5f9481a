//! International bank account numbers (ISO 13616).

use super::byte;

/// The length in each country (SWIFT, IBAN registry).
const LENGTHS: &str = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 \
FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 \
MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 \
SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30";

/// Where the number that begins here ends: two letters, then digits and letters of its country's length, alone or in groups with one
/// space or hyphen between, and the right checksum.
pub(super) fn end(text: &[u8], start: usize) -> Option<usize> {
    let country = [byte(text, start).to_ascii_uppercase(), byte(text, start + 1).to_ascii_uppercase()];
    let length = length(&country)?;
    let mut read = vec![];
    let mut at = start;
    while read.len() < length {
        let now = byte(text, at);
        if matches!(now, b' ' | b'-') && !read.is_empty() && byte(text, at + 1).is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        if !now.is_ascii_alphanumeric() {
            return None;
        }
        read.push(now);
        at += 1;
    }
    // The first four characters are read last (ISO 7064, mod 97-10).
    read.rotate_left(4);
    let remainder = read.into_iter().fold(0, step);
    (remainder == 1 && !byte(text, at).is_ascii_alphanumeric()).then_some(at)
}

fn length(country: &[u8; 2]) -> Option<usize> {
    LENGTHS.split(' ').find(|entry| entry.as_bytes().starts_with(country))?.get(2..)?.parse().ok()
}

fn step(remainder: u32, now: u8) -> u32 {
    match now {
        b'0'..=b'9' => (remainder * 10 + u32::from(now - b'0')) % 97,
        _ => (remainder * 100 + u32::from(now.to_ascii_uppercase() - b'A') + 10) % 97,
    }
}
