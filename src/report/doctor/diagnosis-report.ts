import type { Diagnosis, Finding } from "../../doctor/diagnosis.js";
import { jsonReport } from "../../draw/json.js";
import { alertBlocks, escapeMarkdown, factItem, markdownGrid } from "../../draw/markdown-text.js";
import { formatGBps, formatWholeShare } from "../../draw/numbers.js";
import { printableDocument } from "../../draw/printable-text.js";
import {
  type Fact,
  type Figure,
  figure,
  type Grid,
  note,
  numberColumn,
  spared,
  type Tone,
  wordColumn,
} from "../../draw/report-parts.js";
import type { Screen } from "../../draw/screen.js";
import { indent } from "../../draw/terminal/terminal-grid.js";
import { alertLines, gridLines } from "../../draw/terminal/terminal-report.js";
import { factLines, joinBlocks, paint, paragraph, shownText } from "../../draw/terminal/terminal-text.js";
import type { DiagnosisFormat } from "../../settings/choices.js";
import { formatSize } from "../../settings/units.js";
import { textFormatByExtension } from "../format-by-extension.js";
import { directionName } from "../wording.js";

const formatOfExtension = { ".json": "json", ".md": "markdown", ".txt": "table" } as const;

/** The format that an `--output` path asks for by its extension. Throws a usage error where it names none. */
export function diagnosisFormatOfPath(path: string): DiagnosisFormat {
  return textFormatByExtension(path, formatOfExtension, "a diagnosis has none");
}

/** The whole text of a diagnosis in one format. The table is drawn for the screen. */
export function renderDiagnosis(diagnosis: Diagnosis, format: DiagnosisFormat, screen: Screen): string {
  return renderers[format](format === "json" ? diagnosis : printableDocument(diagnosis), screen);
}

const renderers: Readonly<Record<DiagnosisFormat, (diagnosis: Diagnosis, screen: Screen) => string>> = {
  table: diagnosisTable,
  json: jsonReport,
  markdown: diagnosisMarkdown,
  nhc: healthCheckLine,
};

/** What the findings of a weight are called together. */
const titles: Readonly<Record<Finding["weight"], string>> = {
  costs: "What costs bandwidth",
  risk: "What may cost bandwidth at other sizes, or with other users",
  explains: "What explains figures, and is not wrong",
};

const toneOf: Readonly<Record<Diagnosis["verdict"], Tone>> = {
  healthy: "plain",
  costs: "warning",
  "cannot tell": "failure",
};

function diagnosisTable(diagnosis: Diagnosis, screen: Screen): string {
  const { chalk } = screen;
  const { notice, reason, verdict, tool } = diagnosis;
  return joinBlocks([
    [
      ...paragraph(`pinbench ${tool.version} doctor`, screen, { style: chalk.bold }),
      ...alertLines(notice === null ? [] : [note(notice, "warning")], screen),
    ],
    paragraph(reason, screen, {
      prefix: "=> ",
      style: (line) => chalk.bold(paint(line, toneOf[verdict], screen)),
    }),
    factLines(factsOf(diagnosis), indent, screen),
    gridLines(rateGrid(diagnosis), screen),
    ...groupsOf(diagnosis).flatMap(({ title, findings }) => [
      paragraph(title, screen, { style: chalk.bold }),
      ...findings.map((finding) => findingLines(finding, screen)),
    ]),
    unseenLines(diagnosis, screen),
  ]);
}

function findingLines(finding: Finding, screen: Screen): string[] {
  return [
    ...paragraph(finding.summary, screen, { prefix: indent }),
    ...factLines(aboutFinding(finding), indent.repeat(2), screen),
  ];
}

/** What is said of a finding below its summary; a further line of evidence has no label of its own. */
function aboutFinding({ evidence, cost, fix, sureness }: Finding): Fact[] {
  return [
    ...(cost === null ? [] : [["costs", costText(cost)] as const]),
    ...evidence.map((line, index) => [index === 0 ? "seen" : "", line] as const),
    ...(fix === null ? [] : [["do", fix] as const]),
    ["sure", sureness],
  ];
}

function costText({ direction, gigabytesPerSecond, basis }: NonNullable<Finding["cost"]>): string {
  const where = direction === "both" ? "in each direction" : directionName[direction];
  return `${formatGBps(gigabytesPerSecond)} GB/s ${where}, ${basis}`;
}

function unseenLines({ unseen }: Diagnosis, screen: Screen): string[] {
  if (unseen.length === 0) return [];
  const { chalk } = screen;
  return [
    ...paragraph("What was not seen", screen, { style: chalk.bold }),
    ...unseen.flatMap((line) => paragraph(line, screen, { prefix: `${indent}- `, style: chalk.dim })),
  ];
}

