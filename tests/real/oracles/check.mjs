// Reads every golden card and every golden Markdown text with other people's libraries, and fails when they see anything else than
// what was meant. First it reads broken ones and fails unless each is refused.
//
//     cd tests/real/oracles && npm ci && npm run check
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import adaptive from "adaptivecards/dist/adaptivecards.min.js";
import { Parser } from "commonmark";
import MarkdownIt from "markdown-it";

const { AdaptiveCard, SerializationContext, ValidationEvent, ValidationPhase } = adaptive;
// Raw HTML is read as such, so that it can be refused.
const markdown = new MarkdownIt({ html: true });
// As the card library does by itself.
const cardMarkdown = new MarkdownIt();

// What the card library leaves out when it writes a card, since it is the default.
const DEFAULTS = { Table: { firstRowAsHeader: true } };

/** What the card library says about a card, and what it could not read of it. */
function cardProblems(card) {
  const context = new SerializationContext();
  const read = new AdaptiveCard();
  read.parse(card, context);
  const events = Array.from({ length: context.eventCount }, (_, index) => context.getEventAt(index));
  const problems = [...events, ...read.validateProperties().validationEvents].map(
    (event) => `${ValidationPhase[event.phase]}, ${ValidationEvent[event.event]}: ${event.message}`,
  );
  const again = read.toJSON(new SerializationContext());
  return [...problems, ...differences(withoutDefaults(card), again, "card"), ...textProblems(card)];
}

/** Texts of a card that would be read as something else than paragraphs and lists; in the cell of a table, than a paragraph. */
function textProblems(value, isCell = false) {
  if (value === null || typeof value !== "object") return [];
  const inside = Object.values(value).flatMap((held) => textProblems(held, isCell || value.type === "TableCell"));
  if (value.type !== "TextBlock" || typeof value.text !== "string") return inside;
  const allowed = isCell ? /^(paragraph_|inline$)/ : /^(paragraph_|inline$|(bullet|ordered)_list_|list_item_)/;
  const others = cardMarkdown.parse(value.text, {}).filter((token) => !allowed.test(token.type));
  return others.slice(0, 1).map((token) => `${JSON.stringify(value.text)} is read as ${token.type}`);
}

function withoutDefaults(value) {
  if (Array.isArray(value)) return value.map(withoutDefaults);
  if (value === null || typeof value !== "object") return value;
  const defaults = DEFAULTS[value.type] ?? {};
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, held]) => defaults[key] !== held)
      .map(([key, held]) => [key, withoutDefaults(held)]),
  );
}

/** Where what was sent is not what the library made of it: it ignores what it does not know. */
function differences(sent, read, path) {
  if (isDeepStrictEqual(sent, read)) return [];
  const isObject = (value) => value !== null && typeof value === "object";
  if (!isObject(sent) || !isObject(read)) return [`${path}: ${shown(sent)} is read as ${shown(read)}`];
  const keys = [...new Set([...Object.keys(sent), ...Object.keys(read)])];
  return keys.flatMap((key) => differences(sent[key], read[key], `${path}.${key}`));
}

