import type { DocumentKind } from "../draw/document-kind.js";
import { formatGBps, formatShare } from "../draw/numbers.js";
import {
  type Block,
  detail,
  environment,
  type Fact,
  type Figure,
  facts,
  figure,
  type Grid,
  type Note,
  note,
  numberColumn,
  type Report,
  section,
  shortened,
  type Tone,
  tables,
  texts,
  wordColumn,
} from "../draw/report.js";
import { capital, listed, timeText, withoutFullStop } from "../draw/words.js";
import { directionName } from "../results/naming/wording.js";
import { formatSize } from "../settings/units.js";
import { diagnosisMetrics, healthCheckLine, nagiosLine } from "./automation.js";
import { type Diagnosis, diagnosisSchema, type Finding, isFaulty } from "./diagnosis.js";
import { usualTolerance } from "./examination.js";

export const diagnosisKind: DocumentKind<Diagnosis> = {
  schema: diagnosisSchema,
  report: diagnosisReport,
  exports: {
    nhc: (diagnosis, { screen }) => healthCheckLine(diagnosis, screen),
    nagios: (diagnosis, { screen }) => nagiosLine(diagnosis, screen),
    openmetrics: (diagnosis) => diagnosisMetrics(diagnosis),
  },
};

/** Heading of the findings of each weight. */
const titles: Readonly<Record<Finding["weight"], string>> = {
  costs: "What costs bandwidth",
  risk: "What may cost bandwidth in other uses",
  explains: "Notes (no problem)",
};

const toneOf: Readonly<Record<Diagnosis["verdict"], Tone>> = {
  healthy: "plain",
  "no-reference": "plain",
  costs: "warning",
  faulty: "failure",
  inconclusive: "failure",
};

function diagnosisReport(diagnosis: Diagnosis): Report {
  const { notice, reason, verdict, tool, findings, devices, createdAt } = diagnosis;
  const unseen = diagnosis.unseen.map((text) => note(text, "muted"));
  const hidden = texts("note", unseen);
  const names = [...new Set(devices.map(({ name }) => name))];
  const first = [
    ...(notice === null ? [] : texts("alert", [note(notice, "warning")])),
    ...texts("answer", [note(reason, toneOf[verdict]), ...nextStep(diagnosis)]),
  ];
  const rates = devices.length === 0 ? [] : tables([rateGrid(diagnosis)]);
  return {
    command: "doctor",
    version: tool.version,
    hasTerms: false,
    name: `Diagnosis: ${listed(names.length > 0 ? names : [diagnosis.host])}, ${timeText(createdAt)}`,
    brief: {
      blocks: [
        ...first,
        ...(devices.length === 1 ? [facts(devices.map((one) => deviceFact(one, true)))] : []),
        ...shortened(rates, mostBriefRates),
        ...shortened(tables(findingGrids(diagnosis)), mostBriefFindings),
      ],
      leavesOut: "evidence, further rates and notes, and what could not be seen",
    },
    blocks: [
      ...first,
      environment(factsOf(diagnosis)),
      ...rates,
      ...(Object.keys(titles) as Finding["weight"][]).flatMap((weight) => {
        const entries = findings.filter((finding) => finding.weight === weight).map(entryOf);
        return entries.length === 0 ? [] : [section(titles[weight], entries)];
      }),
      ...(hidden.length === 0 ? [] : [section("What could not be seen", hidden, true)]),
    ],
  };
}

const [mostBriefRates, mostBriefFindings] = [4, 3];

/** Findings that cost or may cost bandwidth, a row each; empty without any. */
function findingGrids({ findings }: Diagnosis): Grid[] {
  const rows = findings
    .filter(({ weight }) => weight !== "explains")
    .map(({ summary, cost, action, sureness }): Figure[] => [
      figure(withoutFullStop(summary)),
      figure(cost === null ? "-" : `${formatGBps(cost.gigabytesPerSecond)} GB/s`),
      figure(action),
      figure(sureness),
    ]);
  const columns = [
    wordColumn("finding"),
    numberColumn("costs"),
    wordColumn("action"),
    detail(wordColumn("confidence")),
  ];
  return rows.length === 0 ? [] : [{ name: "Findings", columns, rows }];
}

/** Cost and remedy of the most urgent finding, because tables of many devices precede the findings. */
function nextStep({ findings, verdict, reason }: Diagnosis): Note[] {
  const first = findings.find(isFaulty) ?? findings.find(({ weight }) => weight === "costs");
  if (first?.fix == null || verdict === "healthy") return [];
  const isSaid = reason.toLowerCase().includes(first.summary.toLowerCase());
  const step = `${capital(first.action === "none" ? "do" : first.action)}: ${first.fix}`;
  return [
    note(
      [
        ...(isSaid ? [] : [first.summary]),
        ...(first.cost === null ? [] : [`It costs ${costText(first.cost)}.`]),
        step,
      ].join(" "),
    ),
  ];
}

