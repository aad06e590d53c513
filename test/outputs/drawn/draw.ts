import { Chalk } from "chalk";
import type { Chart } from "../../../src/draw/chart/chart.js";
import { chartFile } from "../../../src/draw/chart/draw-chart.js";
import { openMetricsText, printableReport } from "../../../src/draw/document-kind.js";
import { drawMarkdown } from "../../../src/draw/draw-markdown.js";
import { jsonReport } from "../../../src/draw/json.js";
import * as numbers from "../../../src/draw/numbers.js";
import { chapterSection } from "../../../src/draw/page/chapter-section.js";
import { withSharedAxes } from "../../../src/draw/page/page.js";
import { sampleData } from "../../../src/draw/page/sample-data.js";
import { asciiText, printableDocument } from "../../../src/draw/printable-text.js";
import type { Report } from "../../../src/draw/report.js";
import { fileScreen, type Screen } from "../../../src/draw/screen.js";
import { drawTerminal } from "../../../src/draw/terminal/draw-terminal.js";
import { roomBeside } from "../../../src/draw/terminal/terminal-grid.js";
import { terminalPlots } from "../../../src/draw/terminal/terminal-plot.js";
import type { DeviceFacts } from "../../../src/native/device-contract.js";
import type { DevicesReport } from "../../../src/report/describe-devices.js";
import { devicesReport } from "../../../src/report/devices-report.js";
import { budgetNote, notesOn, planDocument, planReport } from "../../../src/report/plan-report.js";
import { bestOf, type ProgressState, progressLine } from "../../../src/report/progress.js";
import { termsText } from "../../../src/report/terms.js";
import { buildCell, buildDeviceEntry, buildHost } from "../../helpers/result-document.js";
import { upTo, varied } from "../../helpers/varied.js";
import { planOf } from "../../plan/support.js";
import { draws } from "../draws.js";

/* Charts, tables and reports of any content, in more variety than documents have, and texts that are no documents. */

const screens: readonly Partial<Screen>[] = [
  { columns: 80, chalk: new Chalk({ level: 3 }) },
  { columns: 60, isVerbose: false },
  { columns: 34, isAscii: true },
  { columns: 80, isVerbose: false, chalk: new Chalk({ level: 1 }) },
  { columns: 130, isPlain: true },
  { columns: 200 },
];

type Varied = ReturnType<typeof varied>;

const words =
  `<a|Rate|of alone|H2D pinned 64 MiB x4 in 12.5 GB/s ±2.1 %, as far as --processes 5 shows it|漢字 of
 2026-11-21 10:22 UTC|&'x' *y*_z_ @me #1 http://a.b|-1|≥ 3 µs × 2|± 5 of = 3>`.replace("\n", "");
const axis = (name: string, scale: string, { is }: Varied) => `"${name}": {"label": "<GB/s|size of a copy>",
  "scale": "${scale}"<||, "includes": [0<|, 90>]>${is(0.25) ? ', "ticks": [0, 1, 2, 4, 64, 1024]' : ""}<||, "isWhole": true>}`;
const rule = `{"axis": "<x|x|y>", "value": <1|0.3|44.4|63>, "label": "<median 55 GB/s|a label|${"long ".repeat(14)}>"}`;
const rules = `"rules": [<||${rule}|${rule}, ${rule}|${upTo(8).map(() => rule)}>]`;
const point = `{"x": <0|1|2|3|4|8|63.5|700>, "y": <0|0.02|1|12|55.4|63|5000>, "low": <null|0|0.01|11.5>,
  "high": <null|14|64|6000>, "text": "t"<|||, "isOpen": true><|||, "isApart": true>}`;

