import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ErrorKind, PinbenchError } from "../../../src/errors.js";
import * as library from "../../../src/index.js";
import { commandSettings } from "../../../src/settings/command-settings.js";
import { loadConfiguration } from "../../../src/settings/configuration.js";
import { documentFormats, formatOfPath } from "../../../src/settings/document-formats.js";
import { optionName } from "../../../src/settings/setting.js";
import { fillRunSettings, overrideSettings, readOptions, readValue } from "../../../src/settings/settings.js";
import { runSettings } from "../../../src/settings/table.js";
import { mergeThresholds, parseThresholdFlag, thresholdOf } from "../../../src/settings/thresholds.js";
import * as units from "../../../src/settings/units.js";
import { fileErrorReason, inheritedDescriptor, parseJson, readNewestLines } from "../../../src/text-file.js";
import { draws } from "../draws.js";

/* What is read from texts and options of callers, and in which words it is refused. */

const folder = mkdtempSync(join(tmpdir(), "pinbench-unchanged-"));

/** The result, or what the error says. */
async function outcome(make: () => unknown): Promise<unknown> {
  try {
    return (await make()) ?? null;
  } catch (error) {
    if (!(error instanceof PinbenchError)) return { thrown: String(error) };
    const { kind, exitCode, message, hint } = error;
    return { kind, exitCode, message: message.replaceAll(folder, "FOLDER"), hint };
  }
}
const outcomes = <Given>(given: readonly Given[], make: (one: Given) => unknown) =>
  Promise.all(given.map(async (one) => [one, await outcome(() => make(one))]));

const words = (text: string) => text.trim().split(/\s+/);
/** Values of any setting; "_" stands for a space. */
const texts = words(`
  0 1 7 -1 1.5 01 1e3 1,2 2,1,2 1_2 , 5% 0% 50% 60% 0.003 0.5 99.9% 100% 5_percent 0.5% 5pct 1KiB 1_MiB 1.5kib 1M 0.5k
  3GB 1TiB,2B 9PB 0KiB 1.3B 8192TiB 1KiB..8KiB*2 8KiB..1KiB*2 1KiB..4KiB+1KiB 1..2*1 1..2+0 1..9*1.5 1.. 1..2..3*2 *2
  1KiB..2KiB*x 8s 8 1.5min 90m 3h 24h 25h 0s 2_hours 2MB 5_minutes 60_percent 5msec 1us 4µs 3µsecs 2e3s 99999999h all auto local every last h2d
  H2D h2d,d2h,h2d pinned,pageable pinnd pinned=5% d2h=6% d0/h2d/*=8% *=0.1 pinned:5% 5%=pinned pinned foo=5%
  pinned,d2h=5% pinned=5%,d2h=6% rack=7 a_b=c k= =v k=a=b 2026-11-20 2026-11-20T14:00Z 2026-13-01 yesterday {} [1] {
  cuda emulatd loop,kernal compute process json a/b.json 9007199254740993 1.${"0".repeat(101)}`)
  .map((word) => word.replaceAll("_", " "))
  .concat("");
const values = [
  1,
  0.01,
  0,
  -1,
  1e-7,
  1e20,
  true,
  false,
  null,
  ["1", 2],
  ["pinned", "h2d"],
  [],
  [[1]],
  { a: 1 },
  {},
];

