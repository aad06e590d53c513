import type { DocumentKind } from "../draw/document-kind.js";
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
  type Tone,
  tables,
  texts,
  wordColumn,
} from "../draw/report.js";
import type { Screen } from "../draw/screen.js";
import { indent } from "../draw/terminal/terminal-grid.js";
import { factLines, joinBlocks, paragraph } from "../draw/terminal/terminal-text.js";
import { capital, counted, listed, timeText } from "../draw/words.js";
import { groupBy } from "../stats/group-by.js";
import { type ExplainedAnswer, type Explanation, explanationSchema } from "./explanation.js";
import type { Question } from "./question.js";
import { figureText, intervalText } from "./run-figures.js";

export const explanationKind: DocumentKind<Explanation> = {
  schema: explanationSchema,
  report: explanationReport,
};

export function renderQuestions(
  questions: readonly Omit<Question, "answer">[],
  format: string,
  screen: Screen,
): string {
  if (format === "json") {
    return jsonReport(questions.map(({ name, title, claim, needs }) => ({ name, title, claim, needs })));
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

const wordsOf = (verdict: string) => (verdict === "true" ? "true here" : verdict);

const toneOf = ({ verdict, failure }: ExplainedAnswer): Tone =>
  failure !== null ? "failure" : verdict === "true" || verdict === "not here" ? "plain" : "warning";

function explanationReport(explanation: Explanation): Report {
  const { answers, tool, devices, createdAt } = explanation;
  const names = [...new Set(devices.map(({ name }) => name))];
  const isOne = answers.length < 2;
  // A page shows blocks that are in both views only once.
  const verdicts = isOne ? [] : [...texts("answer", summary(answers)), ...tables([overview(answers)])];
  const beginning = [...texts("alert", alertsOf(explanation)), ...verdicts];
  return {
    command: "explain",
    version: tool.version,
    hasTerms: false,
    name: `What pinned memory does: ${listed(names)}, ${timeText(createdAt)}`,
    brief: {
      blocks: isOne ? [...beginning, ...answers.flatMap(answerBlocks)] : beginning,
      leavesOut: isOne ? "the machine's facts" : "all figures",
    },
    blocks: [
      ...beginning,
      environment(factsOf(explanation)),
      ...answers.map((answer) => section(`${answer.question}: ${answer.title}`, answerBlocks(answer))),
    ],
  };
}

function answerBlocks(answer: ExplainedAnswer): Block[] {
  const { verdict, summary, claim, figures } = answer;
  return [
    facts([["claim", claim]]),
    ...texts("answer", [note(`${capital(wordsOf(verdict))}: ${summary}`, toneOf(answer))]),
    ...(figures.length === 0 ? [] : tables([figureGrid(answer)])),
  ];
}

/** The number of each verdict, and what is missing for the questions that were not run. */
function summary(answers: readonly ExplainedAnswer[]): Note[] {
  const counts = [...groupBy(answers, ({ verdict }) => verdict)].map(
    ([verdict, { length }]) => `${length} ${wordsOf(verdict)}`,
  );
  const notRun = groupBy(
    answers.filter(({ verdict }) => verdict === "not run"),
    ({ summary }) => summary,
  );
  const lacks = [...notRun].map(([lack, { length }]) => note(`${length} not run: ${lack}`, "warning"));
  return [note(`Of ${counted(answers.length, "claim")}: ${counts.join(", ")}.`), ...lacks];
}

function overview(answers: readonly ExplainedAnswer[]): Grid {
  return {
    name: "Questions",
    columns: [wordColumn("question"), wordColumn("answer")],
    rows: answers.map((answer) => [
      figure(capital(answer.title)),
      figure(wordsOf(answer.verdict), "", toneOf(answer)),
    ]),
  };
}

function alertsOf({ notice, asked, answers }: Explanation): Note[] {
  const isCutShort = answers.length < asked.length;
  return [
    ...(notice === null ? [] : [note(notice, "warning")]),
    ...(isCutShort
      ? [note(`interrupted: ${answers.length} of ${counted(asked.length, "question")} answered`, "warning")]
      : []),
  ];
}

function figureGrid({ figures }: ExplainedAnswer): Grid {
  return {
    name: "Figures",
    columns: [wordColumn("what was measured"), numberColumn("figure"), wordColumn("interval")],
    rows: figures.map((one) => [figure(one.name), figure(figureText(one)), figure(intervalText(one))]),
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
