//! What stands between a run and the world when its traffic is kept, or answered from what was kept.

use std::sync::Arc;

use super::{
    AgentCall, AgentPrograms, HttpClient, HttpReply, HttpRequest, Mail, MailReceipt, MailSender, ModelClient, ModelReply, ModelRequest,
    Pending, ProgramCall, ProgramReply, Programs, Python, PythonCall, PythonReply, ResourceCall, ResourceReply, ServerCall, ServerReply,
    ToolList, ToolServer, ToolServers,
};
use crate::event::Event;

/// The tape of one run: every call to a model, over HTTP, to a tool server, every program and every mail passes it. A run has a tape of its own, since calls are known
/// by their number in the run. What a tape does not answer itself goes to the world.
pub trait Tape: Send + Sync {
    /// Sees each event before the calls that it tells of go out.
    fn watch(&self, event: &Event);

    /// Answers a call of a model, itself or by way of `live`.
    fn model(&self, _call: u64, request: ModelRequest, live: &Arc<dyn ModelClient>) -> Pending<ModelReply> {
        live.call(request)
    }

    /// Answers a prompt for a program that is an agent, itself or by way of `live`.
    fn agent(&self, _call: u64, prompt: AgentCall, live: &Arc<dyn AgentPrograms>) -> Pending<ModelReply> {
        live.ask(prompt)
    }

    /// Answers a request, itself or by way of `live`.
    fn http(&self, _call: u64, request: HttpRequest, live: &Arc<dyn HttpClient>) -> Pending<HttpReply> {
        live.send(request)
    }

    /// Answers which tools a server has, itself or by way of `live`.
    fn tools(&self, _call: u64, server: ToolServer, live: &Arc<dyn ToolServers>) -> Pending<ToolList> {
        live.list(server)
    }

    /// Answers a call of a server's tool, itself or by way of `live`.
    fn tool(&self, _call: u64, request: ServerCall, live: &Arc<dyn ToolServers>) -> Pending<ServerReply> {
        live.call(request)
    }

    /// Answers what a resource of a server holds, itself or by way of `live`.
    fn resource(&self, _call: u64, request: ResourceCall, live: &Arc<dyn ToolServers>) -> Pending<ResourceReply> {
        live.read(request)
    }

    /// Answers what code gives, itself or by way of `live`. Queries and files pass no tape.
    fn python(&self, _call: u64, code: PythonCall, live: &Arc<dyn Python>) -> Pending<PythonReply> {
        live.run(code)
    }

    /// Answers a program, itself or by way of `live`.
    fn program(&self, _call: u64, program: ProgramCall, live: &Arc<dyn Programs>) -> Pending<ProgramReply> {
        live.run(program)
    }

    /// Answers a mail with its id, itself or by way of `live`.
    fn mail(&self, _call: u64, mail: Mail, live: &Arc<dyn MailSender>) -> Pending<MailReceipt> {
        live.send(mail)
    }
}

/// No tape: all traffic goes to the world, and nothing is kept.
pub struct NoTape;

impl Tape for NoTape {
    fn watch(&self, _event: &Event) {}
}
