//! Tokens: a server of our own that wants one, and the authorization server that gives it.

use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;

use super::web::{Heard, discovered, http, json_answer, serve, standing, told, tools};
use super::*;
use crate::event::FailureKind;
use crate::mcp::auth::{LoginCommand, LoginTalk, LoginWish, TokensAfter};
use crate::model::Grant;
use crate::port::ServerSignIn;

/// What the authorization server gives and the server takes.
#[derive(Default)]
struct State {
    /// The tokens that were given; the last one is taken.
    given: Vec<String>,
    /// What is not as usual.
    odd: &'static str,
    /// How long a token is good, in seconds.
    lasts: u64,
    /// How often a device was told to wait.
    pending: u32,
}

/// Both servers, at one address or two.
struct Pair {
    server: String,
    issuer: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    state: Arc<Mutex<State>>,
}

impl Pair {
    fn forms(&self) -> Vec<String> {
        self.heard_at("/token")
    }

    fn heard_at(&self, path: &str) -> Vec<String> {
        let start = format!("POST {path}");
        self.heard.lock().unwrap().iter().filter(|heard| heard.head.starts_with(&start)).map(|heard| heard.form.clone()).collect()
    }
}

fn document(value: &Value) -> String {
    http("200 OK", "content-type: application/json\r\n", &value.to_string())
}

/// The server, its metadata, and the authorization server.
#[expect(clippy::too_many_lines, reason = "one list of cases")]
fn answer(heard: &Heard, own: &str, issuer: &str, state: &mut State) -> String {
    let path = heard.head.split(' ').nth(1).unwrap_or_default();
    let odd = state.odd;
    let issuer = match odd {
        "plain issuer" => "http://auth.example.com",
        "script issuer" => "javascript:alert(1)",
        _ => issuer,
    };
    match path.split('?').next().unwrap_or_default() {
        "/mcp" => {
            let taken = state.given.last().map(|token| format!("Bearer {token}"));
            if taken.is_none_or(|taken| !heard.has(&taken)) {
                let place = if odd == "elsewhere" { "https://evil.example.com" } else { own };
                let wants = format!("www-authenticate: Bearer scope=\"a b\", resource_metadata=\"{place}/prm\"\r\n");
                return http("401 Unauthorized", &wants, "{}");
            }
            match heard.body["method"].as_str() {
                Some("server/discover") => json_answer(heard, &discovered()),
                Some("tools/list") => json_answer(heard, &tools()),
                _ => json_answer(heard, &told(&format!("you sent {}", state.given.last().unwrap()))),
            }
        }
        "/prm" => {
            let name = if odd == "other resource" { "https://evil.example.com/mcp".to_owned() } else { format!("{own}/mcp") };
            if odd == "endless" {
                return standing("{");
            }
            if odd == "huge" {
                return document(&json!({ "resource": name, "authorization_servers": [issuer], "x": "y".repeat(300 << 10) }));
            }
            document(&json!({ "resource": name, "authorization_servers": [issuer] }))
        }
        "/.well-known/oauth-authorization-server" => document(&json!({
            "issuer": if odd == "other issuer" { "https://evil.example.com" } else { issuer },
            "authorization_endpoint": if odd == "script" { "javascript:alert(1)".to_owned() } else { format!("{issuer}/authorize") },
            "token_endpoint": match odd {
                "plain token" => "http://auth.example.com/token".to_owned(),
                "other token" => "https://evil.example.com/token".to_owned(),
                _ => format!("{issuer}/token"),
            },
            "registration_endpoint": format!("{issuer}/register"),
            "device_authorization_endpoint": format!("{issuer}/device"),
            "revocation_endpoint": match odd {
                "no revocation" => Value::Null,
                "revokes elsewhere" => json!("https://evil.example.com/revoke"),
                "plain revocation" => json!("http://evil.example.com/revoke"),
                _ => json!(format!("{issuer}/revoke")),
            },
            "code_challenge_methods_supported": if odd == "no pkce" { json!(["plain"]) } else { json!(["S256"]) },
        })),
        "/revoke" if odd == "revokes refresh only" && heard.form.contains("access_token") => {
            http("400 Bad Request", "content-type: application/json\r\n", "{\"error\":\"unsupported_token_type\"}")
        }
        "/revoke" if odd == "revokes nothing" => http(
            "400 Bad Request",
            "content-type: application/json\r\n",
            "{\"error\":\"invalid_client\",\"error_description\":\"canary-token-1\"}",
        ),
        "/revoke" if odd == "fails to revoke" => http("503 Service Unavailable", "", ""),
        "/revoke" => http("200 OK", "", ""),
        "/register" => document(&json!({ "client_id": "registered", "client_secret": "canary-registered-secret" })),
        "/device" => document(
            &json!({ "device_code": "canary-device", "user_code": "ABCD-EFGH", "verification_uri": format!("{issuer}/d"), "interval": 1 }),
        ),
        "/token" if odd == "silent token" => standing(""),
        "/token" if odd == "redirect" => http("307 Temporary Redirect", "location: https://evil.example.com/\r\n", ""),
        "/token" if odd == "refuses" || odd == "refuses refresh" && heard.form.contains("grant_type=refresh_token") => {
            let said = json!({ "error": "invalid_grant", "error_description": "no\u{1b}[31m canary-client-secret" });
            http("400 Bad Request", "content-type: application/json\r\n", &said.to_string())
        }
        "/token" if state.pending > 0 => {
            state.pending -= 1;
            http("400 Bad Request", "content-type: application/json\r\n", "{\"error\":\"authorization_pending\"}")
        }
        "/token" => {
            let token = format!("canary-token-{}", state.given.len() + 1);
            state.given.push(token.clone());
            let refresh = format!("canary-refresh-{}", state.given.len());
            document(&json!({ "access_token": token, "token_type": "Bearer", "expires_in": state.lasts, "refresh_token": refresh }))
        }
        _ => http("404 Not Found", "", ""),
    }
}