/** The content of a chart of each kind. */
const charts: readonly ((of: Varied) => string)[] = [
  (of) => {
    const [across, up] = [of.one(["linear", "log"]), of.one(["linear", "linear", "log"])];
    const [x, y] = [axis("x", across, of), axis("y", up, of)];
    const width = across === "log" || up === "log" ? "" : ', "columnWidth": 2';
    const curves = upTo(of.one([0, 1, 1, 2, 3, 11])).map((style) => {
      const points = upTo(of.one([0, 1, 2, 5, 5, 30, style === 0 ? 210 : 4])).map(() => point);
      return `{"name": "${words}", "style": <${style}|${style + 7}>, "isJoined": <true|false>, "points": [${points}]
        <|||, "isDense": true><|||${width}><|||, "hasNoMarks": true>}`;
    });
    return `"kind": "curves", ${x}, ${y}, "curves": [${curves}], ${rules}<||, "isFolded": true>`;
  },
  (of) => {
    const bar = `{"name": "${words}", "value": <0|1|12|55>, "low": <null|0.5|11>, "high": <null|13|60>,
      "text": "${words}"<||, "isReference": true>}`;
    const bars = () => upTo(of.one([1, 2, 5])).map(() => bar);
    const groups = upTo(of.one([1, 4])).map(
      (style) => `{"name": "${words}", "style": ${style}, "bars": [${bars()}]}`,
    );
    return `"kind": "bars", ${axis("value", "linear", of)}, "groups": [${groups}]`;
  },
  (of) => {
    const limits = of.is(0.7) ? "-0.05, 0.05|-0.1, 0.1" : "";
    const row = (
      limits: string,
    ) => `{"label": "${words}", "kind": <0|1|2>, "value": <0|-0.1|0.02|0.4>, "text": "t",
      "low": <null|-0.2|-0.01|-9>, "high": <null|0.03|0.5|9>, "limits": [<${limits}>], "figure": "<−9.8 %|+40 %>"}`;
    const rows = [row(limits), ...upTo(of.one([0, 3, 9])).map(() => row(`|${limits}`))];
    return `"kind": "forest", ${axis("x", "linear", of)}, "rows": [${rows}], "limitName": ${(limits && '"<limit|from here on>"') || null},
      "kinds": [{"name": "slower", "style": 1}, {"name": "open", "style": 5, "isOpen": true}, {"name": "as before", "style": 0}]`;
  },
  (of) => {
    const mark =
      '{"value": <0.7|0.82|0.83|1.3>, "name": "<n07 GPU 3|a-node-with-a-name-of-many-letters>", "text": "t"}';
    const dots = () => upTo(of.one([0, 1, 40])).map(() => of.between(0.9, 1.1));
    const row = () => `{"label": "${words}", "figure": "${words}", "dots": [${dots()}],
      "marks": [${upTo(of.one([0, 0, 1, 2, 6])).map(() => mark)}]}`;
    return `"kind": "strips", ${axis("x", "linear", of)}, "rows": [${upTo(of.one([1, 3])).map(row)}],
      "dotsName": "healthy", "marksName": "slow", ${rules.replaceAll("<x|x|y>", "x")}`;
  },
];

/** Functions are not in JSON. */
function chartOf(kind: number, of: Varied): Chart {
  const content = charts[kind]!(of);
  const chart = of.ofText<Record<string, object>>(
    `{"name": "c", "title": "${words}", "description": "d", ${content}}`,
  );
  const short = (value: number) => String(Number(value.toPrecision(4)));
  for (const key of ["x", "y", "value"]) {
    const format = of.one([
      short,
      (value: number) => `${short(value)} MiB`,
      (value: number) => `000000000${value}`,
    ]);
    if (key in chart) chart[key] = { ...chart[key], format };
  }
  return chart as unknown as Chart;
}

const tone = '"tone": "<plain|muted|warning|failure|mismatch>"';
const sentence = `"text": "<It is 5.2 times as fast. Nothing else is.|${words}|# one|2. two|- three|${"many words ".repeat(11)}>"`;
const facts = `[<["Device", "NVIDIA H200"]|["Words, more of them", "${words}"]|["A", "${"a long value ".repeat(9)}"], ["", "b"]>]`;

