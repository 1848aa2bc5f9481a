//! What the endpoint of a model wants beside the messages.

use crate::event::Failure;
use crate::model::{EndpointSettings, Model, Provider, Text};
use crate::parts::Requests;
use crate::port::{EndpointOptions, Secret};
use crate::state::NodeRef;

impl Requests<'_> {
    /// The address of an endpoint without what stands behind it, and what it wants beside the messages.
    pub(crate) fn endpoint_options(&self, at: NodeRef, model: &Model, address: &str) -> Result<(String, EndpointOptions), Failure> {
        let EndpointSettings { headers, query, reasoning, context, extra, omit } = &model.endpoint;
        let secrets = self.names().secret_names();
        let (base_url, own_query) = address.split_once('?').unwrap_or((address, ""));
        let header = |(name, text): &(String, Text)| Ok((name.clone(), Secret::new(self.names().fill_text_with(at, text, &secrets)?)));
        let own = Some(own_query.to_owned()).filter(|own| !own.is_empty());
        let options = EndpointOptions {
            service: if let Provider::Service(service) = model.provider { Some(service) } else { None },
            headers: headers.iter().map(header).collect::<Result<_, Failure>>()?,
            query: own.into_iter().chain(self.query_pairs(at, query, &secrets)?).collect::<Vec<_>>().join("&"),
            reasoning: *reasoning,
            context: *context,
            extra: extra.clone(),
            omit: omit.clone(),
        };
        Ok((base_url.trim_end_matches('/').to_owned(), options))
    }
}