/** Names and contents of configurations. */
const configurations = `pinbench.config.json {}
pinbench.config.json {"plan": {"sizes": ["1KiB", 7], "workers": "2,1", "verify": "every", "budget": "2s"}, "runs": 3}
pinbench.config.json {"baseline": "../b", "strict": true, "$schema": "x"}
pinbench.config.json {"thresholds": {"default": "4%", "memory": {"pinned": 0.1}}}
pinbench.config.json {"thresholds": {"floorGBps": 0, "floorUs": 3, "direction": {"d2h": "7%"}}}
pinbench.config.json {"plan": {"size": 1}}
pinbench.config.json {"sizes": 1}
pinbench.config.json {"colour": 1}
pinbench.config.json {"plan": {"sizes": "1M"}}
pinbench.config.json {"plan": {"memory": "x"}}
pinbench.config.json {"plan": []}
pinbench.config.json {"runs": 0}
pinbench.config.json {"runs": 1001}
pinbench.config.json {"runs": 1000}
pinbench.config.json {"strict": 1}
pinbench.config.json {"baseline": ""}
pinbench.config.json []
pinbench.config.json null
pinbench.config.json {
pinbench.config.json 
pinbench.config.json {"thresholds": {"default": 2}}
pinbench.config.json {"thresholds": {"memory": {"pined": 1}}}
pinbench.config.json {"thresholds": {"floorUs": -1}}
pinbench.config.json {"thresholds": {"cells": {"a": "x"}}}
pinbench.config.json {"plan": {"together": "yes", "sizes": []}}
pinbench.config.json {"plan": {"cells": "a"}}
package.json {"pinbench": {"runs": 2}}
package.json {"name": "pinbench"}
package.json {"pinbench": {"run": 2}}
package.json {"name": "pinbench
own.json {"plan": {"numa": 3}}`.split("\n");

async function configured(line: string) {
  const [name = ""] = line.split(" ", 1);
  const [above, inner] = [join(folder, "above"), join(folder, "above/inner")];
  mkdirSync(inner, { recursive: true });
  writeFileSync(join(above, name), line.slice(name.length + 1));
  const read = [
    { config: null },
    { config: join(above, name) },
    { config: false as const },
    { config: `../${name}` },
  ];
  const loaded = await outcomes(read, async (one) => {
    const configuration = await loadConfiguration(one, inner);
    return JSON.parse(JSON.stringify(configuration).replaceAll(folder, "FOLDER")) as unknown;
  });
  rmSync(above, { recursive: true });
  return loaded.map(([, outcome]) => outcome);
}

const numbers = (text: string) => words(text).map(Number);
const amounts = numbers(
  `0 1 9.994 9.996 99.96 512 1000 1023 1024 1536 65536 1e6 1310720 999999 1e9 1.5e9 59.96e9 119.9e9 120e9 7199e9 7200e9 9e13
  1073741824 1105000000000 3.3e15`,
);

const oddOptions: readonly unknown[] =
  JSON.parse(`[null, 1, [], {"signal": 1}, {"signal": null}, {"onProgress": 1},
  {"frobnicate": 1}, {"backend": "gpu"}, {"cells": "a", "sizes": 1}, {"baseline": "none", "candidate": "none"},
  {"baseline": [], "candidate": []}, {"candidate": "none"}, {"baseline": 1, "candidate": 1}, {"results": []},
  {"results": 1}, {"results": "none"}, {"questions": 1}, {"questions": ["x"]}, {"questions": [1]}, {"command": []},
  {"command": ["a", 1]}, {"torch": 1}, {"folder": 1}, {"folder": "none"}, {"cells": [1], "folder": "none"},
  {"ways": 1}, {"ways": [null]}]`);

async function settingsOutcomes(): Promise<[string, unknown][]> {
  const tables = Object.entries(commandSettings);
  return Promise.all(
    tables.map(async ([command, table]): Promise<[string, unknown]> => {
      const read = Object.entries(table).map(async ([key, { flag, kind, add, default: none }]) => {
        const one = (value: unknown) => {
          const parsed = readValue(optionName(flag), kind as never, value as never);
          return add === undefined ? parsed : add(add(none as never, parsed), parsed);
        };
        // Other commands have most settings of run; only a command line gives thresholds, as texts.
        const ofTexts = command === "run" || !(key in runSettings) ? texts : [];
        const given = key === "thresholds" ? texts : [...ofTexts, ...values];
        return [flag, await outcomes<unknown>(given, one)];
      });
      return [`settings of ${command}`, await Promise.all(read)];
    }),
  );
}