function gridOf({ one, is }: Varied): string {
  const [columns, rows] = [one([1, 2, 4, 7, 12]), one([0, 1, 2, 3, 4, 9])];
  const areWords = upTo(columns).map(() => is(0.3));
  const head = '<"size"|"pinned/", "link"|"", "p99"|"a", "b", "GB/s">';
  const heads = areWords.map(
    (isWords) => `{"head": [${head}], "align": "${isWords ? "left" : "right"}"<||, "spared": <1|2>>
    ${isWords ? '<||, "mostLines": <1|3>>' : ""}}`,
  );
  const text = (isWords: boolean) => (isWords ? words : "<12|12|5.25|1.04×|99.9 %|-|failed|>");
  const row = () =>
    `[${areWords.map((isWords) => `{"text": "${text(isWords)}", "note": "<|||±2.1 %|*>", ${tone}}`)}]`;
  return `{"columns": [${heads}], "rows": [${upTo(rows).map(row)}]<|, "caption": "${words}"><|, "footnote": "${words}">
    <||, "keepsRepeats": true><||, "name": "Named"><||, "keyRows": [${upTo(rows).filter(() => is(0.5))}]>, "labels": <1|2|3>
    <||, "coreRows": [${upTo(rows).slice(0, 1)}]><||, "joins": {"row": "<H2D|D2H>", "caption": "GB/s"}>}`;
}

function blocksOf(of: Varied, depth = 0): string {
  const blocks = upTo(of.one([1, 4, 7])).map(() => {
    const inner = depth < 1 ? blocksOf(of, depth + 1) : "";
    const grid = `"type": "table", "grid": ${gridOf(of)}`;
    const kinds = [
      `"type": "<alert|answer|finding|note>", ${sentence}, ${tone}`,
      `"type": "<finding|note|note>", ${sentence}, ${tone}`,
      `"type": "answer", ${sentence}, ${tone}, "headline": ${facts}`,
      `"type": "facts", "facts": ${facts}, "isEnvironment": <true|false><|, "brief": ${facts}>`,
      ...[grid, grid, grid, `"type": "facts", "facts": ${facts}, "isEnvironment": true`],
      `"type": "entry", ${sentence}, "facts": ${facts}`,
      `"type": "list", "items": ["${words}", "${words}"]`,
      `"type": "code", "language": "<sh|>", "text": "<a\\u001b|${"x = 1\\n".repeat(12)}|${"x = 1\\n".repeat(12)}\`\`\`\`y\\n>"`,
      '"type": "lines", "lines": ["a plot", "of two lines"]',
      `"type": "fold", "title": "${words}", "blocks": [${inner}], "instead": [<|{${sentence}, ${tone}}>]`,
      `"type": "section", "title": "<|Costs:|${words}>", "blocks": [${inner}], "isTight": <true|false><||, "isSummary": true>`,
    ];
    const block = `{${of.one(kinds)}<||, "isDetail": true><||, "yields": <1|2|3>>}`;
    return of.is(0.3) ? `${block}, ${block}` : block;
  });
  return blocks.join();
}

const reportOf = (of: Varied) =>
  of.ofText<Report>(`{"command": "<|doctor>", "version": "1.2", "name": "${words}", "hasTerms": <true|false>
    <|, "endsWithAnswer": true><||, "tableLines": <5|20>><||, "mostLines": <6|25>>, "blocks": [${blocksOf(of)}]}`);

function reportTexts(of: Varied, number: number): string {
  const kind = number % charts.length;
  const [report, curves, other, again] = [reportOf(of), chartOf(0, of), chartOf(kind, of), chartOf(kind, of)];
  const values = upTo(of.one([0, 1, 9])).map(() => 10 ** of.between(-2, 4));
  const startMs = values.map((_, at) => at * 1.26);
  const common = { style: 1, direction: "h2d", unit: "µs" as const, values, startMs };
  const samples = ["a", "a", "<b>"].map((id, at) => ({
    ...common,
    id,
    name: id,
    process: at === 2 ? null : at,
  }));
  const chapters = withSharedAxes([
    { report, charts: [curves, other], samples: samples.slice(of.one([0, 1, 3])) },
    { report: reportOf(of), file: "b.json", charts: [again], samples: [] },
  ]);
  const shown = [0, 2, 3].map((more) => fileScreen(screens[(number + more) % screens.length]));
  const place = (at: number) => ({ id: `d${at}`, ...of.one([{}, { number: at }, { isWhole: true }]) });
  return [
    ...shown.map((screen) => drawTerminal(report, screen)),
    ...shown.map((screen) =>
      terminalPlots([curves, chartOf(0, of)] as never, screen, "few")
        .flat()
        .join("\n"),
    ),
    ...report.blocks.map((block) => (block.type === "table" ? roomBeside(block.grid, fileScreen()) : "")),
    ...[curves, other].map(chartFile),
    ...chapters.map((chapter, at) => chapterSection(chapter, place(at)).text),
    ...[drawMarkdown(printableReport(report)), sampleData(chapters), jsonReport(report)],
  ].join("\n");
}