/// `is_apart`: the authorization server has an address of its own.
async fn pair(odd: &'static str, is_apart: bool) -> Pair {
    let state = Arc::new(Mutex::new(State { odd, lasts: 3600, ..State::default() }));
    let issuer = Arc::new(Mutex::new(String::new()));
    let own = |state: &Arc<Mutex<State>>, issuer: &Arc<Mutex<String>>| {
        let (state, issuer) = (Arc::clone(state), Arc::clone(issuer));
        Box::new(move |heard: &Heard| {
            let host = heard.head.to_lowercase().lines().find_map(|line| Some(line.strip_prefix("host: ")?.to_owned())).unwrap();
            answer(heard, &format!("http://{host}"), &issuer.lock().unwrap(), &mut state.lock().unwrap())
        })
    };
    let (server, heard) = serve(own(&state, &issuer)).await;
    let (apart, of_apart) = serve(own(&state, &issuer)).await;
    let (at, heard) = if is_apart { (apart, of_apart) } else { (server.clone(), heard) };
    let at = at.trim_end_matches("/mcp").to_owned();
    issuer.lock().unwrap().clone_from(&at);
    Pair { server, issuer: at, heard, state }
}

impl World {
    fn signed(&self, pair: &Pair, auth: Option<ServerSignIn>) -> ToolServer {
        self.server("web", ServerTransport::Http { url: pair.server.clone(), host_from: Default::default(), headers: vec![], auth })
    }

    fn logins(&self) -> PathBuf {
        self.home.path().join("state/logins")
    }

    fn with_logins(self) -> World {
        World { servers: self.servers.clone().with_logins(Some(self.logins())), ..self }
    }
}

fn client() -> Option<ServerSignIn> {
    Some(ServerSignIn {
        grant: Grant::ClientCredentials,
        client_id: Some("me:1".to_owned()),
        client_secret: Some(Secret::new("canary-client-secret")),
        ..ServerSignIn::default()
    })
}

/// A person who follows every address, and what was shown.
#[derive(Default)]
struct Person {
    agrees: bool,
    /// What is added to the address that the browser comes back to.
    more: &'static str,
    shown: Mutex<Vec<String>>,
}