/** A value on one line, cut where it is long. */
function shown(value) {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

/** Headings and tables of a Markdown text, as markdown-it sees them, and what must not be in it. */
function structure(text) {
  const problems = [];
  const headings = [];
  const tables = [];
  const tokens = markdown.parse(text, {});
  tokens.forEach((token, index) => {
    const inline = () => plain(tokens[index + 1]);
    if (token.type === "heading_open") headings.push(inline());
    else if (token.type === "table_open") tables.push([]);
    else if (token.type === "tr_open") tables.at(-1).push([]);
    else if (token.type === "th_open" || token.type === "td_open") tables.at(-1).at(-1).push(inline());
    for (const part of [token, ...(token.children ?? [])]) {
      if (["html_block", "html_inline", "image"].includes(part.type)) problems.push(`markdown-it sees ${part.type}: ${part.content}`);
    }
  });
  const walker = new Parser().parse(text).walker();
  for (let step = walker.next(); step; step = walker.next()) {
    const { type, literal } = step.node;
    if (step.entering && ["html_block", "html_inline", "image"].includes(type)) problems.push(`commonmark sees ${type}: ${literal ?? ""}`);
  }
  return { headings, tables, problems };
}

/** The words of an inline token, without its marks. */
function plain(inline) {
  const text = (part) => (part.type === "text" || part.type === "code_inline" ? part.content : part.type.endsWith("break") ? " " : "");
  return inline.children.map(text).join("");
}

/** The lines of a text that are meant as headings and as the rule below the head of a table. */
function meant(text) {
  const lines = text.split("\n");
  return {
    headings: lines.filter((line) => /^#{1,6} /.test(line)).map((line) => line.replace(/^#+ /, "")),
    tables: lines.filter((line) => /^\|( --- \|)+$/.test(line)).length,
  };
}

/** What is wrong with a Markdown text. `card`: the same reply as a card, if there is one; both must hold the same headings and tables. */
function markdownProblems(text, card) {
  const { headings, tables, problems } = structure(text);
  const expected = meant(text);
  if (headings.length !== expected.headings.length) {
    problems.push(`${expected.headings.length} headings are written, and read as ${JSON.stringify(headings)}`);
  }
  if (tables.length !== expected.tables) problems.push(`${expected.tables} tables are written, and ${tables.length} are read`);
  if (card) {
    const words = (block) => plain(cardMarkdown.parseInline(block.text, {})[0]);
    const body = card.body ?? [];
    const ofCard = {
      headings: body.filter((block) => block.type === "TextBlock" && block.weight === "Bolder").map(words),
      tables: body.filter((block) => block.type === "Table").map((table) => table.rows.map((row) => row.cells.map((cell) => words(cell.items[0])))),
    };
    problems.push(...differences(ofCard, { headings, tables }, "the card of the same reply"));
  }
  return problems;
}

/** The parts of a golden, without the lines between them. */
function parts(golden) {
  const isMark = (line) => /^--- (part \d+ of \d+|sent by \S+ to \S+) ---$/.test(line);
  const found = [[]];
  for (const line of golden.replace(/\n$/, "").split("\n")) {
    if (isMark(line)) found.push([]);
    else found.at(-1).push(line.replace(/^\\(?=\\*--- )/, ""));
  }
  return found.map((lines) => lines.join("\n")).filter((part) => part !== "");
}

function files(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

const isOutputs = (path) => /(^|\.)outputs\.json$/.test(basename(path));
const cardsOf = (path) => parts(readFileSync(path, "utf8")).map((part) => JSON.parse(part));

/** Reads all goldens below a folder: how many, and what is wrong. */
function check(folder) {
  const problems = [];
  let cards = 0;
  let texts = 0;
  const all = files(folder);
  const note = (path, found) => problems.push(...found.map((problem) => `${path}: ${problem}`));
  for (const path of all.filter((path) => path.endsWith(".json") && !isOutputs(path))) {
    for (const card of cardsOf(path)) {
      cards += 1;
      note(path, cardProblems(card));
    }
  }
  for (const path of all.filter((path) => path.endsWith(".md"))) {
    const sibling = all.find((other) => dirname(other) === dirname(path) && other.endsWith(".json") && !isOutputs(other));
    const found = parts(readFileSync(path, "utf8"));
    const siblings = sibling ? cardsOf(sibling) : [];
    const same = found.length === 1 && siblings.length === 1 ? siblings[0] : undefined;
    for (const text of found) {
      texts += 1;
      note(path, markdownProblems(text, same));
    }
  }
  return { cards, texts, problems };
}

/** Broken cards and texts, each of which must be refused, and good ones, which must not. */
function selfTest() {
  const text = (more) => ({ type: "TextBlock", text: "Hello", wrap: true, ...more });
  const card = (body, more) => ({ type: "AdaptiveCard", $schema: "http://adaptivecards.io/schemas/adaptive-card.json", version: "1.5", body, ...more });
  const table = (cell) => ({ type: "Table", firstRowAsHeader: true, columns: [{ width: 1 }], rows: [{ type: "TableRow", cells: [cell] }] });
  const good = "## Week\n\n| Day | Hours |\n| --- | --- |\n| Mon \\| Tue | \\<b> |";
  const goodCard = card([
    text({ text: "Week", weight: "Bolder" }),
    { ...table(), rows: [["Day", "Hours"], ["Mon | Tue", "\\<b>"]].map((row) => ({ type: "TableRow", cells: row.map((cell) => ({ type: "TableCell", items: [text({ text: cell })] })) })) },
  ]);
  const brokenCards = [
    card([text({ type: "Textblock" })]),
    card([text({ weight: "Heavy" })]),
    card([text({ text: 5 })]),
    card([text({ wrapp: true })]),
    card([table(text())]),
    card({}),
    card([text({ text: "# Week" })]),
    card([{ ...table({ type: "TableCell", items: [text({ text: "- Mon" })] }) }]),
    card([], { type: "Card" }),
    card([], { version: "9.9" }),
  ];
  const brokenTexts = [
    ["<b>bold</b>"],
    ["a <br> b"],
    ["<script>\nx\n</script>"],
    ["![x](https://a.example/x.png)"],
    ["#Week\n\n## Day #", card([])],
    [good.replace("## ", "##"), goodCard],
    [good.replace("\\|", "|"), goodCard],
    [good.replace("| --- | --- |", "| --- |"), goodCard],
    [good.replace("Mon", "Tue"), goodCard],
    ["text\n\n```\n## Week\n```"],
  ];
  const wrong = [];
  if (cardProblems(goodCard).length > 0) wrong.push(`a good card is refused: ${cardProblems(goodCard)}`);
  if (markdownProblems(good, goodCard).length > 0) wrong.push(`a good text is refused: ${markdownProblems(good, goodCard)}`);
  brokenCards.forEach((broken) => cardProblems(broken).length === 0 && wrong.push(`a broken card is taken: ${JSON.stringify(broken)}`));
  brokenTexts.forEach(([broken, card]) => markdownProblems(broken, card).length === 0 && wrong.push(`a broken text is taken: ${broken}`));
  return { wrong, count: brokenCards.length + brokenTexts.length };
}

const folder = process.argv[2];
if (!folder) {
  console.error("name the folder of the goldens");
  process.exit(2);
}
const { wrong, count } = selfTest();
const { cards, texts, problems } = check(folder);
const nothing = [["card", cards], ["Markdown text", texts]].filter(([, looked]) => looked === 0).map(([what]) => `no ${what} in ${folder}`);
for (const line of [...wrong, ...problems, ...nothing]) console.error(line);
console.log(`${count} broken examples refused; ${cards} cards and ${texts} Markdown texts read`);
process.exit(wrong.length + problems.length + nothing.length > 0 ? 1 : 0);
