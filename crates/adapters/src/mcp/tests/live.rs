//! Questions to a person in the middle of a call (`elicitation/create`, before 2026-07-28).

use super::web::{News, events, http, initialized, json_answer, serve_with, standing, tools};
use super::*;
use crate::event::{FailureKind, ServerQuestions};

impl World {
    /// The stand-in that asks, and its tools.
    async fn asking(&self) -> (ToolServer, ToolList) {
        let server = ToolServer { questions: true, ..self.program("live") };
        let list = self.list(&server).await.unwrap();
        (server, list)
    }

    /// What the server of a call asks.
    async fn asked(&self, call: &ServerCall) -> ServerQuestions {
        *self.servers.call(call.clone()).await.unwrap().asks.expect("a question")
    }

    /// The call again, with a person's answer to what its server asked.
    async fn answer(&self, call: &ServerCall, asks: &ServerQuestions, room: u64) -> Result<ServerReply, Failure> {
        let answer = json!({ "action": "accept", "content": { "room": room } });
        let answers = Map::from_iter([(asks.questions[0].id.clone(), answer)]);
        let answers = Some(ServerAnswers { answers, state: asks.state.clone() });
        self.servers.call(ServerCall { answers, ..call.clone() }).await
    }
}

#[test]
fn a_question_in_the_middle_of_a_call_is_answered_and_the_call_continues() {
    run(async {
        let world = World::new();
        let (server, list) = world.asking().await;
        let call = echo(&server, &list, "once", LONG);
        let asks = world.asked(&call).await;
        assert_eq!((asks.questions.len(), asks.questions[0].message.as_str()), (1, "Which room, once? (1)"));
        assert_eq!(asks.questions[0].fields["properties"]["room"]["type"], "integer");
        let reply = world.answer(&call, &asks, 7).await.unwrap();
        assert_eq!(reply.value, text("once: {\"action\":\"accept\",\"content\":{\"room\":7}}"));
        // It is made once, however often it asks.
        let call = echo(&server, &list, "twice", LONG);
        let asks = world.asked(&call).await;
        let again = *world.answer(&call, &asks, 1).await.unwrap().asks.unwrap();
        assert_eq!(again.questions[0].message, "Which room, twice? (2)");
        let reply = world.answer(&call, &again, 2).await.unwrap();
        assert_eq!(reply.value, text("twice: {\"action\":\"accept\",\"content\":{\"room\":2}}"));
        world.close().await;
        let heard = world.heard();
        assert_eq!(heard.iter().filter(|line| line.contains("tools/call")).count(), 2, "{heard:?}");
        let greeting = heard.iter().find(|line| line.contains("\"initialize\"")).unwrap();
        assert!(greeting.contains("\"elicitation\":{\"form\":{}"), "{greeting}");
        assert!(!heard.iter().any(|line| line.contains("cancelled")), "{heard:?}");
    });
}

#[test]
fn a_server_that_may_not_ask_is_not_told_that_it_may_and_is_rejected() {
    run(async {
        let world = World::new();
        let reply = world.echo(&world.program("live"), "once", LONG).await.unwrap();
        assert!(reply.value.as_str().unwrap().contains("does not answer requests"), "{}", reply.value);
        assert_eq!(reply.notes, ["it requested elicitation/create; rejected"]);
        world.close().await;
        assert!(!world.heard().iter().any(|line| line.contains("\"elicitation\"")), "{:?}", world.heard());
    });
}

#[test]
fn a_question_that_cannot_be_shown_is_rejected_and_the_call_continues() {
    run(async {
        let world = World::new();
        let (server, list) = world.asking().await;
        let reply = world.call(&server, &list, "badly", LONG).await.unwrap();
        assert!(reply.value.as_str().unwrap().contains("-32602") && reply.asks.is_none(), "{}", reply.value);
        assert!(reply.notes[0].starts_with("it requested elicitation/create; rejected: it asks a person with a form"), "{:?}", reply.notes);
        world.close().await;
    });
}

#[test]
fn a_server_that_does_not_wait_for_the_answer_has_its_result_taken() {
    run(async {
        let world = World::new();
        let (server, list) = world.asking().await;
        let call = echo(&server, &list, "gives_up", LONG);
        let reply = match world.servers.call(call.clone()).await.unwrap() {
            reply if reply.asks.is_none() => reply,
            asked => world.answer(&call, &asked.asks.unwrap(), 1).await.unwrap(),
        };
        assert_eq!(reply.value, text("nobody answered"));
        world.close().await;
    });
}

