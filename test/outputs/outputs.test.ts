import { readFileSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { fileScreen, type Screen } from "../../src/draw/screen.js";
import { type KnownDocument, loadKind } from "../../src/kinds/document-kinds.js";
import { pageOfDocuments } from "../../src/kinds/draw-documents.js";
import type { DocumentName } from "../../src/settings/document-formats.js";
import { drawn } from "../helpers/drawn.js";
import { buildLoad, buildWay } from "../helpers/load.js";
import { endCalls, outputOf, plain } from "./call.js";
import * as compare from "./drawn/compare.js";
import { diagnosed } from "./drawn/doctor.js";
import { explained } from "./drawn/explain.js";
import { judgedFleet } from "./drawn/fleet.js";
import * as history from "./drawn/history.js";
import { randomPinning } from "./drawn/pin.js";
import { documentOf } from "./drawn/run-report.js";
import { randomTuning } from "./drawn/tune.js";

/*
 * What pinbench prints, as files for a reviewer: each kind of document, verdict, view and format once or twice.
 * `npx vitest run test/outputs -u` rewrites them; `npm run same` compares many more.
 */

afterAll(endCalls);

const textFile = (name: string) => `./texts/${name}.txt`;

const lines = readFileSync(new URL("./commands.txt", import.meta.url), "utf8")
  .split("\n")
  .filter(Boolean);

describe("output is as recorded in texts/ for the command", () => {
  it.each(lines)("%s", async (line) => {
    const [command] = line.split(" ").filter((word) => !/^(in\/|[A-Z_]+=)/.test(word));
    const name = `${command}/${line.replaceAll("/", "-").replaceAll(" ", "_")}`;
    await expect(await outputOf(line)).toMatchFileSnapshot(textFile(name));
  });
});

/** How a document is drawn: as in a terminal, or in the format of this name. */
const views: Readonly<Record<string, Partial<Screen>>> = {
  brief: { columns: 80, showsAll: false },
  narrow: { columns: 60, showsAll: false },
  whole: { columns: 120 },
};

/** Seeds and views by kind of document, chosen so that their texts have the most kinds of lines. */
const documents: Readonly<Record<string, string>> = {
  comparison:
    "3 brief, 12 whole, 21 narrow, 27 whole, 34 markdown, 36 brief, 40 junit, 44 github, 51 whole, 55 brief, 56 narrow, 60 whole, 68 markdown",
  diagnosis:
    "5 brief, 28 markdown, 36 narrow, 38 whole, 41 narrow, 43 openmetrics, 44 brief, 48 markdown, 57 whole, 62 whole, 76 brief, 81 narrow, 88 markdown",
  explanation: "8 narrow, 32 whole, 40 narrow, 48 markdown, 52 brief, 56 brief",
  fleet:
    "8 brief, 11 csv, 18 narrow, 28 whole, 33 markdown, 44 brief, 68 openmetrics, 110 whole, 121 markdown, 128 narrow",
  history: "1 narrow, 6 brief, 25 narrow, 42 whole, 47 whole, 69 narrow, 71 markdown, 73 brief",
  load: "0 brief, 0 markdown, 0 python, 1 narrow, 1 whole, 2 brief",
  pinning: "22 narrow, 27 brief, 34 html, 44 c, 49 whole, 60 markdown",
  tuning:
    "30 markdown, 34 narrow, 39 whole, 41 brief, 53 python, 62 narrow, 69 narrow, 91 markdown, 92 markdown, 95 brief, 113 whole, 116 brief, 123 whole",
  "blocks beside loads": "0 brief, 1 narrow, 2 whole, 3 brief, 4 csv",
  "copies beside loads": "1 markdown, 4 narrow",
  "NUMA nodes": "1 brief, 3 markdown",
  "all devices at once": "1 whole, 3 csv, 5 brief",
  "scattered blocks": "2 markdown, 4 csv",
  "a search for cut-offs": "0 whole, 1 narrow, 2 markdown, 3 html, 4 markdown",
  "plain copies": "4 whole, 5 narrow",
  "copies between devices": "0 narrow, 2 whole",
  "copies in chunks": "0 whole",
};

const makers: Readonly<
  Record<string, readonly [kind: DocumentName, make: (seed: number) => unknown | Promise<unknown>]>
> = {
  comparison: ["comparison", (seed) => (compare.outputsOf(seed) as { comparison: unknown }).comparison],
  diagnosis: ["diagnosis", (seed) => diagnosed(seed).diagnosis],
  explanation: ["explanation", async (seed) => (await explained(seed)).at(-1)],
  fleet: ["fleet", (seed) => judgedFleet(seed).document],
  history: ["history", (seed) => (history.outputsOf(seed) as { document: unknown }).document],
  load: ["load", (seed) => loads[seed]!],
  pinning: ["pinning", randomPinning],
  tuning: ["tuning", randomTuning],
};

/** A usual load, one with a refused method and wrong data, and one interrupted before its first pass. */
const loads = [
  buildLoad(),
  buildLoad({
    status: "aborted",
    copiedBytes: 140e9,
    verification: { checkedBytes: 1e9, mismatchedBytes: 3 },
    ways: [
      buildWay("mapped", 1, [7, 9, 12]),
      buildWay("registered", 1, [], {
        error: { code: "CUDA_ERROR_NOT_SUPPORTED", message: "not supported" },
      }),
      buildWay("read-slots", 2, [20]),
      buildWay("mapped", 1, [9], {
        isCold: true,
        passes: [{ mapNs: 1, copyNs: 1, storageBytes: 1e9 }],
      }),
    ],
  }),
  buildLoad({ status: "aborted", ways: [buildWay("mapped", 1, [])] }),
];

const rows = Object.entries(documents).flatMap(([name, seeds]) =>
  seeds.split(", ").map((row) => {
    const [seed, view] = row.split(" ") as [string, string];
    return { name, seed: Number(seed), view };
  }),
);

describe("output is as recorded in texts/ for a generated document:", () => {
  it.each(rows)("$name of seed $seed, view $view", async ({ name, seed, view }) => {
    const [kind, make] = makers[name] ?? ["result", (number: number) => documentOf(name, number)];
    const document = JSON.parse(JSON.stringify(await make(seed)));
    const text =
      view === "html"
        ? await pageOfDocuments([{ kind, document, path: null } as KnownDocument & { path: null }])
        : drawn(
            await loadKind(kind as "result"),
            document,
            views[view] ? "table" : view,
            fileScreen(views[view]),
          );
    await expect(plain(text)).toMatchFileSnapshot(
      textFile(`${kind}/${name}-${seed}-${view}`.replaceAll(" ", "-")),
    );
  });
});
