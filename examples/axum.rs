//! A pipeline behind an HTTP server: `POST /ask` with the inputs answers with the outputs. The program sends itself one request, and ends.
//!
//! `cargo run --example axum`

use std::error::Error;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use flow::runtime::{RunError, Runner, Workflow};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Each request is a run of its own. When the client goes away, axum drops this future, and with it the run is cancelled.
async fn ask(State(runner): State<Runner>, Json(inputs): Json<Value>) -> (StatusCode, Json<Value>) {
    match runner.run(inputs).outcome().await {
        Ok(outcome) if outcome.is_good() => (StatusCode::OK, Json(json!({ "run": outcome.run, "outputs": outcome.outputs }))),
        Ok(outcome) => (StatusCode::BAD_GATEWAY, Json(json!({ "run": outcome.run, "failure": outcome.failure }))),
        Err(error @ (RunError::Inputs(_) | RunError::Usage(_))) => (StatusCode::BAD_REQUEST, Json(json!({ "error": error.to_string() }))),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({ "error": error.to_string() }))),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Checked once, when the server starts.
    let runner = Workflow::check("pipelines/timesheet/pipeline.yaml")?.runner().channel("sms");
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move { axum::serve(listener, Router::new().route("/ask", post(ask)).with_state(runner)).await });

    let body = json!({ "message": "Check my timesheet" }).to_string();
    let mut client = TcpStream::connect(address).await?;
    let request = format!(
        "POST /ask HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    client.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    client.read_to_string(&mut answer).await?;
    server.abort();
    println!("{answer}");
    if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err("the request failed".into()) }
}