impl LoginTalk for Person {
    fn may_use(&self, _: &str, origins: &[String]) -> bool {
        self.shown.lock().unwrap().extend(origins.iter().cloned());
        self.agrees
    }

    fn go_to(&self, address: &str) {
        self.shown.lock().unwrap().push(address.to_owned());
        let url = reqwest::Url::parse(address).unwrap();
        let part = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned()).unwrap();
        let back = format!("{}?code=canary-code&state={}{}", part("redirect_uri"), part("state"), self.more);
        tokio::spawn(async move {
            let http = Http::new(HttpSettings::default(), Arc::new(SystemClock::new()));
            let scrub = crate::scrub::Scrub::default();
            for url in [back.replace("state=", "state=x"), back] {
                let call = crate::http::HttpCall {
                    method: "GET",
                    url: &url,
                    headers: vec![],
                    body: None,
                    is_repeatable: false,
                    connect_timeout: LONG,
                    scrub: &scrub,
                };
                let _ = http.send_any(call).await;
            }
        });
    }

    fn go_to_with_code(&self, address: &str, code: &str) {
        self.shown.lock().unwrap().push(format!("{address} {code}"));
    }
}

#[test]
fn a_client_fetches_its_token_and_what_a_server_says_back_of_it_goes_no_further() {
    run(async {
        let (world, pair) = (World::new(), pair("", false).await);
        let server = world.signed(&pair, client());
        let reply = world.echo(&server, "hi", LONG).await.unwrap();
        assert_eq!(reply.value, text("you sent ***"));
        let forms = pair.forms();
        assert_eq!(forms.len(), 1, "{forms:?}");
        assert!(forms[0].contains("grant_type=client_credentials") && forms[0].contains("scope=a+b"), "{forms:?}");
        assert!(forms[0].contains("resource=http") && !forms[0].contains("canary"), "{forms:?}");
        let heard = pair.heard.lock().unwrap();
        // The name and the secret are escaped before they are joined (RFC 6749 2.3.1).
        assert!(heard.iter().any(|heard| heard.has("authorization: Basic bWUlM0ExOmNhbmFyeS1jbGllbnQtc2VjcmV0")));
    });
}

#[test]
fn a_secret_goes_to_no_host_that_the_file_does_not_name() {
    run(async {
        let (world, pair) = (World::new(), pair("", true).await);
        let failure = world.list(&world.signed(&pair, client())).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Blocked);
        assert!(failure.message.contains("which the file does not name") && failure.message.contains("token_url: "), "{}", failure.message);
        assert!(pair.forms().is_empty());
        let named = client().map(|auth| ServerSignIn { issuer: Some(pair.issuer.clone()), ..auth });
        world.list(&world.signed(&pair, named)).await.unwrap();
        // A file that names another one is not overruled by the server.
        let other = client().map(|auth| ServerSignIn { issuer: Some("https://auth.example.com".to_owned()), ..auth });
        let failure = world.list(&world.signed(&pair, other)).await.unwrap_err();
        assert!(failure.message.contains("the file names the issuer https://auth.example.com"), "{}", failure.message);
        assert_eq!(pair.forms().len(), 1);
    });
}

#[test]
fn what_strangers_write_is_held_to_its_names_its_addresses_and_its_size() {
    run(async {
        for (odd, part) in [
            ("elsewhere", "not on its own host"),
            ("other resource", "is for https://evil.example.com/mcp, not for"),
            ("plain issuer", "names no authorization server with an https:// address"),
            ("script issuer", "names no authorization server with an https:// address"),
            ("other issuer", "is that of \"https://evil.example.com\""),
            ("script", "authorization_endpoint is \"javascript:alert(1)\""),
            ("plain token", "token_endpoint is \"http://auth.example.com/token\""),
            ("other token", "https://evil.example.com for its tokens, which the file does not name"),
            ("huge", "more than 262144 bytes"),
            ("redirect", "redirects are not followed"),
            ("refuses", "returned no token (400, invalid_grant: no\\x1B[31m ***)"),
        ] {
            let (world, pair) = (World::new(), pair(odd, false).await);
            let failure = world.list(&world.signed(&pair, client())).await.unwrap_err();
            assert!(failure.message.contains(part) && !failure.message.contains("canary"), "{odd}: {}", failure.message);
            assert!(pair.state.lock().unwrap().given.is_empty(), "{odd}");
        }
    });
}

