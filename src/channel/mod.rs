//! Text → parts for one channel, by the channel file's own limits and markup. Pure.
