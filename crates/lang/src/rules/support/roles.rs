//! Where what a text of a pipeline gives ends up, and the texts that read secrets.

use crate::model::{Authored, Pipeline, Read, Text, TextKey};

/// Where what a text gives ends up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rules) enum SinkRole {
    /// In what a model reads.
    Prompt,
    /// In the address of a request.
    Address,
    /// In headers, bodies and log-in data, which reach only the other side.
    Sealed,
    /// In a decision.
    Condition,
    /// In a log.
    Log,
    /// In a text for people, or the result.
    Output,
    /// In a value of the run's record.
    Record,
    /// In code.
    Code,
    /// Among the arguments of a program.
    CommandLine,
}

impl SinkRole {
    /// Of what is under a key; `None`: in no run, but in a reply that stands for a model's.
    fn of(key: TextKey) -> Option<SinkRole> {
        use TextKey::*;
        Some(match key {
            Instructions | Prompt | Attach | Feedback | GateValue | Accept => SinkRole::Prompt,
            BaseUrl | Url | Query | MailServer => SinkRole::Address,
            ModelName | ApiKey | Header | Body | Fixed | Sender | User | Password | ClientSecret | Env => SinkRole::Sealed,
            CriterionWhen | Check | CheckExpression | When | Route | CaseWhen | RoundUntil | WrittenScorecard | Until => {
                SinkRole::Condition
            }
            Name | IdempotencyKey | StopReason => SinkRole::Log,
            Format | Gate | Otherwise | Send | SendValue | Output => SinkRole::Output,
            FixedInput | PersonId | PersonField | ConversationId | ConversationMessage | ForEach | StepModel | Argument | Value | Wait
            | Questions | Code | Documents => SinkRole::Record,
            Sql => SinkRole::Code,
            ProgramArgument => SinkRole::CommandLine,
            Reply => return None,
        })
    }
}

/// Calls `visit` for every text and value of a pipeline, section by section.
pub(in crate::rules) fn parts<'p>(pipeline: &'p Pipeline, visit: &mut dyn FnMut(SinkRole, Authored<'p>)) {
    pipeline.each_text(&mut |authored| SinkRole::of(authored.key).into_iter().for_each(|role| visit(role, authored)));
}

/// Calls `visit` for every text of a pipeline.
pub(in crate::rules) fn texts<'p>(pipeline: &'p Pipeline, visit: &mut dyn FnMut(SinkRole, &'p Text)) {
    parts(pipeline, &mut |role, authored| authored.text().into_iter().for_each(|text| visit(role, text)));
}

/// All reads of secrets in a pipeline, each with what its text is for.
pub(in crate::rules) fn secret_reads(pipeline: &Pipeline) -> Vec<(SinkRole, &Read)> {
    let mut list = vec![];
    texts(pipeline, &mut |role, text| {
        let of_secrets = text.reads.iter().filter(|read| read.path.first().is_some_and(|name| name == "secrets"));
        list.extend(of_secrets.map(|read| (role, read)));
    });
    list
}
