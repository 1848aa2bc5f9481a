//! Which hosts a request may go to, and in which form hosts are compared.

use std::fmt;

use url::{Host, Url};

use super::{Act, Decision, decide};
use crate::model::{HostEntry, HostSource, Policy, ProgramNetwork};

/// Scheme, host and port of an address, in the one form in which they are compared: as a program reads them that sends the request
/// (WHATWG URL), without user, path and a dot at the end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// `https`, `http`; of a mail server `smtp`.
    pub scheme: String,
    /// The name in small letters and its `xn--` form, or the address.
    pub host: String,
    /// The port.
    pub port: Option<u16>,
}

impl Origin {
    /// Of a web address.
    pub fn parse(address: &str) -> Option<Origin> {
        let url = Url::parse(address).ok()?;
        Some(Origin { scheme: url.scheme().to_owned(), host: canonical(url.host_str()?), port: url.port_or_known_default() })
    }

    /// Of a mail server, `host:port`.
    pub fn of_mail(server: &str) -> Option<Origin> {
        let (name, port) = server.rsplit_once(':').unwrap_or((server, ""));
        let host = Host::parse(name.trim()).map_or_else(|_| name.trim().to_lowercase(), |host| host.to_string());
        let origin = Origin { scheme: "smtp".to_owned(), host: canonical(&host), port: port.parse().ok() };
        (!origin.host.is_empty()).then_some(origin)
    }

    /// Of all that a program may reach, an entry each; only an entry `*` of a policy names all hosts. Each must be in every list of hosts there is,
    /// so they are decided as [`HostSource::Input`] is.
    pub fn of_program(network: &ProgramNetwork) -> Vec<Origin> {
        let of = |host: String, port| Origin { scheme: "https".to_owned(), host, port };
        match network {
            ProgramNetwork::None => vec![],
            ProgramNetwork::Hosts(hosts) => {
                let entries = hosts.iter().map(|entry| HostEntry::parse(entry));
                entries.map(|entry| of(entry.plain_name().unwrap_or_else(|| entry.name.to_owned()), entry.port())).collect()
            }
            ProgramNetwork::All => vec![of("*".to_owned(), Some(443))],
        }
    }

    /// The host, and its port if it is not the scheme's own: as decisions name it.
    pub fn named(&self) -> String {
        match (self.scheme.as_str(), self.port) {
            ("https", Some(443)) | ("http", Some(80)) | ("smtp", Some(25 | 465 | 587)) | (_, None) => self.host.clone(),
            (_, Some(port)) => format!("{}:{port}", self.host),
        }
    }

    fn fits(&self, entry: &str) -> bool {
        HostEntry::parse(entry).fits(&self.scheme, &self.host, self.port)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.named())
    }
}

fn canonical(host: &str) -> String {
    host.trim_end_matches('.').to_owned()
}

/// Whether a request may go to a host because of who named it: what a run's data names must be a host of the file or in a list of a policy,
/// and what an input or the data names must be in every list there is, whatever `permission_mode` says: on such a list rests that a
/// secret may be beside it ([`may_carry_secret`]).
///
/// `is_known`: the file, the environment or an input of the run names the same scheme, host and port in an address of its own.
pub fn may_reach(policies: &[(&str, &Policy)], source: HostSource, origin: &Origin, is_known: impl FnOnce() -> bool) -> Decision {
    let entry = |policy: &&Policy| policy.hosts.iter().flatten().find(|entry| origin.fits(&entry.value)).map(|entry| entry.value.clone());
    let unlisted = policies.iter().find(|(_, policy)| policy.hosts.is_some() && entry(policy).is_none());
    let listed = policies.iter().find_map(|(name, policy)| Some(format!("policy {name}: network_access.hosts {}", entry(policy)?)));
    let (allowed, rule) = match (source, listed) {
        (HostSource::File, _) => (true, "the file names the host".to_owned()),
        (HostSource::Environment, _) => (true, "the environment names the host".to_owned()),
        (HostSource::Input, _) => (true, "an input names the host".to_owned()),
        (HostSource::Data, Some(rule)) => (true, rule),
        (HostSource::Data, None) if is_known() => (true, "it is a host of the file".to_owned()),
        (HostSource::Data, None) => {
            let rule = "a step or a model named the host; name it in the file, or in network_access.hosts of a policy";
            (false, rule.to_owned())
        }
    };
    match unlisted.filter(|_| allowed && source >= HostSource::Input) {
        Some((name, _)) => Decision::new(false, format!("policy {name}: network_access.hosts does not list it")),
        None => Decision::new(allowed, rule),
    }
}

/// Whether a request may go to a host: by who named it, and by the policies in force.
pub fn decide_host(policies: &[(&str, &Policy)], source: HostSource, origin: &Origin, is_known: impl FnOnce() -> bool) -> Decision {
    let reached = may_reach(policies, source, origin, is_known);
    let decision = decide(policies, &Act::Host { scheme: &origin.scheme, host: &origin.host, port: origin.port });
    if policies.is_empty() && source == HostSource::Data || reached.is_denied() { reached } else { decision }
}

fn lists_hosts(policy: &Policy) -> bool {
    policy.hosts.as_ref().is_some_and(|hosts| !hosts.is_empty())
}

