import type { DocumentKind } from "../draw/document-kind.js";
import { escapeMarkdown } from "../draw/draw-markdown.js";
import { jsonReport } from "../draw/json.js";
import {
  type Block,
  environment,
  type Fact,
  facts,
  figure,
  type Grid,
  type Note,
  note,
  numberColumn,
  type Report,
  section,
  spared,
  summary,
  type Tone,
  tables,
  texts,
  wordColumn,
} from "../draw/report.js";
import type { Screen } from "../draw/screen.js";
import { indent } from "../draw/terminal/terminal-grid.js";
import { factLines, joinBlocks, paragraph } from "../draw/terminal/terminal-text.js";
import { capital, counted, listed, timeText } from "../draw/words.js";
import {
  type ClaimVerdict,
  type ExplainedAnswer,
  type Explanation,
  explanationSchema,
  type QuestionText,
} from "./explanation.js";
import { figureText, intervalText } from "./run-figures.js";

export const explanationKind: DocumentKind<Explanation> = {
  schema: explanationSchema,
  report: explanationReport,
};

export function renderQuestions(questions: readonly QuestionText[], format: string, screen: Screen): string {
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

const verdictWords: Readonly<Record<ClaimVerdict, string>> = {
  true: "true here",
  "not here": "not here",
  inconclusive: "inconclusive",
};

const toneOf = ({ verdict, failure }: ExplainedAnswer): Tone =>
  failure !== null ? "failure" : verdict === "inconclusive" ? "warning" : "plain";

function explanationReport(explanation: Explanation): Report {
  const { answers, tool, devices, createdAt } = explanation;
  const names = [...new Set(devices.map(({ name }) => name))];
  return {
    command: "explain",
    version: tool.version,
    hasTerms: false,
    name: `What pinned memory does: ${listed(names)}, ${timeText(createdAt)}`,
    blocks: [
      ...texts("alert", alertsOf(explanation)),
      environment(factsOf(explanation)),
      ...answers.map(answerSection),
      ...(answers.length < 2 ? [] : [summary("In short", [overview(answers)])]),
    ],
  };
}

function answerSection(answer: ExplainedAnswer): Block {
  const { question, title, claim, figures, sentences, command } = answer;
  return section(`${question}: ${title}`, [
    facts([["claim", claim]]),
    ...texts("answer", [note(capital(verdictLine(answer)), toneOf(answer))]),
    ...(figures.length === 0 ? [] : tables([figureGrid(answer)])),
    section(
      "",
      [
        ...texts(
          "note",
          sentences.map((sentence) => note(sentence)),
        ),
        facts([["again", command]]),
      ],
      true,
    ),
  ]);
}

function overview(answers: readonly ExplainedAnswer[]): Block {
  return facts(answers.map(({ question, verdict }): Fact => [question, verdictWords[verdict]]));
}

/** Alerts before any answer. */
function alertsOf({ notice, asked, answers }: Explanation): Note[] {
  const isCutShort = answers.length < asked.length;
  return [
    ...(notice === null ? [] : [note(notice, "warning")]),
    ...(isCutShort
      ? [note(`interrupted: ${answers.length} of ${counted(asked.length, "question")} answered`, "warning")]
      : []),
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
    name: "Figures",
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
