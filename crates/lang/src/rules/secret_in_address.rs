//! F602: a secret in a web address.

use super::roles::{SinkRole, secret_reads};
use super::{Code, Diagnostic, PipelinePlan, Plan, finding};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (_, read) in secret_reads(&pipeline.pipeline).into_iter().filter(|(role, _)| *role == SinkRole::Address) {
        let path = read.path.join(".");
        let message = format!("{path} in a web address ends up in logs; use a header");
        let mut what = "it".to_owned();
        pipeline.pipeline.each_text(&mut |authored| {
            if let Some(parameter) = authored.text().and_then(|text| parameter(&text.source, &path)) {
                what = format!("all of \"{parameter}\"");
            }
        });
        out.push(finding(Code::SecretInAddress, read.span, &message).help(format!(
            "take {what} out of the address, and write headers: {{ X-Api-Key: \"{{{{ {path} }}}}\" }}, with the header that the service names"
        )));
    }
}

/// The parameter of a query that a path fills, with the sign before it: `?key={{ secrets.KEY }}`.
fn parameter<'t>(address: &'t str, path: &str) -> Option<&'t str> {
    let at = address.find(path)?;
    let start = address.get(..at)?.rfind(['?', '&'])?;
    let end = address.get(at..)?.find("}}").map(|end| at + end + 2)?;
    address.get(start..end).filter(|parameter| parameter.contains('=') && parameter.matches("{{").count() == 1)
}

#[cfg(test)]
mod tests {
    use super::super::testing::says;
    use super::*;

    #[test]
    fn a_secret_is_no_part_of_an_address() {
        let step = |step: &str| says(check, &format!("secrets: {{ KEY: A key. }}\nsteps: [{{ id: a, {step} }}]\n"));
        assert_eq!(
            step("http: 'GET https://example.com/{{ secrets.KEY }}'"),
            "F602 4:52 secrets.KEY in a web address ends up in logs; use a header\n"
        );
        assert!(step("http: GET https://example.com/, query: { key: '{{ secrets.KEY }}' }").starts_with("F602 "));
        assert_eq!(step("http: GET https://example.com/, body: { key: '{{ secrets.KEY }}' }"), "");
    }
}