/// Whether a secret may be beside an address whose host is named like this, under the policies of its file.
pub fn may_carry_secret<'p>(policies: impl IntoIterator<Item = &'p Policy>, source: HostSource) -> bool {
    source <= HostSource::Environment || policies.into_iter().any(lists_hosts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PermissionMode;
    use crate::source::Spanned;

    fn origin(address: &str) -> Origin {
        Origin::parse(address).unwrap()
    }

    fn listing(hosts: &[&str]) -> Policy {
        let hosts = hosts.iter().map(|host| Spanned::new(host.to_string(), Default::default()));
        Policy { hosts: Some(hosts.collect()), ..Policy::default() }
    }

    #[test]
    fn hosts_are_compared_as_they_are_called() {
        let own = origin("https://good.example");
        for same in ["https://GOOD.example:443/x", "https://good.example./", "https://a:b@good.example/", "https:\\\\good.example\\x"] {
            assert_eq!(origin(same), own, "{same}");
        }
        for other in [
            "https://good.example@evil.example/",
            "https://good.example:pw@evil.example/",
            "https://evil.example\\@good.example/",
            "https://evil.example#@good.example/",
            "https://good.example.evil.example/",
            "https://good.example:8443/",
            "http://good.example/",
            "https://gооd.example/",
        ] {
            assert_ne!(origin(other), own, "{other}");
        }
        assert_eq!(origin("https://bücher.example"), origin("https://xn--bcher-kva.example"));
        assert_eq!(origin("http://0x7f.1"), origin("http://127.0.0.1"));
        assert_eq!(Origin::of_mail("MAIL.example:25"), Origin::of_mail("mail.example.:25"));
        assert!(Origin::parse("good.example/x").is_none() && Origin::parse("").is_none() && Origin::of_mail(":25").is_none());
    }

    #[test]
    fn decisions_name_a_port_that_is_not_the_scheme_s_own() {
        let named = |address: &str| origin(address).named();
        assert_eq!(
            [named("https://a.example/x"), named("https://a.example:8443"), named("http://a.example:443")],
            ["a.example", "a.example:8443", "a.example:443"]
        );
        let mail = |server: &str| Origin::of_mail(server).unwrap().named();
        assert_eq!(
            [mail("mail.example:587"), mail("mail.example:2525"), mail("mail.example")],
            ["mail.example", "mail.example:2525", "mail.example"]
        );
    }

    #[test]
    fn what_data_names_must_be_known_or_listed_and_every_policy_must_allow_it() {
        let (own, auto) = (origin("https://good.example"), Policy { permission_mode: Some(PermissionMode::Auto), ..Policy::default() });
        let (good, other) = (listing(&["good.example:443"]), listing(&["other.example"]));
        let allowed = |policies: &[(&str, &Policy)], source, known| decide_host(policies, source, &own, || known).is_allowed();
        for source in [HostSource::File, HostSource::Environment, HostSource::Input] {
            assert!(allowed(&[], source, false) && allowed(&[("p", &auto)], source, false));
            assert!(!allowed(&[("p", &other)], source, true));
        }
        assert!(!allowed(&[], HostSource::Data, false) && !allowed(&[("p", &auto)], HostSource::Data, false));
        assert!(allowed(&[], HostSource::Data, true) && allowed(&[("p", &auto)], HostSource::Data, true));
        assert!(allowed(&[("p", &good)], HostSource::Data, false) && !allowed(&[("p", &other)], HostSource::Data, true));
        assert!(!allowed(&[("p", &good), ("q", &other)], HostSource::Data, true));
        let listed_elsewhere = listing(&["good.example:80"]);
        assert!(!allowed(&[("p", &listed_elsewhere)], HostSource::Data, false));
        // A list is a list, whatever happens to what no list names: a secret may be beside such an address.
        let auto = |hosts: &[&str]| Policy { permission_mode: Some(PermissionMode::Auto), ..listing(hosts) };
        let (here, elsewhere, empty) = (auto(&["good.example"]), auto(&["other.example"]), auto(&[]));
        for source in [HostSource::Input, HostSource::Data] {
            assert!(allowed(&[("p", &here)], source, false) && !allowed(&[("p", &elsewhere)], source, true));
            assert!(!allowed(&[("p", &elsewhere), ("q", &here)], source, true));
            assert!(!allowed(&[("p", &empty)], source, true), "an empty list names no host");
        }
        for source in [HostSource::File, HostSource::Environment] {
            assert!(allowed(&[("p", &elsewhere)], source, false));
        }
    }

    #[test]
    fn a_secret_goes_where_the_file_the_environment_or_a_list_says() {
        let auto = Policy { permission_mode: Some(PermissionMode::Auto), ..Policy::default() };
        assert!(may_carry_secret([], HostSource::File) && may_carry_secret([], HostSource::Environment));
        for source in [HostSource::Input, HostSource::Data] {
            assert!(!may_carry_secret([], source) && !may_carry_secret([&auto], source) && !may_carry_secret([&listing(&[])], source));
            assert!(may_carry_secret([&listing(&["a.example"])], source));
        }
    }
}
