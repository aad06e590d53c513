import { jsonReport } from "../../draw/json.js";
import { alertBlocks, escapeMarkdown, factItem, markdownGrid } from "../../draw/markdown-text.js";
import { printableDocument } from "../../draw/printable-text.js";
import {
  type Fact,
  figure,
  type Grid,
  type Note,
  note,
  numberColumn,
  spared,
  type Tone,
  wordColumn,
} from "../../draw/report-parts.js";
import type { Screen } from "../../draw/screen.js";
import { indent } from "../../draw/terminal/terminal-grid.js";
import { alertLines, gridLines } from "../../draw/terminal/terminal-report.js";
import { factLines, joinBlocks, paint, paragraph } from "../../draw/terminal/terminal-text.js";
import { capital, counted, timeText } from "../../draw/words.js";
import type { ClaimVerdict, ExplainedAnswer, Explanation } from "../../explain/explanation.js";
import { figureText, intervalText } from "../../explain/figure-text.js";
import type { Question } from "../../explain/question.js";
import type { ExplanationFormat } from "../../settings/choices.js";
import { textFormatByExtension } from "../format-by-extension.js";

const formatOfExtension = { ".json": "json", ".md": "markdown", ".txt": "table" } as const;

/** The format that an `--output` path asks for by its extension. Throws a usage error where it names none. */
export function explanationFormatOfPath(path: string): ExplanationFormat {
  return textFormatByExtension(path, formatOfExtension, "an explanation has none");
}

/** What is shown of a question that is not asked. */
type Listed = Pick<Question, "name" | "title" | "claim" | "needs">;

/** The questions that can be asked. */
export function renderQuestions(
  questions: readonly Listed[],
  format: ExplanationFormat,
  screen: Screen,
): string {
  if (format === "json") {
    return jsonReport(questions.map(({ name, title, claim, needs }) => ({ name, title, claim, needs })));
  }
  if (format === "markdown") {
    return joinBlocks([
      ["## What pinbench explain answers"],
      questions.map(({ name, title }) => `- \`${name}\`: ${escapeMarkdown(title)}`),
    ]);
  }
  return joinBlocks([
    paragraph("What pinbench explain answers, by experiments on this machine", screen, {
      style: screen.chalk.bold,
    }),
    factLines(
      questions.map(({ name, title }): Fact => [name, title]),
      indent,
      screen,
    ),
    paragraph("Name the questions to have answered, or give --all: `pinbench explain why-pinned`.", screen),
  ]);
}

/** The whole text of an explanation in one format. The table is drawn for the screen. */
export function renderExplanation(
  explanation: Explanation,
  format: ExplanationFormat,
  screen: Screen,
): string {
  if (format === "json") return jsonReport(explanation);
  const printable = printableDocument(explanation);
  return format === "markdown" ? explanationMarkdown(printable) : explanationTable(printable, screen);
}

/** How a verdict is told. */
const verdictWords: Readonly<Record<ClaimVerdict, string>> = {
  true: "true here",
  "not here": "not here",
  "cannot be told": "cannot be told",
};

const toneOf = ({ verdict, failure }: ExplainedAnswer): Tone =>
  failure !== null ? "failure" : verdict === "cannot be told" ? "warning" : "plain";

function explanationTable(explanation: Explanation, screen: Screen): string {
  const { chalk } = screen;
  const { answers, tool } = explanation;
  return joinBlocks([
    [
      ...paragraph(`pinbench ${tool.version} explain`, screen, { style: chalk.bold }),
      ...alertLines(alertsOf(explanation), screen),
    ],
    factLines(factsOf(explanation), indent, screen),
    ...answers.flatMap((answer) => [
      paragraph(`${answer.question}: ${answer.title}`, screen, { style: chalk.bold }),
      factLines([["claim", answer.claim]], indent, screen),
      answer.figures.length === 0 ? [] : gridLines(figureGrid(answer), screen),
      [
        ...paragraph(capital(verdictLine(answer)), screen, {
          prefix: "=> ",
          style: (line) => chalk.bold(paint(line, toneOf(answer), screen)),
        }),
        ...answer.sentences.flatMap((sentence) => paragraph(sentence, screen, { prefix: indent })),
        ...factLines([["again", answer.command]], indent, screen),
      ],
    ]),
    overviewLines(answers, screen),
  ]);
}

/** What must be read before any answer. */
function alertsOf({ notice, asked, answers }: Explanation): Note[] {
  const isCutShort = answers.length < asked.length;
  return [
    ...(notice === null ? [] : [note(notice, "warning")]),
    ...(isCutShort
      ? [note(`interrupted: ${answers.length} of ${counted(asked.length, "question")} answered`, "warning")]
      : []),
  ];
}

/** All verdicts at a glance, where there are several; below them, for that is what a terminal shows. */
function overviewLines(answers: readonly ExplainedAnswer[], screen: Screen): string[] {
  if (answers.length < 2) return [];
  return [
    ...paragraph("In short", screen, { style: screen.chalk.bold }),
    ...factLines(
      answers.map(({ question, verdict }): Fact => [question, verdictWords[verdict]]),
      indent,
      screen,
    ),
  ];
}

/** The verdict on a claim, and on each of its parts. */
function verdictLine({ verdict, parts }: ExplainedAnswer): string {
  const told = verdictWords[verdict];
  if (parts.length === 0) return told;
  return `${told} (${parts.map((part) => `${part.name}: ${verdictWords[part.verdict]}`).join("; ")})`;
}

function figureGrid({ figures }: ExplainedAnswer): Grid {
  return {
    columns: [
      wordColumn("what was measured"),
      numberColumn("figure"),
      wordColumn("interval"),
      spared(numberColumn("samples"), 1),
    ],
    rows: figures.map((one) => [
      figure(one.name),
      figure(figureText(one)),
      figure(intervalText(one)),
      figure(one.samples === 0 ? "-" : String(one.samples)),
    ]),
  };
}

function factsOf({ host, devices, createdAt }: Explanation): Fact[] {
  return [
    ["Host", `${host}, ${timeText(createdAt)}`],
    ...devices.map(
      ({ ordinal, name }): Fact => [devices.length === 1 ? "Device" : `Device ${ordinal}`, name],
    ),
  ];
}

function explanationMarkdown(explanation: Explanation): string {
  const { answers, tool } = explanation;
  return joinBlocks([
    ["# What pinned memory does on this machine"],
    ...alertBlocks(alertsOf(explanation)),
    [
      `Measured by pinbench ${tool.version}: ${counted(answers.length, "claim")} of articles on pinned memory, each tried by an experiment. Figures are medians unless their names say otherwise, and the intervals are where they lie at 95 %.`,
    ],
    factsOf(explanation).map(factItem),
    answers.length < 2 ? [] : markdownGrid(overviewGrid(answers)),
    ...answers.flatMap((answer) => [
      [`## ${escapeMarkdown(capital(answer.title))}`],
      [`> ${escapeMarkdown(answer.claim)}`],
      [
        `**${escapeMarkdown(capital(verdictLine(answer)))}.** ${answer.sentences.map(escapeMarkdown).join(" ")}`,
      ],
      answer.figures.length === 0 ? [] : markdownGrid(figureGrid(answer)),
      ["The same again:"],
      ["```sh", answer.command, "```"],
    ]),
  ]);
}

/** All verdicts at a glance. */
function overviewGrid(answers: readonly ExplainedAnswer[]): Grid {
  return {
    columns: [wordColumn("question"), wordColumn("verdict")],
    rows: answers.map((answer) => [figure(answer.title), figure(verdictLine(answer))]),
  };
}
