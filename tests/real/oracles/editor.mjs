// Drives `flow lsp` with the client library that VS Code itself uses: every shipped file is opened and must be silent, a mistake is
// found, mended with the offered edit, and completion, hover and definition answer.
//
//     cd tests/real/oracles && npm ci && node editor.mjs ../../.. PATH-OF-FLOW
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import protocol from "vscode-languageserver-protocol/node.js";

const {
  createProtocolConnection, StreamMessageReader, StreamMessageWriter,
  InitializeRequest, InitializedNotification, ShutdownRequest, ExitNotification,
  DidOpenTextDocumentNotification, DidChangeTextDocumentNotification, PublishDiagnosticsNotification,
  CompletionRequest, HoverRequest, DefinitionRequest, CodeActionRequest,
} = protocol;

const root = resolve(process.argv[2]);
const server = spawn(resolve(process.argv[3]), ["lsp"], { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((done) => server.on("exit", done));
const connection = createProtocolConnection(new StreamMessageReader(server.stdout), new StreamMessageWriter(server.stdin));
const waiting = new Map();
connection.onNotification(PublishDiagnosticsNotification.type, ({ uri, version, diagnostics }) => {
  waiting.get(`${uri} ${version}`)?.(diagnostics);
});
connection.listen();

/** The findings of a version of a file, once they come. */
const findings = (uri, version) => new Promise((done) => waiting.set(`${uri} ${version}`, done));

const uriOf = (path) => pathToFileURL(path).href;
const open = (uri, text) => {
  const found = findings(uri, 1);
  connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument: { uri, languageId: "yaml", version: 1, text } });
  return found;
};

const { capabilities } = await connection.sendRequest(InitializeRequest.type, {
  processId: process.pid, rootUri: uriOf(root), capabilities: {}, workspaceFolders: null,
});
assert.equal(capabilities.positionEncoding, "utf-16");
await connection.sendNotification(InitializedNotification.type, {});

const yaml = (folder) => readdirSync(join(root, folder), { recursive: true }).filter((name) => name.endsWith(".yaml"));
let files = 0;
for (const folder of ["pipelines", "channels", "style_guides", "tests/golden"]) {
  for (const name of yaml(folder)) {
    const path = join(root, folder, name);
    const grave = (await open(uriOf(path), readFileSync(path, "utf8"))).filter((found) => found.severity < 3);
    assert.deepEqual(grave, [], path);
    files += 1;
  }
}
assert.ok(files > 8, `only ${files} files`);

const lines = [
  "flow: 1", "name: 😀", "inputs: { message: text }", "agents:", "  writer: { instructions: You write. }", "steps:",
  "  - { id: draft, agent: writer, promt: \"{{ inputs.message }}\" }", "outputs: { reply: \"{{ steps.draft.output }}\" }", "",
];
const uri = uriOf(join(root, "pipelines", "unsaved.yaml"));
const found = await open(uri, lines.join("\n"));
assert.deepEqual(found.map((one) => one.code).sort(), ["F002", "F011"]);
const typo = found.find((one) => one.code === "F002");
assert.deepEqual(typo.range, { start: { line: 6, character: 32 }, end: { line: 6, character: 37 } });
const [action] = await connection.sendRequest(CodeActionRequest.type, { textDocument: { uri }, range: typo.range, context: { diagnostics: [typo] } });
const [edit] = action.edit.changes[uri];
const mended = findings(uri, 2);
connection.sendNotification(DidChangeTextDocumentNotification.type, {
  textDocument: { uri, version: 2 },
  contentChanges: [
    { range: edit.range, text: edit.newText },
    { range: { start: { line: 1, character: 6 }, end: { line: 1, character: 8 } }, text: "hours" },
  ],
});
assert.deepEqual(await mended, []);

const position = { line: 6, character: 26 };
const items = await connection.sendRequest(CompletionRequest.type, { textDocument: { uri }, position });
assert.ok(items.some((item) => item.label === "writer"));
const hover = await connection.sendRequest(HoverRequest.type, { textDocument: { uri }, position });
assert.match(hover.contents.value, /You write/);
const goal = await connection.sendRequest(DefinitionRequest.type, { textDocument: { uri }, position });
assert.deepEqual([goal.uri, goal.range.start], [uri, { line: 4, character: 2 }]);

await connection.sendRequest(ShutdownRequest.type);
await connection.sendNotification(ExitNotification.type);
assert.equal(await ended, 0);
console.log(`the editor's client: ${files} shipped files are silent, and every request was answered`);