function groupsOf({ findings }: Diagnosis) {
  return (Object.keys(titles) as Finding["weight"][])
    .map((weight) => ({
      title: titles[weight],
      findings: findings.filter((finding) => finding.weight === weight),
    }))
    .filter((group) => group.findings.length > 0);
}

function factsOf({ host, labels, devices }: Diagnosis): Fact[] {
  const named = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const sourceOf = ({ reference }: Diagnosis["devices"][number]) =>
    reference === null ? "not known: there is no reference" : `from ${reference}`;
  const sources = [...new Set(devices.map(sourceOf))];
  const expected =
    sources.length === 1 ? sources : devices.map((device) => `device ${device.ordinal}: ${sourceOf(device)}`);
  return [
    ["Host", host],
    ...(named.length === 0 ? [] : [["Labels", named.join(", ")] as const]),
    ...devices.map(({ ordinal, name, pciBusId, link, limitGigabytesPerSecond }): Fact => {
      const limit =
        limitGigabytesPerSecond === null
          ? ""
          : `, at most ${formatGBps(limitGigabytesPerSecond)} GB/s each way`;
      return [
        devices.length === 1 ? "Device" : `Device ${ordinal}`,
        `${[name, pciBusId].filter((part) => part !== null).join(", ")}, ${link === null ? "link not known" : `${link} under load${limit}`}`,
      ];
    }),
    ...expected.map((source): Fact => ["Expected", source]),
  ];
}

/** Rates beside what is expected; rates together where there are several devices. */
function rateGrid({ devices, sizeBytes }: Diagnosis): Grid {
  const hasTogether = devices.some(({ rates }) => rates.some(({ together }) => together));
  const optional = (text: string | null) => (text === null ? figure("-") : figure(text));
  const rows = devices.flatMap(({ ordinal, rates }) =>
    rates.map(
      ({ direction, together, gigabytesPerSecond, shareOfLimit, expectedGigabytesPerSecond }): Figure[] => [
        figure(String(ordinal)),
        ...(hasTogether ? [figure(together ? "together" : "alone")] : []),
        figure(directionName[direction]),
        optional(gigabytesPerSecond === null ? null : formatGBps(gigabytesPerSecond)),
        optional(expectedGigabytesPerSecond === null ? null : formatGBps(expectedGigabytesPerSecond)),
        gigabytesPerSecond === null || expectedGigabytesPerSecond === null
          ? figure("-")
          : figure(formatWholeShare(gigabytesPerSecond / expectedGigabytesPerSecond)),
        optional(shareOfLimit === null ? null : formatWholeShare(shareOfLimit)),
      ],
    ),
  );
  return {
    caption: `Pinned copies of ${formatSize(sizeBytes)} by one worker, GB/s`,
    columns: [
      numberColumn("device"),
      ...(hasTogether ? [wordColumn("copies")] : []),
      wordColumn("direction"),
      numberColumn("measured"),
      numberColumn("expected"),
      numberColumn("of", "expected"),
      spared(numberColumn("of", "link"), 1),
    ],
    rows,
    labels: hasTogether ? 3 : 2,
  };
}

function diagnosisMarkdown(diagnosis: Diagnosis): string {
  const { notice, reason, unseen } = diagnosis;
  return joinBlocks([
    [`## pinbench doctor: ${escapeMarkdown(reason)}`],
    ...alertBlocks(notice === null ? [] : [note(notice, "warning")]),
    markdownGrid(rateGrid(diagnosis)),
    ...groupsOf(diagnosis).flatMap(({ title, findings }) => [
      [`### ${title}`],
      findings.flatMap((finding) => [
        `- ${escapeMarkdown(finding.summary)}`,
        ...aboutFinding(finding).map(
          ([label, text]) => `  - ${label === "" ? "" : `**${label}:** `}${escapeMarkdown(text)}`,
        ),
      ]),
    ]),
    unseen.length === 0 ? [] : ["### What was not seen"],
    unseen.map((line) => `- ${escapeMarkdown(line)}`),
    factsOf(diagnosis).map(factItem),
  ]);
}

/** Longer lines some schedulers cut off, or do not take for a reason. */
const mostReasonCharacters = 240;

/** One line as LBNL's Node Health Check writes it, which Slurm can give as the reason of a drained node. */
function healthCheckLine({ verdict, reason }: Diagnosis, screen: Screen): string {
  const text = shownText(reason, screen);
  const short = text.length <= mostReasonCharacters ? text : `${text.slice(0, mostReasonCharacters - 3)}...`;
  return verdict === "healthy"
    ? `OK:  pinbench doctor:  ${short}\n`
    : `ERROR:  nhc:  Health check failed:  pinbench doctor:  ${short}\n`;
}
