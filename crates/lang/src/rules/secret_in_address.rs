//! F602: a secret in a web address.

use super::roles::{SinkRole, secret_reads};
use super::{Code, Diagnostic, PipelinePlan, Plan, finding};

pub(super) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for (_, read) in secret_reads(&pipeline.pipeline).into_iter().filter(|(role, _)| *role == SinkRole::Address) {
        let message = format!("{} in a web address ends up in logs; use a header", read.path.join("."));
        out.push(
            finding(Code::SecretInAddress, read.span, &message)
                .help(format!(
                    "take it out of the address, and write headers: {{ Authorization: \"Bearer {{{{ {} }}}}\" }}, or the header the service asks for",
                    read.path.join(".")
                )),
        );
    }
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