function devicesText(of: Varied): string {
  const link =
    '{"generation": <4|5|null>, "width": <8|16|null>, "maxGeneration": <5|null>, "maxWidth": <16|null>}';
  const devices = upTo(of.one([1, 2, 3])).map(
    (ordinal) => `{"ordinal": ${ordinal}, "numaNode": <0|1|null>,
    "link": <null|${link}|${link}>, "linkLimitGBps": <63.09|null>, "computeCapability": "<9.0|8.0>", "upstreamPath":
    <null|["pci0", "port0"]|["pci0", "port0", "up", "down${ordinal}"]|["pci${ordinal}"]>}`,
  );
  const { host, ...report } =
    of.ofText<DevicesReport>(`{"backend": "cuda", "notice": <null|"an emulated device">,
    "host": {"cgroupMemoryLimitBytes": <null|7e9>, "memlockLimitBytes": <null|8388608>, "transparentHugePages": <null|"always">,
      "governor": <null|"powersave">, "virtualization": <null|"kvm">, "cpuQuota": <null|3.5>, "numaNodes": <1|2>},
    "driver": {"library": "libcuda.so.1", "version": <null|"580">, "cudaVersion": "13", "nvmlError": <null|"no such file">},
    "features": [<|{"name": "kernels", "on": <true|false>, "reason": <null|"without nvcc, ${"mapped memory ".repeat(9)}is skipped">},
      {"name": "event timer", "on": <true|false>, "reason": null}>], "devices": [${devices}],
    "build": {"version": "1", "compiler": "gcc", "kernels": <true|false>, "sanitizer": <null|"thread">}}`);
  const found = { ...report, devices: report.devices.map(buildDeviceEntry), host: buildHost(host) };
  return devicesReport(found, fileScreen(of.one(screens)));
}

function planTexts(of: Varied): string {
  const plan = planOf(
    of.ofText(`{"memory": <["pinned"]|["pageable", "pinned", "mapped"]>, "workers": <[1]|[1, 2]>, "directions": ["h2d"],
      "workerKinds": <["thread"]|["thread", "process"]|["process"]>, "precision": <0.01|0.005><||, "budgetNs": 5e9>
      <|||, "samplesPerCell": <1|20>><, "sizesBytes": [4096<, 1048576|>]<||, "besides": ["none", "compute"]|, "pipelineChunks": [1, 4]>
      |, "blockSizesBytes": [4096, 65536], "blockSms": [8]|, "blockSizesBytes": "auto">}`),
  );
  const time = "<4e9|6.25e9|6.3e9|14e9|15e9|29e9|31e9|119e9|125e9|4000e9>";
  const estimate =
    of.ofText<object>(`{"leastDurationNs": ${time}, "durationNs": ${time}, "mostDurationNs": ${time},
    "firstSamplesNs": ${time}, "startNs": 2e9, "workersStartNs": 3e9, "contextBytes": <0|5e8>}`);
  const more =
    '<{"together": [0, 1]}|{"peer": 1, "path": "read"}|{"cpuNode": 1, "memoryNode": 0}|{"skipReason": "<no room|no kernels>"}|{}|{}>';
  const all = plan.cells.map((cell) => ({ ...cell, ...of.ofText<object>(more) }));
  const varying = {
    ...{ ...plan, cells: of.is(0.9) ? all : [], estimate: { ...plan.estimate, ...estimate } },
    stopping: { ...plan.stopping, isHard: of.is(0.5) },
  };
  const processes = of.one([1, 3]);
  const devices = [0, 3].map((ordinal) => ({ ordinal, name: "NVIDIA H200" }) as DeviceFacts);
  const opened = {
    plan: varying,
    backend: { fallbackReason: of.one([null, "there is no GPU"]) },
    passedOver: [],
  };
  const asJson = [
    budgetNote(varying),
    notesOn(opened as never),
    planDocument({ ...varying, cells: [] }, processes),
  ];
  return (
    planReport(varying, devices, processes, fileScreen(of.one(screens))) + asJson.map(jsonReport).join("")
  );
}