draws(import.meta.url, async () => {
  const outputs = await settingsOutcomes();
  const add = (name: string, output: unknown) => outputs.push([name, output]);
  const earlier = fillRunSettings({
    origin: "caller",
    values: { samplesPerCell: 9, sizesBytes: [7], devices: [1], numa: 4, blockSizesBytes: [64] },
  });
  const later = [
    { precision: 0.1 },
    { budgetNs: 5 },
    { numa: 5 },
    { blockSizesBytes: [16] },
    { sizesBytes: [8] },
  ];
  add(
    "earlier settings",
    await outcomes(later, (given) => overrideSettings(earlier, { origin: "flag", values: given })),
  );
  const cells = { origin: "flag", values: { cells: ["a"] } } as const;
  const configured1 = {
    origin: "configuration",
    values: { devices: [2], sizesBytes: [7] },
  } as const;
  add("cells beside a configuration", fillRunSettings(configured1, cells));
  add(
    "the later source",
    [later[3]!, later[4]!].map((given) => fillRunSettings(configured1, { origin: "flag", values: given })),
  );
  const names = ["size", "sizes", "memry", "max-pinned", "maxPinned", "colour"];
  add("names of options", await outcomes(names, (name) => readOptions(runSettings, { [name]: undefined })));
  add(
    "figures with units",
    amounts.map((one) => [
      ...[units.formatSize(one), units.formatDuration(one), units.formatMeasuredTime(one)],
      ...[Math.round, Math.ceil, Math.floor].map((round) => units.formatSizeRounded(one, round)),
    ]),
  );
  const rules = words("5% pinned=10% pageable=3%").map(parseThresholdFlag);
  const kinds = words("pinned pageable staged").map((memory) => ({ memory }));
  const none = { default: null, memory: {}, floorGBps: 1, floorUs: 2 };
  const merged = rules.map((_, i) => mergeThresholds(none, ...rules.slice(i)));
  add("thresholds", [merged, merged.map((one) => kinds.map((cell) => thresholdOf(one, cell)))]);
  for (const [kind, formats] of Object.entries(documentFormats)) {
    const paths = `a.txt A.JSON a.b.md a.html a.svg a.csv a.xml a.prom a.py a.c a.env a a. /dev/stdout /proc/self/fd/3`;
    const files = await outcomes(words(paths), (path) => formatOfPath(formats, path));
    add(`files of a ${kind}`, files);
  }
  for (const [i, one] of configurations.entries()) add(`configuration ${i + 1}`, await configured(one));
  const long = [1999, 2000, 2001, 3001].map((length) => "0123456789".repeat(400).slice(0, length));
  const errorKinds = words(
    "usage output limit unavailable unsupported measurement notComparable",
  ) as ErrorKind[];
  const errors = errorKinds.flatMap((kind) =>
    long.map((text) => new PinbenchError(kind, text, { hint: text, details: ["a", text] })),
  );
  add(
    "errors",
    errors.map((error) => [error.exitCode, error.message, { ...error }]),
  );
  const codes = words(
    "ENOENT ENOTDIR EISDIR EACCES EPERM ELOOP ENAMETOOLONG EROFS EIO EDQUOT ENOSPC EINTR EXDEV ESTALE EODD",
  );
  const failures = [
    ...codes.map((code) => Object.assign(new Error("no"), { code })),
    new Error("odd"),
    "text",
  ];
  add(
    "reasons",
    failures.map((error) => fileErrorReason(error, { ENOENT: "none", EIO: "mine" })),
  );
  const devices = words(
    "/dev/stdin /dev/stdout /dev/stderr /dev/fd/0 /dev/fd/12 /proc/self/fd/7 /dev/fd/x /dev/fd/1/a a",
  );
  add("descriptors", devices.map(inheritedDescriptor));
  const json = ["", " \n", "{", "1 2", "[1,]", '{"a":1}', `"\n"`, `[${"1,".repeat(12_000)}1]`];
  add("JSON", await outcomes(json, (text) => parseJson(text, "a file", "a hint")));
  writeFileSync(join(folder, "lines"), "one\ntwo\n\nvier ö\nlast");
  const lengths = Array.from({ length: 24 }, (_, i) => i);
  add("newest lines", await outcomes(lengths, (most) => readNewestLines(join(folder, "lines"), most)));
  for (const [name, call] of Object.entries(library).filter(([name]) => name !== "PinbenchError")) {
    const run = call as (options: unknown) => Promise<unknown>;
    add(`odd options of ${name}`, await outcomes<unknown>(oddOptions, run));
  }
  rmSync(folder, { recursive: true });
  return outputs;
});
