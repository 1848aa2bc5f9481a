// Starts `flow lsp` for YAML files and restarts it when asked to, or when its settings change.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

/** The running client. */
let client;
/** Starts and stops come one after the other. */
let turn = Promise.resolve();

const settings = () => vscode.workspace.getConfiguration("flow");

async function start() {
  const command = settings().get("path") || "flow";
  const codePages = settings().get("codePages");
  const server = { command, args: ["lsp"] };
  const own = new LanguageClient("flow", "flow", server, {
    documentSelector: [{ scheme: "file", language: "yaml" }],
    initializationOptions: codePages ? { codePages } : {},
  });
  try {
    await own.start();
    client = own;
  } catch (error) {
    missing(command, error);
    await own.dispose().catch(() => {});
  }
}

/** Tells why the program does not start, and where to say where it is. */
function missing(command, error) {
  const open = "Open Settings";
  const said = `flow: "${command} lsp" does not start. Install flow, or set flow.path to the program. (${(error && error.message) || error})`;
  // Not waited for: a message may stay open for as long as its reader likes.
  vscode.window.showErrorMessage(said, open).then((chosen) => {
    if (chosen === open) vscode.commands.executeCommand("workbench.action.openSettings", "flow.path");
  });
}

async function stop() {
  const own = client;
  client = undefined;
  if (own) await own.dispose().catch(() => {});
}

/** Stops the server, if it runs, and starts it again. */
function restart() {
  turn = turn.then(stop).then(start);
  return turn;
}

function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("flow.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => (change.affectsConfiguration("flow") ? restart() : undefined)),
  );
  return restart();
}

function deactivate() {
  turn = turn.then(stop);
  return turn;
}

module.exports = { activate, deactivate };