#[test]
fn a_parked_call_is_lost_with_its_server_its_process_or_for_another_run() {
    run(async {
        let world = World::new();
        let (server, list) = world.asking().await;
        let lost = |failure: Failure| {
            assert_eq!(failure.kind, FailureKind::UnknownOutcome, "{}", failure.message);
            failure.message
        };
        // The server ends while a person is asked; whoever calls it next finds a new one.
        let call = echo(&server, &list, "dies", LONG);
        let ended = match world.servers.call(call.clone()).await {
            Ok(reply) => world.answer(&call, &reply.asks.unwrap(), 1).await.unwrap_err(),
            Err(failure) => failure,
        };
        let told = lost(ended);
        assert!(told.contains("ended") || told.contains("closed its output"), "{told}");
        let call = echo(&server, &list, "once", LONG);
        // Until it is known to have ended, a call fails before it leaves.
        while world.servers.call(call.clone()).await.is_err_and(|failure| failure.kind == FailureKind::Connection) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let asks = world.asked(&call).await;
        let other = ServerCall { server: ToolServer { run: "r_2".into(), ..server.clone() }, ..call.clone() };
        assert!(lost(world.answer(&other, &asks, 1).await.unwrap_err()).contains("was lost"));
        let asks = world.asked(&call).await;
        world.close().await;
        assert!(lost(world.answer(&call, &asks, 1).await.unwrap_err()).contains("was lost"));
        // A server that ends in order is told that nobody answers any more.
        assert!(world.heard().iter().any(|line| line.contains("\"action\":\"cancel\"")), "{:?}", world.heard());
    });
}

#[test]
fn a_call_that_does_not_end_after_the_answer_is_cancelled_when_its_time_is_up() {
    run(async {
        let world = World::new();
        let (server, list) = world.asking().await;
        let call = echo(&server, &list, "slow", LONG);
        let asks = world.asked(&call).await;
        let failure = world.answer(&ServerCall { timeout: SHORT, ..call }, &asks, 1).await.unwrap_err();
        assert!(failure.kind == FailureKind::UnknownOutcome && failure.message.contains("no answer within"), "{}", failure.message);
        world.close().await;
        assert!(world.heard().iter().any(|line| line.contains("notifications/cancelled")), "{:?}", world.heard());
    });
}

#[test]
fn ten_calls_ask_at_once_and_each_has_its_own_answer() {
    run(async {
        let world = World::new();
        let (server, list) = world.asking().await;
        let calls: Vec<ServerCall> = (0..10).map(|n| echo(&server, &list, &format!("call {n}"), LONG)).collect();
        let asked = futures_util::future::join_all(calls.iter().map(|call| world.asked(call))).await;
        for (n, asks) in asked.iter().enumerate() {
            assert_eq!(asks.questions[0].message, format!("Which room, call {n}? (1)"));
        }
        // The last one is answered first, and all at once.
        let answers = calls.iter().zip(&asked).enumerate().rev().map(|(n, (call, asks))| world.answer(call, asks, n as u64));
        let replies = futures_util::future::join_all(answers).await;
        for (n, reply) in replies.into_iter().rev().enumerate() {
            let value = reply.unwrap().value;
            assert_eq!(value, text(&format!("call {n}: {{\"action\":\"accept\",\"content\":{{\"room\":{n}}}}}")));
        }
        world.close().await;
    });
}

#[test]
fn a_web_server_asks_in_the_stream_of_its_answer_which_stays_open_while_a_person_is_asked() {
    run(async {
        let news = News::default();
        let (mut call, own) = (Value::Null, news.clone());
        let answer = move |heard: &super::web::Heard| match (heard.body["method"].as_str(), &heard.body["id"]) {
            (Some("server/discover"), _) => http("400 Bad Request", "content-type: text/plain\r\n", "no session"),
            (Some("initialize"), id) => {
                let data = json!({ "jsonrpc": "2.0", "id": id, "result": initialized() });
                events(&format!("data: {data}\n\n")).replacen("\r\n", "\r\nmcp-session-id: s1\r\n", 1)
            }
            (Some("tools/list"), _) => json_answer(heard, &tools()),
            (Some("tools/call"), id) => {
                call = id.clone();
                let asks = json!({ "jsonrpc": "2.0", "id": 77, "method": "elicitation/create", "params": { "message": "Sure?" } });
                standing(&format!("data: {asks}\n\n"))
            }
            (None, id) if *id == 77 => {
                let told = json!({ "content": [{ "type": "text", "text": heard.body["result"].to_string() }] });
                own.say(&json!({ "jsonrpc": "2.0", "id": call, "result": told }));
                http("202 Accepted", "", "")
            }
            _ => http("202 Accepted", "", ""),
        };
        let (url, seen) = serve_with(Box::new(answer), news).await;
        let world = World::with(HttpSettings::default());
        let server = ToolServer { questions: true, ..world.web(&url) };
        let list = world.list(&server).await.unwrap();
        let call = echo(&server, &list, "x", LONG);
        let asks = world.asked(&call).await;
        assert_eq!(asks.questions[0].message, "Sure?");
        let decline = Map::from_iter([(asks.questions[0].id.clone(), json!({ "action": "decline" }))]);
        let answers = Some(ServerAnswers { answers: decline, state: asks.state });
        let reply = world.servers.call(ServerCall { answers, ..call.clone() }).await.unwrap();
        assert_eq!(reply.value, text("{\"action\":\"decline\"}"));
        // One that nobody answers is cancelled when the run ends.
        world.asked(&call).await;
        world.close().await;
        tokio::time::sleep(SHORT).await;
        let seen = seen.lock().unwrap();
        assert!(seen.iter().any(|heard| heard.body["result"]["action"] == "cancel"), "the question was withdrawn");
        assert_eq!(seen.iter().filter(|heard| heard.is("tools/call")).count(), 2);
    });
}
