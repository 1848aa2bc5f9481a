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
    fn model(&self, call: u64, request: ModelRequest, live: &Arc<dyn ModelClient>) -> Pending<ModelReply>;

    /// Answers a prompt for a program that is an agent, itself or by way of `live`.
    fn agent(&self, call: u64, prompt: AgentCall, live: &Arc<dyn AgentPrograms>) -> Pending<ModelReply>;

    /// Answers a request, itself or by way of `live`.
    fn http(&self, call: u64, request: HttpRequest, live: &Arc<dyn HttpClient>) -> Pending<HttpReply>;

    /// Answers which tools a server has, itself or by way of `live`.
    fn tools(&self, call: u64, server: ToolServer, live: &Arc<dyn ToolServers>) -> Pending<ToolList>;

    /// Answers a call of a server's tool, itself or by way of `live`.
    fn tool(&self, call: u64, request: ServerCall, live: &Arc<dyn ToolServers>) -> Pending<ServerReply>;

    /// Answers what a resource of a server holds, itself or by way of `live`.
    fn resource(&self, call: u64, request: ResourceCall, live: &Arc<dyn ToolServers>) -> Pending<ResourceReply>;

    /// Answers what code gives, itself or by way of `live`. Queries and files pass no tape.
    fn python(&self, call: u64, code: PythonCall, live: &Arc<dyn Python>) -> Pending<PythonReply>;

    /// Answers a program, itself or by way of `live`.
    fn program(&self, call: u64, program: ProgramCall, live: &Arc<dyn Programs>) -> Pending<ProgramReply>;

    /// Answers a mail with its id, itself or by way of `live`.
    fn mail(&self, call: u64, mail: Mail, live: &Arc<dyn MailSender>) -> Pending<MailReceipt>;
}

/// No tape: all traffic goes to the world, and nothing is kept.
pub struct NoTape;

impl Tape for NoTape {
    fn watch(&self, _event: &Event) {}

    fn model(&self, _call: u64, request: ModelRequest, live: &Arc<dyn ModelClient>) -> Pending<ModelReply> {
        live.call(request)
    }

    fn agent(&self, _call: u64, prompt: AgentCall, live: &Arc<dyn AgentPrograms>) -> Pending<ModelReply> {
        live.ask(prompt)
    }

    fn http(&self, _call: u64, request: HttpRequest, live: &Arc<dyn HttpClient>) -> Pending<HttpReply> {
        live.send(request)
    }

    fn tools(&self, _call: u64, server: ToolServer, live: &Arc<dyn ToolServers>) -> Pending<ToolList> {
        live.list(server)
    }

    fn tool(&self, _call: u64, request: ServerCall, live: &Arc<dyn ToolServers>) -> Pending<ServerReply> {
        live.call(request)
    }

    fn resource(&self, _call: u64, request: ResourceCall, live: &Arc<dyn ToolServers>) -> Pending<ResourceReply> {
        live.read(request)
    }

    fn python(&self, _call: u64, code: PythonCall, live: &Arc<dyn Python>) -> Pending<PythonReply> {
        live.run(code)
    }

    fn program(&self, _call: u64, program: ProgramCall, live: &Arc<dyn Programs>) -> Pending<ProgramReply> {
        live.run(program)
    }

    fn mail(&self, _call: u64, mail: Mail, live: &Arc<dyn MailSender>) -> Pending<MailReceipt> {
        live.send(mail)
    }
}