#[test]
fn a_document_or_token_that_never_ends_ends_the_login_and_names_who_owes_it() {
    run(async {
        let hasty = || World::with(HttpSettings { exchange: SHORT, ..HttpSettings::default() }).with_logins();
        for (odd, owes) in [("endless", "/prm"), ("silent token", "/token")] {
            let (world, pair) = (hasty(), pair(odd, false).await);
            let server = world.signed(&pair, None);
            let failure = world.servers.log_in(&server, &LoginWish::default(), &Person::default()).await.unwrap_err();
            let host = pair.issuer.as_str();
            assert_eq!(failure.kind, FailureKind::Timeout, "{owes}: {}", failure.message);
            assert!(failure.message.contains(&format!("{host} gave no whole answer within 400 ms")), "{}", failure.message);
        }
    });
}

#[test]
fn a_run_that_waits_for_a_token_blames_who_gives_it_and_not_the_server() {
    run(async {
        let (world, pair) = (World::new(), pair("silent token", true).await);
        let named = client().map(|auth| ServerSignIn { issuer: Some(pair.issuer.clone()), ..auth });
        let server = ToolServer { connect_timeout: SHORT, ..world.signed(&pair, named) };
        let failure = world.list(&server).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Timeout);
        let told = format!("no token within 400 ms: {} does not respond", pair.issuer);
        assert!(failure.message.contains(&told), "{}", failure.message);
    });
}

#[test]
fn a_login_is_kept_for_its_user_alone_and_used_refreshed_and_forgotten() {
    run(async {
        let (world, pair) = (World::new().with_logins(), pair("", false).await);
        let server = world.signed(&pair, None);
        let failure = world.list(&server).await.unwrap_err();
        assert!(failure.message.contains("log in with: flow tools login web"), "{}", failure.message);
        let person = Person::default();
        let wish = LoginWish { scopes: vec!["c".to_owned()], ..LoginWish::default() };
        let done = world.servers.log_in(&server, &wish, &person).await.unwrap();
        assert_eq!((done.scopes.join(" ").as_str(), done.is_refreshed), ("a b c", true));
        let shown = person.shown.lock().unwrap()[0].clone();
        assert!(shown.contains("code_challenge_method=S256") && shown.contains("scope=a+b+c") && shown.contains("client_id=registered"));
        let forms = pair.forms();
        assert!(forms[0].contains("code_verifier=") && forms[0].contains("resource=http"), "{forms:?}");
        let files: Vec<_> = std::fs::read_dir(world.logins()).unwrap().map(|entry| entry.unwrap().path()).collect();
        for file in &files {
            assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
        }
        assert_eq!(world.echo(&server, "hi", LONG).await.unwrap().value, text("you sent ***"));
        // Another project's file that names the same server has no login.
        let other = ToolServer { project: world.home.path().join("other"), ..server.clone() };
        assert!(world.list(&other).await.unwrap_err().message.contains("flow tools login web"));
        // The server takes the token no more: it is refreshed, once for both of two that ask at the same time.
        pair.state.lock().unwrap().given.push("canary-other".to_owned());
        let both = [World::new(), World::new()].map(|own| own.servers.with_logins(Some(world.logins())));
        let (one, two) = tokio::join!(both[0].list(server.clone()), both[1].list(server.clone()));
        assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
        let refreshes: Vec<String> = pair.forms().into_iter().filter(|form| form.contains("grant_type=refresh_token")).collect();
        assert_eq!(refreshes.len(), 1, "{refreshes:?}");
        assert!(refreshes[0].contains("refresh_token=canary-refresh-1") && refreshes[0].contains("resource="), "{refreshes:?}");
        let place = pair.issuer.clone();
        assert_eq!(world.servers.log_out(&server).await.unwrap(), Some(TokensAfter::Revoked(place)));
        let revoked: Vec<String> = pair.heard_at("/revoke");
        assert!(
            revoked.len() == 2 && revoked.iter().all(|form| form.contains("client_id=registered") || !form.contains("client_secret")),
            "{revoked:?}"
        );
        assert!(revoked[0].contains("token_type_hint=access_token") && revoked[1].contains("token=canary-refresh-"), "{revoked:?}");
        assert_eq!(world.servers.log_out(&server).await.unwrap(), None);
    });
}

