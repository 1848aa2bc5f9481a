// Drives the extension and the client library of VS Code that it ships, with a stand-in for the editor: a small `vscode` module. Real VS Code is not
// needed, and is not tested. `flow lsp` is real.
//
//     npm ci --prefix editors/vscode && node editors/vscode/test/drive.js PATH-OF-FLOW [FOLDER-OF-THE-EXTENSION]
"use strict";

const assert = require("node:assert/strict");
const child = require("node:child_process");
const Module = require("node:module");
const { mkdtempSync, rmSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join, resolve } = require("node:path");
const { pathToFileURL, fileURLToPath } = require("node:url");

const program = resolve(process.argv[2]);
const extensionFolder = resolve(process.argv[3] ?? join(__dirname, ".."));

// The stand-in.
class Disposable {
  constructor(call) { this.call = call; }
  dispose() { this.call?.(); }
  static from(...all) { return new Disposable(() => all.forEach((one) => one.dispose())); }
}
class EventEmitter {
  listeners = new Set();
  event = (listener, self, disposables) => {
    const own = self ? listener.bind(self) : listener;
    this.listeners.add(own);
    const done = new Disposable(() => this.listeners.delete(own));
    disposables?.push(done);
    return done;
  };
  fire(value) { return Promise.all([...this.listeners].map((listener) => listener(value))); }
  dispose() { this.listeners.clear(); }
}
class Uri {
  constructor(text) { this.text = text; this.scheme = text.split(":")[0]; this.path = new URL(text).pathname; this.fsPath = this.scheme === "file" ? fileURLToPath(text) : this.path; }
  toString() { return this.text; }
  static parse(text) { return new Uri(text); }
  static file(path) { return new Uri(pathToFileURL(path).href); }
}
class Position { constructor(line, character) { Object.assign(this, { line, character }); } }
class Range { constructor(start, end, line, character) { Object.assign(this, line === undefined ? { start, end } : { start: new Position(start, end), end: new Position(line, character) }); } }
class Diagnostic { constructor(range, message, severity) { Object.assign(this, { range, message, severity }); } }
class MarkdownString { constructor(value = "") { this.value = value; } appendMarkdown(text) { this.value += text; return this; } appendCodeblock(text) { this.value += text; return this; } }
class Hover { constructor(contents, range) { Object.assign(this, { contents: [contents].flat(), range }); } }
class CodeActionKind {
  constructor(value) { this.value = value; }
  append(part) { return new CodeActionKind(this.value ? `${this.value}.${part}` : part); }
  static Empty = new CodeActionKind("");
}
class CancellationError extends Error {}
class CancellationTokenSource {
  emitter = new EventEmitter();
  token = { isCancellationRequested: false, onCancellationRequested: this.emitter.event };
  cancel() { this.token.isCancellationRequested = true; this.emitter.fire(); }
  dispose() {}
}

const emitters = new Map();
const emitter = (name) => { if (!emitters.has(name)) emitters.set(name, new EventEmitter()); return emitters.get(name); };
/** Answers everything: an event by its name, anything else by the default. */
const answers = (own, other) => new Proxy(own, { get: (of, name) => (name in of ? of[name] : /^on(Did|Will)/.test(String(name)) ? emitter(name).event : other(name)) });
const settings = { path: program, codePages: "https://example.com/codes" };
const told = { errors: [], commands: new Map(), executed: [], providers: [], findings: new Map() };
const silent = { append() {}, appendLine() {}, show() {}, clear() {}, dispose() {}, replace() {}, info() {}, warn() {}, error() {}, trace() {}, debug() {} };
const collection = () => ({
  set: (uri, found) => { told.findings.set(String(uri), found); told.seen?.(String(uri), found); },
  delete: (uri) => told.findings.delete(String(uri)), clear: () => told.findings.clear(), dispose: () => told.findings.clear(), has: () => false, forEach() {},
});
const register = (name) => (...given) => { const entry = { name, given }; told.providers.push(entry); return new Disposable(() => told.providers.splice(told.providers.indexOf(entry), 1)); };
const nothing = class {};
const vscode = answers({
  version: "1.82.0", Disposable, EventEmitter, Uri, Position, Range, Diagnostic, MarkdownString, Hover, CodeActionKind, CancellationError, CancellationTokenSource,
  env: { appName: "a stand-in", language: "en", openExternal() {} },
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
  workspace: answers({ textDocuments: [], workspaceFolders: undefined, getConfiguration: () => ({ get: (key, other) => settings[key] ?? other }) }, () => () => new Disposable()),
  languages: answers({ createDiagnosticCollection: collection, match: (all, document) => [all].flat().some((one) => one.language === document.languageId && one.scheme === document.uri.scheme) ? 10 : 0 }, (name) => register(name)),
  window: answers({
    activeTextEditor: undefined, visibleTextEditors: [], tabGroups: answers({ all: [] }, () => undefined), createOutputChannel: () => silent,
    showErrorMessage: (text, ...choices) => { told.errors.push(text); return Promise.resolve(choices.find((choice) => choice === "Open Settings")); },
  }, () => () => Promise.resolve()),
  commands: {
    registerCommand: (name, call) => { told.commands.set(name, call); return new Disposable(() => told.commands.delete(name)); },
    executeCommand: (...given) => { told.executed.push(given); return Promise.resolve(); },
  },
}, () => nothing);
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

