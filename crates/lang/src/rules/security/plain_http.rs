//! F615: texts that travel unprotected.

use crate::model::known_address;
use crate::policy::Origin;
use crate::rules::prelude::{Code, Diagnostic, PipelinePlan, Plan, finding, quoted};

/// F615: an address with `http://` that leaves this machine.
pub(in crate::rules) fn check(pipeline: &PipelinePlan, _: &Plan, out: &mut Vec<Diagnostic>) {
    for url in pipeline.addresses() {
        let origin = known_address(&url.source).and_then(|url| Origin::parse(url.as_str())).filter(|origin| origin.scheme == "http");
        if let Some(Origin { host, .. }) = origin.filter(|origin| !is_near(&origin.host)) {
            let message = format!("http:// sends the text to {} unprotected; write https://", quoted(&host));
            out.push(finding(Code::PlainHttp, url.place.inside(0, "http://".len()), &message).help("write https://"));
        }
    }
}

/// This machine, or a name that only a private network knows (RFC 6761, RFC 8375 and names without a dot).
fn is_near(host: &str) -> bool {
    let ends = [".localhost", ".local", ".internal", ".home.arpa", ".test"];
    let is_loopback = host == "[::1]" || host.starts_with("127.") && host.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_public_v6 = host.contains(':');
    is_loopback || !is_public_v6 && !host.contains('.') || ends.iter().any(|end| host.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::says;

    #[test]
    fn only_what_leaves_this_machine_must_be_protected() {
        let step = |url: &str| says(check, &format!("inputs: {{ host: text }}\nsteps:\n  - id: a\n    http: GET {url}\n"));
        let found = "F615 6:15 http:// sends the text to \"example.com\" unprotected; write https://\n";
        assert_eq!(step("http://example.com/x"), found);
        assert_eq!(step("http://user@example.com:8080"), found);
        assert_eq!(step("HTTP://localhost@EXAMPLE.com\\@localhost/"), found);
        for near in [
            "https://example.com",
            "http://localhost:3000/",
            "http://127.0.0.1",
            "http://[::1]/",
            "http://ollama:11434",
            "http://{{ inputs.host }}/",
            "http://0x7f.1/",
            "HTTP://LOCALHOST./",
        ] {
            assert_eq!(step(near), "", "{near}");
        }
        let model =
            "models: { default: { provider: openai, model: m, base_url: http://models.example.com/v1 } }\nsteps: [{ id: a, set: 1 }]\n";
        assert_eq!(says(check, model), "F615 3:60 http:// sends the text to \"models.example.com\" unprotected; write https://\n");
    }
}