#[test]
fn a_login_is_removed_whether_its_tokens_can_be_revoked_or_not_and_they_go_nowhere_else() {
    for (odd, is_revoked, why, sent) in [
        ("", true, "", 2),
        ("revokes refresh only", true, "", 2),
        ("no revocation", false, "has no revocation_endpoint", 0),
        ("plain revocation", false, "has no revocation_endpoint", 0),
        ("revokes elsewhere", false, "had no part in the login", 0),
        ("revokes nothing", false, "revoked no token (400, invalid_client: ***)", 1),
        ("fails to revoke", false, "503", 1),
    ] {
        run(async {
            let (world, pair) = (World::new().with_logins(), pair(odd, false).await);
            let server = world.signed(&pair, None);
            world.servers.log_in(&server, &LoginWish::default(), &Person::default()).await.unwrap();
            match world.servers.log_out(&server).await.unwrap().unwrap() {
                TokensAfter::Revoked(place) => assert!(is_revoked && place == pair.issuer, "{odd}: {place}"),
                TokensAfter::Valid(told) => assert!(!is_revoked && told.contains(why), "{odd}: {told}"),
            }
            assert_eq!(pair.heard_at("/revoke").len(), sent, "{odd}");
            assert_eq!(world.servers.log_out(&server).await.unwrap(), None, "{odd}");
        });
    }
}

#[test]
fn a_login_that_cannot_be_refreshed_says_to_log_in_again() {
    run(async {
        let (world, pair) = (World::new().with_logins(), pair("refuses refresh", false).await);
        pair.state.lock().unwrap().lasts = 1;
        let server = world.signed(&pair, None);
        world.servers.log_in(&server, &LoginWish::default(), &Person::default()).await.unwrap();
        let failure = world.list(&server).await.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Auth);
        assert!(failure.message.contains("has ended") && failure.message.contains("log in again with: flow tools login web"));
        assert!(!failure.message.contains("canary-refresh"), "{}", failure.message);
    });
}

#[test]
fn a_person_agrees_to_a_host_that_the_server_names_and_a_later_change_is_refused() {
    run(async {
        let (world, apart) = (World::new().with_logins(), pair("", true).await);
        let server = world.signed(&apart, None);
        let person = Person::default();
        let failure = world.servers.log_in(&server, &LoginWish::default(), &person).await.unwrap_err();
        let host = apart.issuer.trim_start_matches("http://").to_owned();
        assert!(failure.message.ends_with(&format!("flow tools login web --yes-host {host}")), "{}", failure.message);
        assert_eq!(*person.shown.lock().unwrap(), std::slice::from_ref(&apart.issuer));
        assert!(apart.forms().is_empty());
        let agreeing = Person { agrees: true, ..Person::default() };
        world.servers.log_in(&server, &LoginWish::default(), &agreeing).await.unwrap();
        // It was agreed to: no question the next time.
        let person = Person::default();
        world.servers.log_in(&server, &LoginWish::default(), &person).await.unwrap();
        assert_eq!(person.shown.lock().unwrap().len(), 1);
        // The same server names another one.
        let other = pair("", true).await;
        let file = std::fs::read_dir(world.logins()).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.extension().is_none());
        let file = file.unwrap();
        let kept = std::fs::read_to_string(&file).unwrap().replace(&apart.issuer, &other.issuer);
        std::fs::write(&file, kept).unwrap();
        let failure = world.servers.log_in(&server, &LoginWish::default(), &agreeing).await.unwrap_err();
        assert!(failure.message.contains("before, and names") && failure.message.contains("--yes-host"), "{}", failure.message);
        let wish = LoginWish { hosts: vec![host], ..LoginWish::default() };
        world.servers.log_in(&server, &wish, &Person::default()).await.unwrap();
    });
}