function progressTexts(of: Varied): string {
  const state =
    of.ofText<ProgressState>(`{"leftNs": <null|0.4e9|1e9|41.2e9|119.5e9|120e9|200e9>, "isMost": <true|false>
    <|, "leftOf": "of session 2 of 4">, "done": {"text": "41 of 90 cells converged"<|, "more": "round 3">},
    "now": <null|{"text": "H2D pinned"<|, "more": "54.9 GB/s">}>}`);
  const cell = `{"memory": "<host|pinned|pageable>", "direction": "<h2d|d2d>", "mode": "<throughput|latency>",
    "GBps": <1|55|56>, "latencyUs": {"median": <1.5|2|9>, "p99": 10}, "sizeBytes": <1|2>}`;
  const best = bestOf(
    upTo(of.one([0, 1, 5])).map(() => buildCell(of.ofText(cell))),
    (id) => id,
  );
  return upTo(170)
    .map((columns) => progressLine({ ...state, best }, columns))
    .join("\n");
}

/** Each format of numbers, around each power of ten, limit and rounding. */
function formats(): string {
  const { roundUp, roundDown, formatChangeTick, formatChange, formatWholeShare, formatRatio } = numbers;
  const digits = [0, 1, 2, 9.95, 9.96, 0.995, 55.3, 99.95, 0.0999, 0.00996, 1.0049, 1.01, 1.999, 120];
  const values = digits.flatMap((one) => [-6, -4, -3, -2, -1, 0, 1, 2, 3].map((power) => one * 10 ** power));
  const of: ((value: number) => unknown)[] = [
    ...[numbers.formatGBps, numbers.formatBandwidth, numbers.bandwidthUnit, numbers.formatMicroseconds],
    ...[numbers.formatNanoseconds, numbers.formatMilliseconds, numbers.formatShare, numbers.formatHalfWidth],
    ...[
      numbers.formatPrecision,
      numbers.formatMargin,
      formatChangeTick,
      (one: number) => formatChangeTick(-one),
    ],
    ...[roundUp, roundDown].flatMap((round) =>
      [formatWholeShare, formatRatio].map((f) => (one: number) => f(one, round)),
    ),
    ...(["up", "down"] as const).flatMap((to) =>
      [1, -1].map((sign) => (one: number) => formatChange(sign * one, to)),
    ),
    (low) => numbers.formatRange({ low, high: low * 1.002 }),
  ];
  return jsonReport(of.map((one) => values.map((value) => one(value))));
}

const odd = {
  "a\u001b": ["\n\r\t\u0007\u009f\u202e\u2028", "±µ×²−→≤…“▁█é漢😀", "=1", 1],
  same: [1, 2],
  empty: {},
  none: undefined,
};
const gauges = [
  { labels: { a: 'x"\\\n', b: null, c: 1 }, value: 0.5 },
  { labels: {}, value: 2 },
];
const families = ["a", "b", "c_s"].map((name) => ({
  ...{ name, help: "What.", samples: name === "b" ? [] : gauges, ...(name === "c_s" && { unit: "s" }) },
}));

draws(import.meta.url, () => {
  const outputs: [input: string, output: string][] = [];
  for (const number of upTo(24)) {
    const several = (texts: (of: Varied) => string) =>
      upTo(4)
        .map((one) => texts(varied(4 * number + one)))
        .join("\n");
    outputs.push([`report and charts, variation ${number + 1}`, reportTexts(varied(number), number)]);
    if (number >= 9) continue;
    outputs.push([`lists of devices, variation ${number + 1}`, several(devicesText)]);
    outputs.push([`plans, variation ${number + 1}`, several(planTexts)]);
    outputs.push([`lines of progress in all widths, variation ${number + 1}`, several(progressTexts)]);
  }
  outputs.push(["formats of numbers", formats()]);
  const texts = [
    jsonReport(odd),
    jsonReport(printableDocument(odd)),
    asciiText(JSON.stringify(odd)),
    openMetricsText(families),
  ];
  outputs.push(["odd texts", texts.join("\n")]);
  const asked = [[], ["x16"], ["link", "SMs", "device 0"], ["gain"]];
  outputs.push(["terms", asked.map((some) => termsText(some, fileScreen(screens[some.length]))).join("\n")]);
  return outputs;
});
