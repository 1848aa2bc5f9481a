//! Vectors of texts over HTTP: `POST {base_url}/embeddings`, OpenAI's format
//! (<https://platform.openai.com/docs/api-reference/embeddings>), which Ollama and most local servers speak, too.

use serde_json::{Value, json};

use super::super::http::{Http, HttpCall, HttpFault, connect_time, in_words};
use super::super::scrub::Scrub;
use super::ended::{error_complaint, error_in};
use super::{AnswerFault, dialect, joined, key_header, secrets, with_own, with_query};
use crate::event::Failure;
use crate::model::FailureKind;
use crate::port::{EmbedEndpoint, Embedded, Embedder, Pending, Secret};

/// The most numbers of a vector. The largest models in use have 4,096.
const MOST_DIMENSIONS: usize = 16_384;

/// Asks endpoints for vectors.
#[derive(Clone)]
pub struct HttpEmbedder {
    http: Http,
}

impl HttpEmbedder {
    /// Creates a client that uses these connections.
    pub fn new(http: Http) -> HttpEmbedder {
        HttpEmbedder { http }
    }
}

impl Embedder for HttpEmbedder {
    fn embed(&self, endpoint: EmbedEndpoint, texts: Vec<String>) -> Pending<Embedded> {
        let http = self.http.clone();
        Box::pin(async move {
            let scrub = http.scrub(secrets(&endpoint.api_key, &endpoint.endpoint));
            let too_slow = |_| {
                let message = format!("model {:?} gave no vectors within {}", endpoint.model, in_words(endpoint.timeout));
                scrub.failure(FailureKind::Timeout, message)
            };
            let asked = tokio::time::timeout(endpoint.timeout, ask(&http, &endpoint, &texts, &scrub));
            asked.await.map_err(too_slow)?.map_err(Failure::from)
        })
    }
}

async fn ask(http: &Http, endpoint: &EmbedEndpoint, texts: &[String], scrub: &Scrub) -> Result<Embedded, HttpFault> {
    let url = with_query(joined(&endpoint.base_url, "", "/embeddings"), &endpoint.endpoint.query);
    let family = dialect::family(&endpoint.base_url, endpoint.endpoint.service);
    let key = key_header(endpoint.api_key.as_ref(), family.and_then(|family| family.key_header.as_deref()));
    let accept = ("accept".to_owned(), Secret::new("application/json"));
    let body = json!({ "model": endpoint.model, "input": texts, "encoding_format": "float" });
    let call = HttpCall {
        method: "POST",
        url: &url,
        headers: with_own(key.into_iter().chain([accept]).collect(), &endpoint.endpoint.headers),
        body: Some(("application/json".to_owned(), body.to_string().into_bytes())),
        is_repeatable: true,
        connect_timeout: connect_time(endpoint.connect_timeout, endpoint.timeout),
        scrub,
    };
    let mut answer = http.send(call).await?;
    let complain = |(kind, what): AnswerFault, origin: &str| {
        HttpFault::after_sending(scrub.failure(kind, format!("{origin} {}", scrub.quote(&what, false))))
    };
    if answer.status() >= 300 || answer.content_type() != "application/json" {
        let message = format!("answered {} without JSON, which are no vectors; check base_url", answer.status());
        return Err(answer.fault(FailureKind::BadResponse, message));
    }
    let Some(value) = answer.json().await? else { return Err(answer.fault(FailureKind::BadResponse, "sent an empty answer")) };
    let read = if error_in(&value).is_none() { vectors(&value, texts.len()) } else { Err(error_complaint(&value, false)) };
    read.map_err(|complaint| complain(complaint, &answer.origin))
}

/// The vectors of an answer, in the order of the texts: each says its place.
fn vectors(answer: &Value, wanted: usize) -> Result<Embedded, AnswerFault> {
    let wrong = |what: String| (FailureKind::BadResponse, what);
    let list = answer["data"].as_array().ok_or_else(|| wrong("sent no list \"data\" of vectors; check base_url".to_owned()))?;
    if list.len() != wanted {
        return Err(wrong(format!("sent {} vectors for {wanted} texts", list.len())));
    }
    let mut found: Vec<Option<Vec<f32>>> = vec![None; wanted];
    let mut length = None;
    for (place, one) in list.iter().enumerate() {
        let numbers = one["embedding"].as_array().ok_or_else(|| wrong("sent a vector that is no list of numbers".to_owned()))?;
        if numbers.is_empty() || numbers.len() > MOST_DIMENSIONS || *length.get_or_insert(numbers.len()) != numbers.len() {
            return Err(wrong(format!("sent a vector of {} numbers", numbers.len())));
        }
        let vector: Option<Vec<f32>> = numbers.iter().map(|number| number.as_f64().map(|n| n as f32).filter(|n| n.is_finite())).collect();
        let vector = vector.ok_or_else(|| wrong("sent a vector that is no list of numbers".to_owned()))?;
        let index = one["index"].as_u64().map_or(place, |index| usize::try_from(index).unwrap_or(usize::MAX));
        match found.get_mut(index) {
            Some(slot @ None) => *slot = Some(vector),
            Some(Some(_)) | None => return Err(wrong(format!("sent a vector for text {index}, which is not one of {wanted}"))),
        }
    }
    let tokens = answer["usage"]["prompt_tokens"].as_u64().or(answer["usage"]["total_tokens"].as_u64()).unwrap_or(0);
    Ok(Embedded { vectors: found.into_iter().flatten().collect(), tokens })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(answer: &Value, wanted: usize) -> String {
        vectors(answer, wanted).unwrap_err().1
    }

    #[test]
    fn vectors_are_put_in_the_order_of_their_texts() {
        let answer = json!({
            "data": [{ "index": 1, "embedding": [0.0, 1.0] }, { "index": 0, "embedding": [1, 0] }],
            "usage": { "prompt_tokens": 7, "total_tokens": 9 },
        });
        let read = vectors(&answer, 2).unwrap();
        assert_eq!((read.vectors, read.tokens), (vec![vec![1.0, 0.0], vec![0.0, 1.0]], 7));
    }

    #[test]
    fn what_is_not_one_vector_for_each_text_is_told() {
        assert_eq!(told(&json!({}), 1), "sent no list \"data\" of vectors; check base_url");
        assert_eq!(told(&json!({ "data": [] }), 1), "sent 0 vectors for 1 texts");
        let two = |first: Value, second: Value| json!({ "data": [first, second] });
        let one = |index: u64, vector: Value| json!({ "index": index, "embedding": vector });
        assert_eq!(told(&two(one(0, json!([1])), one(0, json!([1]))), 2), "sent a vector for text 0, which is not one of 2");
        assert_eq!(told(&two(one(0, json!([1])), one(2, json!([1]))), 2), "sent a vector for text 2, which is not one of 2");
        assert_eq!(told(&two(one(0, json!([1])), one(1, json!([1, 2]))), 2), "sent a vector of 2 numbers");
        assert_eq!(told(&two(one(0, json!([])), one(1, json!([]))), 2), "sent a vector of 0 numbers");
        assert_eq!(told(&two(one(0, json!(["x"])), one(1, json!([1]))), 2), "sent a vector that is no list of numbers");
    }
}
