//! `search`: finds pieces of documents; also as the tool of a knowledge.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::decision::{StepCall, StepDecision, Then};
use super::{Kind, wrong_answer_decision};
use crate::Context;
use crate::Unscripted;
use crate::command::{CallReply, CallRequest};
use crate::event::{Failure, FailureKind, SearchDetails};
use crate::model::{
    CALL_TIMEOUT, CONNECT_TIMEOUT, FOUND_PIECES, HostSource, Knowledge, MOST_FOUND, Provider, Retry, SEARCH_TIMEOUT, Sample, SearchStep,
    Step, Text,
};
use crate::parts::{Files, Requests};
use crate::port::{EmbedEndpoint, Embedding, FoundPieces, SearchRequest, Secret};
use crate::reach::Giver;
use crate::state::NodeRef;
use crate::words::{kind_of, ms};

/// The most characters of a question. Longer texts are no question, and no endpoint takes them.
const LONGEST_QUERY: usize = 10_000;

impl Kind for SearchStep {
    fn start(&self, context: &Context, at: NodeRef, step: &Step) -> Result<StepDecision, Failure> {
        let query = context.fill_text(at, &self.query)?;
        let (name, top) = (&self.knowledge.value, self.top.unwrap_or(FOUND_PIECES));
        let timeout = step.timeout.unwrap_or(SEARCH_TIMEOUT);
        let request = CallRequest::Search(context.requests().search(at, name, query.clone(), top, timeout)?);
        let shown = json!({ "search": name, "for": query, "top": top });
        let agent = context.rules().planner_of(at);
        Ok(StepCall { agent, ..StepCall::new("search", shown, request, ms(timeout)) }.into())
    }

    fn take(&self, _context: &Context, _at: NodeRef, reply: CallReply) -> Result<StepDecision, Failure> {
        match reply {
            CallReply::Found(found) => {
                let (output, details) = search_output(found)?;
                Ok(Then::Give(output, details).into())
            }
            _ => wrong_answer_decision(),
        }
    }
}

impl Requests<'_> {
    /// The request of a tool `handbook.search` with these arguments.
    pub(super) fn search_of_tool(
        &self,
        at: NodeRef,
        name: &str,
        with: &Map<String, Value>,
        timeout: Duration,
    ) -> Result<SearchRequest, Failure> {
        let query = with.get("query").and_then(Value::as_str).unwrap_or_default().to_owned();
        let top = match with.get("top").filter(|top| !top.is_null()) {
            None => FOUND_PIECES,
            Some(top) => top.as_u64().filter(|top| (1..=MOST_FOUND).contains(top)).ok_or_else(|| {
                Failure::new(FailureKind::BadRequest, format!("\"top\" must be a whole number from 1 to {MOST_FOUND}, found {top}"))
            })?,
        };
        self.search(at, name, query, top, timeout)
    }

    /// A search in the knowledge of that name.
    fn search(&self, at: NodeRef, name: &str, query: String, top: u64, timeout: Duration) -> Result<SearchRequest, Failure> {
        let missing = || Failure::new(FailureKind::Internal, format!("knowledge \"{name}\" not found"));
        let knowledge = self.tool(at, name)?.knowledge().ok_or_else(missing)?;
        if query.trim().is_empty() {
            return Err(Failure::new(FailureKind::BadRequest, "nothing is looked for: the question is empty"));
        }
        let length = query.chars().count();
        if length > LONGEST_QUERY {
            let message = format!("the question has {length} characters, more than {LONGEST_QUERY}; search for less");
            return Err(Failure::new(FailureKind::TooLarge, message));
        }
        let embed = if knowledge.search.needs_vectors() { Some(self.embedding(at, knowledge)?) } else { None };
        Ok(SearchRequest {
            knowledge: name.to_owned(),
            project: self.planned_of(at).pipeline.project.clone(),
            files: knowledge.files.iter().map(|file| file.value.clone()).collect(),
            given: self.files().documents_given(at, name, knowledge)?,
            run: self.id().to_owned(),
            mode: knowledge.search,
            embed,
            query,
            top,
            timeout,
            mask: None,
            listener: None,
        })
    }

    /// Who makes the vectors of a knowledge.
    fn embedding(&self, at: NodeRef, knowledge: &Knowledge) -> Result<Embedding, Failure> {
        let name = knowledge.embed.as_ref().map(|name| name.value.as_str()).unwrap_or_default();
        let unavailable = |message: String| Failure::new(FailureKind::Unavailable, message);
        let model = self.model(at, name).ok_or_else(|| unavailable(format!("model \"{name}\" not found; add it to models")))?;
        let preset = match &model.provider {
            Provider::Scripted(replies) => return Ok(Embedding::Scripted { meanings: replies.meanings.clone() }),
            Provider::Service(service) => service.preset(),
            Provider::Replay(_) | Provider::Program(_) | Provider::Tool(_) | Provider::Broken => {
                return Err(unavailable(format!("model \"{name}\" makes no vectors")));
            }
        };
        if let Unscripted::Recorded(_) = self.options.unscripted {
            return Err(unavailable(format!("recordings hold no vectors of model \"{name}\"; add a mock of this step")));
        }
        let secrets = self.names().secret_names();
        let text = |text: &Option<Text>| text.as_ref().map(|t| self.names().fill_text_with(at, t, &secrets)).transpose();
        let (base_url, host_from) = match &model.base_url {
            Some(own) => self.origins().address(at, own, Giver::NOBODY, &secrets)?,
            None => (preset.base_url.to_owned(), HostSource::File),
        };
        let (base_url, endpoint) = self.endpoint_options(at, model, &base_url)?;
        Ok(Embedding::Endpoint(EmbedEndpoint {
            base_url,
            endpoint: Box::new(endpoint),
            host_from,
            model: text(&model.model)?.unwrap_or_default(),
            api_key: text(&model.api_key)?.filter(|key| !key.is_empty()).map(Secret::new),
            timeout: model.timeout.unwrap_or(CALL_TIMEOUT),
            connect_timeout: CONNECT_TIMEOUT,
            retry: model.retry.clone().unwrap_or_else(Retry::of_model_calls),
        }))
    }
}

