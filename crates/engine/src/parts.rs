//! The parts of a run. What only reads it is a view of its [`Context`], cheap to make; what acts has the [`Run`].
//!
//! Those that act call each other in a circle (a step that a person decided about goes on, its call goes out, its reply starts other steps), so each
//! of them needs all that the others change. What the compiler keeps apart is what they change: the state, by its parts; the commands
//! ([`Outbox`](crate::outbox::Outbox)); the steps that continue ([`WokenSteps`](crate::outbox::WokenSteps)); the events, which [`Run::emit`] alone adds to.

use std::ops::{Deref, DerefMut};

use crate::{Context, Run};

/// Views of the context, each for one subject.
macro_rules! views {
    ($($(#[$doc:meta])* $name:ident $get:ident)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy)]
            pub(crate) struct $name<'c>(pub(crate) &'c Context);

            impl Deref for $name<'_> {
                type Target = Context;

                fn deref(&self) -> &Context {
                    self.0
                }
            }
        )*

        impl Context {
            $(
                pub(crate) fn $get(&self) -> $name<'_> {
                    $name(self)
                }
            )*
        }
    };
}

/// Parts that make events and commands.
macro_rules! actors {
    ($($(#[$doc:meta])* $name:ident $get:ident)*) => {
        $(
            $(#[$doc])*
            pub(crate) struct $name<'r>(pub(crate) &'r mut Run);

            impl Deref for $name<'_> {
                type Target = Run;

                fn deref(&self) -> &Run {
                    self.0
                }
            }

            impl DerefMut for $name<'_> {
                fn deref_mut(&mut self) -> &mut Run {
                    self.0
                }
            }
        )*

        impl Run {
            $(
                pub(crate) fn $get(&mut self) -> $name<'_> {
                    $name(self)
                }
            )*
        }
    };
}

views! {
    /// What templates of a step may name, and the values of these names.
    Names names
    /// The files and tables that a step reads, and how outputs tell them.
    Files files
    /// What steps and tools ask of the world, filled in.
    Requests requests
    /// What may start, try again or end, and with what.
    Schedule schedule
    /// Conversations with models: what they are asked, what it may cost, and what is told of it.
    Conversations conversations
    /// Plans that agents write.
    Plans plans
    /// Tasks and their tries.
    Tasks tasks
    /// Dialogues and their turns.
    Dialogues dialogues
    /// What gates ask, and the verdicts on the answers.
    Questions questions
    /// Who wrote a value, and who named a host.
    Origins origins
    /// Tools that agents may call, and the servers that have some.
    Toolbox toolbox
    /// What policies, people and secrets allow.
    Rules rules
}

actors! {
    /// Decides what starts next, and ends what is over.
    Scheduler scheduler
    /// Starts steps, does what they decide, and takes the replies to their calls.
    Steps steps
    /// Has conversations with models, and makes the calls that they request.
    Talks talks
    /// Lets requests out that rules and people allow.
    Gatekeeper gatekeeper
    /// Asks judges, and decides what follows from a gate that was not met.
    Judges judges
    /// Lists the tools of servers.
    Servers servers
}
