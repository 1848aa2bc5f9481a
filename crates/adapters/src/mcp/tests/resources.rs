//! What a server has to read.

use super::*;
use crate::model::FailureKind;
use crate::port::{ResourceCall, ResourceFile, ResourceReply};

impl World {
    async fn read(&self, server: &ToolServer, uri: &str, timeout: Duration) -> Result<ResourceReply, Failure> {
        self.servers.read(ResourceCall { server: server.clone(), uri: uri.to_owned(), timeout, trace: None }).await
    }
}

#[test]
fn a_server_without_tools_is_read_and_what_it_has_is_shown() {
    run(async {
        let world = World::new();
        let server = world.program("reads");
        assert_eq!(world.read(&server, "a:text", LONG).await.unwrap().text, "This is a:text.");
        assert_eq!(world.read(&server, "a:two", LONG).await.unwrap().text, "One.\n[b:2, 3 bytes]");
        let look = world.servers.look(&server).await.unwrap();
        assert_eq!((look.resources, look.tools), (vec!["a:text".to_owned(), "a:two".to_owned()], vec![]));
        assert!(world.heard().iter().all(|line| !line.contains("tools/list")), "{:?}", world.heard());
        world.close().await;
    });
}

#[test]
fn a_reading_that_fails_says_why_and_is_never_in_doubt() {
    run(async {
        let world = World::new();
        let server = world.program("reads");
        for (uri, time, kind, words) in [
            ("a:none", LONG, FailureKind::BadResponse, "its answer is empty"),
            ("a:wrong", LONG, FailureKind::BadResponse, "its answer has no contents"),
            ("a:hollow", LONG, FailureKind::BadResponse, "neither a text nor a file"),
            ("a:asks", LONG, FailureKind::Refused, "asks a question"),
            ("a:late", SHORT, FailureKind::Timeout, "no answer within"),
            ("a:big", LONG, FailureKind::TooLarge, "bytes"),
        ] {
            let failure = world.read(&server, uri, time).await.unwrap_err();
            assert!(failure.kind == kind && failure.message.contains(words) && failure.message.contains("\"reads\""), "{uri}: {failure:?}");
        }
        let failure = world.read(&world.program("fine"), "a:text", LONG).await.unwrap_err();
        assert!(failure.kind == FailureKind::BadRequest && failure.message.contains("it gives no resources"), "{failure:?}");
        let list = world.list(&server).await.unwrap();
        assert!(list.tools.is_empty(), "{list:?}");
        world.close().await;
    });
}

#[test]
fn content_that_is_no_text_is_kept_by_what_it_is() {
    run(async {
        let world = World::new();
        let csv = world.read(&world.program("reads"), "a:csv", LONG).await.unwrap().file.unwrap();
        let path = world.servers.keep(csv).await.unwrap();
        assert_eq!((path.extension().unwrap().to_str(), std::fs::read(&path).unwrap()), (Some("csv"), b"a,b\n1,2\n".to_vec()));
        let keep = |media_type: &str, content: &str| {
            world.servers.keep(ResourceFile { media_type: media_type.to_owned(), content: content.to_owned() })
        };
        // A picture is one by its content, whatever the server calls it; of the rest the content says what it is, too.
        assert_eq!(keep("text/csv", "R0lGODlhAQABAAAAACw=").await.unwrap().extension().unwrap(), "gif");
        assert_eq!(keep("../../x", "AAEC").await.unwrap().extension(), None);
        let failure = keep("image/png", "no base64!").await.unwrap_err();
        assert!(failure.kind == FailureKind::BadResponse && failure.message.contains("is no base64"), "{failure:?}");
        world.close().await;
    });
}