impl Files<'_> {
    /// The files that the run fills in; `None`: all are written out.
    fn documents_given(&self, at: NodeRef, name: &str, knowledge: &Knowledge) -> Result<Option<Vec<PathBuf>>, Failure> {
        let mut given = vec![];
        for text in &knowledge.given {
            let by_data = self.is_told_by_data(at, text);
            let paths = match self.fill(at, text)? {
                Value::Array(list) => list,
                // An input that may be left out.
                Value::Null => vec![],
                one => vec![one],
            };
            for path in &paths {
                let Some(path) = path.as_str().filter(|path| !path.is_empty()) else {
                    let found = if path.is_string() { "an empty text" } else { kind_of(path) };
                    let message = format!("the files of knowledge \"{name}\" must be a path or a list of paths, found {found}");
                    return Err(Failure::new(FailureKind::WrongType, message));
                };
                given.push(self.told_path(at, "search in", path, text.reads.is_empty(), by_data)?);
            }
        }
        Ok((!knowledge.given.is_empty()).then_some(given))
    }

    /// Whether data chose a file of this knowledge: a step, a model or a client.
    pub(crate) fn documents_told_by_data(&self, at: NodeRef, name: &str) -> bool {
        let given = self.tool(at, name).ok().and_then(|tool| tool.knowledge()).map(|knowledge| &knowledge.given);
        given.into_iter().flatten().any(|text| self.is_told_by_data(at, text))
    }

    fn is_told_by_data(&self, at: NodeRef, text: &Text) -> bool {
        self.origins().text_named_by(at, text, Giver::NOBODY) == HostSource::Data
    }
}

/// The output of a search, and its details.
pub(super) fn search_output(found: FoundPieces) -> Result<(Value, Option<Value>), Failure> {
    let FoundPieces { pieces, files, all_pieces, read, tokens, rebuilt, left_out } = found;
    let tokens = Some(tokens).filter(|tokens| *tokens > 0);
    let output = serde_json::to_value(pieces).map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
    let details = SearchDetails { files, pieces: all_pieces, read, tokens, rebuilt, left_out };
    Ok((output, Some(details.into_value())))
}
