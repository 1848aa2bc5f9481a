//! In which order the steps of a list may start, when nothing fails.

use super::{Block, Edge};

impl Block {
    /// Places by the wave in which they may start: those of the first wait for nothing, those of each later one only for earlier ones.
    /// A stand-in, which runs only if another step failed, stands one wave below that step.
    pub fn waves(&self) -> Vec<Vec<usize>> {
        let mut wave = vec![0usize; self.len()];
        let mut waits: Vec<usize> = (0..self.len()).map(|place| self.needs(place).len()).collect();
        let mut open: Vec<usize> = (0..self.len()).filter(|place| waits[*place] == 0).collect();
        while let Some(place) = open.pop() {
            for (below, _) in self.readers(place) {
                wave[*below] = wave[*below].max(wave[place] + 1);
                waits[*below] -= 1;
                if waits[*below] == 0 {
                    open.push(*below);
                }
            }
        }
        let mut waves = vec![vec![]; wave.iter().max().map_or(0, |last| last + 1)];
        wave.iter().enumerate().for_each(|(place, wave)| waves[*wave].push(place));
        waves.retain(|wave| !wave.is_empty());
        waves
    }

    /// Whether a step runs only if another one failed.
    pub fn is_stand_in(&self, place: usize) -> bool {
        self.needs(place).iter().any(|(_, edge)| *edge == Edge::Failure)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::check::check_file;
    use crate::port::MemoryFiles;

    #[test]
    fn steps_that_wait_for_nothing_open_are_in_one_wave_and_a_stand_in_is_below_its_step() {
        let files = MemoryFiles::from_iter([
            ("everything.yaml", include_str!("../../../../tests/draw/everything.yaml")),
            ("called.yaml", include_str!("../../../../tests/draw/called.yaml")),
        ]);
        let plan = check_file(Path::new("everything.yaml"), Path::new(""), &files).plan;
        let planned = &plan.pipelines[0];
        let main = planned.block(planned.main);
        let ids = |wave: &Vec<usize>| wave.iter().map(|place| planned.pipeline.steps[*place].id.as_str()).collect::<Vec<_>>().join(" ");
        let waves: Vec<String> = main.waves().iter().map(ids).collect();
        assert_eq!(waves, ["places rows", "guess", "kind", "inner", "write", "check", "keep say"]);
        assert!(main.is_stand_in(2) && !main.is_stand_in(1));
    }
}
