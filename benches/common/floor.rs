//! The floor: a client written by hand, with no more than the work itself needs.

use std::sync::Arc;

use serde_json::{Value, json};

/// An HTTP client that trusts nobody, so that it reads no certificates from disk.
///
/// # Errors
/// A sentence of the library.
pub fn client() -> Result<reqwest::Client, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().map_err(|e| e.to_string())?;
    let tls = tls.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth();
    reqwest::Client::builder().no_proxy().tls_backend_preconfigured(tls).build().map_err(|e| e.to_string())
}

/// Asks a model and gives the text of its answer.
///
/// # Errors
/// A sentence of the library.
pub async fn ask(client: &reqwest::Client, base_url: &str, prompt: &str) -> Result<String, String> {
    let body = json!({ "model": "m", "stream": true, "messages": [{ "role": "user", "content": prompt }] }).to_string();
    let request = client.post(format!("{base_url}/chat/completions")).header("content-type", "application/json").body(body);
    let mut response = request.send().await.map_err(|e| e.to_string())?;
    let mut rest: Vec<u8> = vec![];
    let mut text = String::new();
    while let Some(bytes) = response.chunk().await.map_err(|e| e.to_string())? {
        rest.extend_from_slice(&bytes);
        while let Some(end) = rest.windows(2).position(|two| two == b"\n\n") {
            let event = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest.drain(..end + 2);
            let Some(data) = event.strip_prefix("data: ").filter(|data| *data != "[DONE]") else { continue };
            let chunk: Value = serde_json::from_str(data).map_err(|e| e.to_string())?;
            text.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
        }
    }
    Ok(text)
}