function entryOf(finding: Finding): Block {
  return { type: "entry", text: finding.summary, facts: aboutFinding(finding) };
}

/** Facts below a finding's summary; only the first line of evidence has a label. */
function aboutFinding({ evidence, cost, fix, sureness, action }: Finding): Fact[] {
  return [
    ...(cost === null ? [] : [["costs", costText(cost)] as const]),
    ...evidence.map((line, index) => [index === 0 ? "seen" : "", line] as const),
    ...(fix === null ? [] : [["do", fix] as const]),
    ...(action === "none" ? [] : [["action", actionWords[action]] as const]),
    ["confidence", sureness],
  ];
}

const actionWords: Readonly<Record<Finding["action"], string>> = {
  isolate: "isolate the node until that is done",
  reset: "drain the node and reset the device",
  monitor: "monitor: keep the node in use",
  none: "nothing",
};

function costText({ direction, gigabytesPerSecond, basis, copies }: NonNullable<Finding["cost"]>): string {
  const where = direction === "both" ? "in each direction" : directionName[direction];
  const which = {
    pinned: "",
    slow: " beyond the median",
    registered: " from registered memory",
    together: " with all devices",
  }[copies];
  return `${formatGBps(gigabytesPerSecond)} GB/s ${where}${which}, ${basis}`;
}

function deviceFact(
  { ordinal, name, pciBusId, link, limitGigabytesPerSecond: most }: Diagnosis["devices"][number],
  isOnly: boolean,
): Fact {
  const limit = most === null ? "" : `, limit ${formatGBps(most)} GB/s each way`;
  return [
    isOnly ? "Device" : `Device ${ordinal}`,
    `${[name, pciBusId].filter((part) => part !== null).join(", ")}, ${link === null ? "link not known" : `${link} under load${limit}`}`,
  ];
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
    ...devices.map((one) => deviceFact(one, devices.length === 1)),
    ...expected.map((source): Fact => ["Expected", source]),
    ...provenText(devices),
  ];
}

/**
 * Number of compared copies, and the share of wrong ones that would be found (rule of three). The share is
 * for one direction of one device, because most faults affect only one.
 */
function provenText(devices: Diagnosis["devices"]): Fact[] {
  const counts = devices.flatMap(({ copies }) => copies ?? []);
  const [made, proven] = (["made", "proven"] as const).map((key) =>
    counts.reduce((sum, count) => sum + count[key], 0),
  ) as [number, number];
  if (proven === 0) return [];
  const compared = `${proven === made ? `all ${made}` : `${proven} of ${made}`} timed copies compared`;
  const eachWay = Math.min(...counts.map(({ provenEachWay }) => provenEachWay));
  const seen =
    eachWay < 3
      ? ""
      : `: a fault in 1 of ${Math.floor(eachWay / 3)} copies of one direction is found with 95 % probability`;
  return [["Data", `${compared}${seen}`]];
}

/** Measured and expected rates, slow ones first; with several devices also the rates together. */
function rateGrid({ devices, sizeBytes, verdict }: Diagnosis): Grid {
  const rates = devices.flatMap(({ ordinal, rates }) =>
    rates.map((rate) => {
      const { gigabytesPerSecond: measured, expectedGigabytesPerSecond: expected } = rate;
      const share = measured === null || expected === null ? null : measured / expected;
      const isSlow = verdict !== "healthy" && share !== null && share < 1 - usualTolerance;
      return { ...rate, ordinal, share, isSlow };
    }),
  );
  const hasTogether = rates.some(({ together }) => together);
  const optional = (value: number | null, format: (value: number) => string) =>
    figure(value === null ? "-" : format(value));
  return {
    caption: `Pinned copies of ${formatSize(sizeBytes)} by one worker, GB/s`,
    columns: [
      numberColumn("device"),
      ...(hasTogether ? [wordColumn("copies")] : []),
      wordColumn("direction"),
      numberColumn("measured"),
      numberColumn("expected"),
      numberColumn("of", "expected"),
      numberColumn("of", "link"),
    ],
    rows: rates
      .toSorted((a, b) => Number(b.isSlow) - Number(a.isSlow))
      .map((one): Figure[] => [
        figure(String(one.ordinal)),
        ...(hasTogether ? [figure(one.together ? "together" : "alone")] : []),
        figure(directionName[one.direction]),
        optional(one.gigabytesPerSecond, formatGBps),
        optional(one.expectedGigabytesPerSecond, formatGBps),
        { ...optional(one.share, formatShare), tone: one.isSlow ? toneOf[verdict] : "plain" },
        optional(one.shareOfLimit, formatShare),
      ]),
    labels: hasTogether ? 3 : 2,
  };
}