#[test]
fn a_code_from_elsewhere_and_a_server_without_pkce_end_the_login() {
    run(async {
        for (odd, more, part) in [
            ("", "&iss=https%3A%2F%2Fevil.example.com", "came back from \"https://evil.example.com\""),
            ("", "&error=access_denied&error_description=no%1B%5B31m", "not granted (access_denied: no\\x1B[31m)"),
            ("", "&code=", "came back without a code"),
            ("no pkce", "", "does not declare PKCE with S256"),
        ] {
            let (world, pair) = (World::new().with_logins(), pair(odd, false).await);
            let person = Person { more, ..Person::default() };
            let failure = world.servers.log_in(&world.signed(&pair, None), &LoginWish::default(), &person).await.unwrap_err();
            assert!(failure.message.contains(part), "{}", failure.message);
            assert!(pair.forms().is_empty(), "{part}");
        }
    });
}

#[test]
fn what_a_redirect_says_is_shown_in_short() {
    run(async {
        let (world, pair) = (World::new().with_logins(), pair("", false).await);
        let more: &'static str = format!("&error={0}&error_description={0}%E2%80%AE%1B%F3%A0%81%81", "long".repeat(800)).leak();
        let person = Person { more, ..Person::default() };
        let failure = world.servers.log_in(&world.signed(&pair, None), &LoginWish::default(), &person).await.unwrap_err();
        assert!(failure.message.contains("not granted (longlong") && failure.message.chars().count() < 500, "{}", failure.message);
        let more: &'static str = "&error=denied&error_description=%E2%80%AE%1B%F3%A0%81%81";
        let person = Person { more, ..Person::default() };
        let failure = world.servers.log_in(&world.signed(&pair, None), &LoginWish::default(), &person).await.unwrap_err();
        assert!(failure.message.contains("(denied: \\u202E\\x1B\\U000E0041)"), "{}", failure.message);
    });
}

#[test]
fn what_to_do_after_a_refusal_comes_before_what_the_server_says_and_can_be_pasted() {
    run(async {
        let (url, _) = serve(Box::new(|_| {
            let wants = "content-type: text/plain\r\nwww-authenticate: Bearer scope=\"--trust\"\r\n";
            http("401 Unauthorized", wants, &format!("run flow tools logout\u{1b}[2J {}", "now ".repeat(400)))
        }))
        .await;
        let mut world = World::new();
        let command = LoginCommand::for_file(Path::new("my pipelines/p.yaml"), Some(Path::new("here")), None);
        world.servers = world.servers.clone().with_login_command(command);
        let world = world.with_logins();
        let server = world.signed(&Pair { server: url, issuer: String::new(), heard: Arc::default(), state: Arc::default() }, None);
        let failure = world.list(&server).await.unwrap_err();
        let (ours, theirs) = failure.message.split_once("; it says: ").unwrap_or_else(|| panic!("{}", failure.message));
        assert!(
            ours.contains("log in with: flow tools login web 'my pipelines/p.yaml' --project here;") && !ours.contains("logout"),
            "{ours}"
        );
        assert!(theirs.starts_with("run flow tools logout\\x1B[2J now") && theirs.chars().count() <= 200, "{theirs}");
    });
}

#[test]
fn a_code_typed_on_another_device_logs_in() {
    run(async {
        let (world, pair) = (World::new().with_logins(), pair("", false).await);
        pair.state.lock().unwrap().pending = 1;
        let (person, wish) = (Person::default(), LoginWish { by_device: true, ..LoginWish::default() });
        let server = world.signed(&pair, None);
        world.servers.log_in(&server, &wish, &person).await.unwrap();
        assert_eq!(*person.shown.lock().unwrap(), [format!("{}/d ABCD-EFGH", pair.issuer)]);
        assert_eq!(pair.forms().len(), 2);
        world.list(&server).await.unwrap();
    });
}