// Which servers run.
const servers = new Set();
const spawn = child.spawn;
child.spawn = (...given) => {
  const own = spawn(...given);
  if (own.pid) { servers.add(own.pid); own.on("exit", () => servers.delete(own.pid)); }
  return own;
};
const until = async (what, is) => { for (let i = 0; i < 1_000 && !is(); i += 1) await new Promise((done) => setTimeout(done, 10)); assert.ok(is(), what); };

const folder = mkdtempSync(join(tmpdir(), "flow-vscode-"));
const text = "flow: 1\nname: shop\nsteps:\n  - { id: s, set: 1 }\n  - { id: t, neds: [s], set: \"{{ steps.s.output }}\" }\n";
const document = (name, languageId) => ({
  uri: Uri.file(join(folder, "pipelines", name)), fileName: name, languageId, version: 1, isClosed: false, isDirty: false, lineCount: 5, getText: () => text,
});

async function main() {
  const { activate, deactivate } = require(extensionFolder);
  const context = { subscriptions: [] };
  await activate(context);
  assert.deepEqual([servers.size, told.errors], [1, []]);
  const yaml = document("shop.yaml", "yaml");
  vscode.workspace.textDocuments.push(yaml, document("shop.md", "markdown"));
  for (const one of vscode.workspace.textDocuments) emitter("onDidOpenTextDocument").fire(one);
  const findings = () => told.findings.get(yaml.uri.toString());
  await until("findings come", () => findings()?.length);
  const typo = findings().find((found) => found.message.includes("neds"));
  assert.deepEqual([typo.severity, typo.range.start.line], [0, 4]);
  assert.equal(String(typo.code.target), "https://example.com/codes/F002.md", "the setting codePages reaches the server");
  assert.equal(told.findings.size, 1, "a file of another language is not sent");
  const hover = told.providers.find((entry) => entry.name === "registerHoverProvider").given[1];
  const said = await hover.provideHover(yaml, new Position(3, 7), new CancellationTokenSource().token);
  assert.match(said.contents.map((part) => part.value).join(), /id/);

  const [first] = servers;
  await told.commands.get("flow.restart")();
  assert.ok(servers.size === 1 && !servers.has(first), "one server, another one");
  await until("findings come again", () => findings()?.length);

  settings.path = join(folder, "gone");
  await emitter("onDidChangeConfiguration").fire({ affectsConfiguration: (section) => section === "flow" });
  await until("no server is left", () => servers.size === 0);
  assert.ok(told.errors.some((error) => error.includes("Install flow, or set flow.path") && error.includes(settings.path)), told.errors.join("\n"));
  await until("the settings are opened", () => told.executed.some((given) => given[1] === "flow.path"));
  settings.path = program;
  await told.commands.get("flow.restart")();
  assert.equal(servers.size, 1);
  await deactivate();
  await until("the server ends with the extension", () => servers.size === 0);
  context.subscriptions.forEach((one) => one.dispose());
  assert.equal(told.commands.has("flow.restart"), false);
  console.log("the extension: starts flow lsp, shows findings and hovers, restarts, tells a missing program, ends");
}

main().then(() => rmSync(folder, { recursive: true }), (error) => { console.error(error); process.exit(1); });
