import { expect, it } from "vitest";
import { fileScreen } from "../../src/draw/screen.js";
import type { DividedPool } from "../../src/pin/pinning-document.js";
import { pinningKind } from "../../src/pin/pinning-report.js";
import { drawn } from "../helpers/drawn.js";
import { buildPinning } from "../helpers/pinning.js";

const GiB = 1024 ** 3;

function divided(processes: number, more: Partial<DividedPool>): DividedPool {
  return {
    ...{ way: "register-huge", pieces: 16 / processes, threads: 16 / processes, sizeBytes: 16 * GiB },
    ...{ processes, nodes: Array(processes).fill(null), aloneNs: 0.55e9, samples: [0.6e9, 0.5e9, 0.55e9] },
    ...{ obtain: { median: 0.55e9, least: 0.5e9, most: 0.6e9 }, reason: null, stalls: null },
    ...more,
  };
}

const linesOf = (pools: DividedPool[]) =>
  drawn(
    pinningKind,
    buildPinning(undefined, { divided: pools }),
    "table",
    fileScreen({ columns: 120 }),
  ).split("\n");

it("what several processes need is in the answer, and by their number in a table", () => {
  const lines = linesOf([
    divided(2, {}),
    divided(4, { obtain: { median: 0.2e9, least: 0.2e9, most: 0.2e9 } }),
    divided(8, { obtain: null, samples: [], reason: "worker process 3 of 8 was killed" }),
  ]);
  const text = lines.join(" ").replaceAll(/\s+/g, " ");
  expect(text).toContain(
    "=> 4 processes that obtain 4 GiB each at once (huge pages, registered in 4 pieces by 4 threads) have all 16 GiB in 200 ms; one process alone takes 550 ms.",
  );
  expect(text).toContain("left out: worker process 3 of 8 was killed (register-huge in 8 processes)");
  const begin = lines.findIndex((line) => line.startsWith("Pools of 16 GiB from several processes"));
  expect(lines.slice(begin + 1, begin + 7).map((line) => line.trim().split(/ {2,}/))).toEqual([
    ["way", "processes", "each", "pieces", "threads", "obtain", "alone"],
    [expect.stringContaining("──")],
    ["register-huge", "2", "8 GiB", "8", "8", "550.0 ±9.1 %", "550.0"],
    ["register-huge", "4", "4 GiB", "4", "4", "200.0 ±0.0 %", "550.0"],
    ["register-huge", "8", "2 GiB", "2", "2", "-", "550.0"],
    ["each, pieces, threads: of each process; alone: one process obtains all"],
  ]);
});

it("the nodes of processes and the waits of another one have columns if they are known", () => {
  const stalls = [{ call: "memory-info", answers: 9, longestNs: 12.5e6, stalledShare: 0.1 } as const];
  const [row, nodes] = linesOf([divided(2, { nodes: [1, 0], stalls })])
    .filter((line) => /register-huge +2 |nodes/.test(line))
    .toReversed();
  expect(nodes!.trim().split(/ {2,}/)).toEqual(expect.arrayContaining(["nodes", "obtain", "alone", "wait"]));
  expect(row).toMatch(/ 8 +1, 0 .* 12\.5$/);
});

it("each way has an answer of its own, and what is known of some pools has a column", () => {
  const stalls = [{ call: "memory-info", answers: 9, longestNs: 12.5e6, stalledShare: 0.1 } as const];
  const usual = { way: "host-alloc", pieces: 1, threads: 1 } as const;
  const lines = linesOf([
    divided(2, { nodes: [1, null], stalls, samples: [0.55e9] }),
    divided(4, { nodes: [0, 1, 0, 1] }),
    divided(2, { ...usual, obtain: { median: 7e9, least: 6e9, most: 8e9 } }),
  ]);
  const answers = lines.join("\n").match(/=> \d processes.*/g)!;
  expect(answers.map((line) => line.slice(0, 14))).toEqual(["=> 4 processes", "=> 2 processes"]);
  const rows = lines.filter((line) => /^ +(register-huge|host-alloc) +\d+ +\d GiB /.test(line));
  expect(rows.map((line) => line.trim().split(/ {2,}/).slice(5))).toEqual([
    ["1, -", "550.0", "550.0", "12.5"],
    ["0, 1", "550.0 ±9.1 %", "550.0"],
    ["-", "7000", "±15 %", "550.0"],
  ]);
  expect(linesOf([divided(2, {})]).join(" ")).not.toContain("longest wait");
});

it("a pool that no process had reached was interrupted before", () => {
  const text = linesOf([divided(2, { obtain: null, samples: [], reason: null })]).join(" ");
  expect(text.replaceAll(/\s+/g, " ")).toContain(
    "left out: interrupted before (register-huge in 2 processes)",
  );
});

it("one process alone is no answer, and a row without figures was left out", () => {
  const pools = [divided(1, {}), divided(2, { obtain: null, samples: [], reason: "refused" })];
  expect(linesOf(pools).join(" ")).not.toContain("at once (");
  const [names, ...rows] = pinningKind.rows!(buildPinning([], { divided: pools }));
  const outcome = names!.indexOf("outcome");
  expect(rows.map((row) => row[outcome])).toEqual(["measured", "omitted"]);
  const columns = ["processes", "samples", "longest_stall_ns", "reason"].map((name) => names!.indexOf(name));
  const stalls = [{ call: "memory-info", answers: 9, longestNs: 12.5e6, stalledShare: 0.1 } as const];
  const figures = pinningKind.rows!(buildPinning([], { divided: [divided(2, { stalls }), pools[1]!] })).slice(
    1,
  );
  expect(figures.map((row) => columns.map((column) => row[column]))).toEqual([
    [2, 3, 12.5e6, null],
    [2, 0, null, "refused"],
  ]);
});
