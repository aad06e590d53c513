import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, vi } from "vitest";
import { PinbenchError } from "../../../src/errors.js";
import type { FleetDocument } from "../../../src/fleet/fleet-document.js";
import type { LaunchedNode } from "../../../src/fleet/fleet-manifest.js";
import { judgeResults } from "../../../src/fleet/judge-results.js";
import { readFleet } from "../../../src/fleet/read-fleet.js";
import { fleetKind } from "../../../src/fleet/report/fleet-report.js";
import { fillRunSettings } from "../../../src/settings/settings.js";
import { reportOf } from "../../helpers/drawn.js";
import { fixtureRoot } from "../../helpers/fixture-root.js";
import { manifest } from "../../helpers/node-results.js";
import {
  buildCell,
  buildDevice,
  buildDocument,
  buildFailed,
  buildLink,
  buildMismatch,
  buildSkipped,
  type CellPart,
  KiB,
  MiB,
} from "../../helpers/result-document.js";
import { type Seeded, seeded } from "../../helpers/seeded.js";
import { draws } from "../draws.js";

afterEach(() => {
  vi.useRealTimers();
});

const parts: readonly (CellPart & { level: number })[] = [
  { sizeBytes: 64 * MiB, level: 55 },
  { sizeBytes: 64 * MiB, direction: "d2h", level: 54 },
  { sizeBytes: 64 * MiB, memory: "pageable", level: 11 },
  { sizeBytes: 4 * KiB, mode: "latency", level: 7 },
  { sizeBytes: 64 * MiB, direction: "bidir", level: 40 },
  { sizeBytes: 64 * MiB, together: [0, 1], level: 51 },
  { sizeBytes: 64 * MiB, together: [0, 1], direction: "d2h", level: 50 },
  { sizeBytes: 64 * MiB, memory: "host", level: 9 },
];
const at = (minutes: number) => new Date(Date.UTC(2026, 10, 20, 9) + minutes * 60e3).toISOString();

interface Machine {
  host: string;
  gpus: readonly number[];
  /** Which GPUs these are: another number for others at the same places. */
  series: number;
  speed: number;
}

/** What a node measured, with parts that failed, were skipped, or came back wrong. */
function result(
  { one, is, normal, below }: Seeded,
  { host, gpus, series, speed }: Machine,
  minutes: number,
  isHealthy: boolean,
) {
  const ill = (share: number) => !isHealthy && is(share);
  const used = ill(0.2) ? parts.filter(() => is(0.6)) : parts;
  const status = ill(0.15) ? one(["failed", "aborted"] as const) : "complete";
  const isDead = ill(0.05);
  const unlike = ill(0.2);
  const hasNoUuid = ill(0.1);
  const cells = gpus.flatMap((_, device) =>
    used.flatMap(({ level, ...part }) => {
      const cell = { ...part, device };
      if (isDead || ill(0.06)) {
        return one([
          () => buildFailed(cell, "CUDA_ERROR", one(["it broke.", "no memory"])),
          () => buildSkipped(cell, "too large"),
          () => buildFailed(cell, "CUDA_ERROR", "it broke."),
          () => buildCell({ ...cell, result: { outcome: null } }),
          () => (ill(0.3) ? buildMismatch(cell) : []),
        ])();
      }
      const rate = level * speed ** (part.mode === "latency" ? -1 : 1) * Math.exp(0.002 * normal());
      if (part.mode === "latency")
        return buildCell({ ...cell, GBps: 1, latencyUs: { median: rate, p99: 2 * rate } });
      return buildCell({
        ...cell,
        GBps: part.direction === "bidir" ? { h2d: rate, d2h: 0.98 * rate, sum: 1.98 * rate } : rate,
      });
    }),
  );
  const devices = gpus.map((gpu, ordinal) => {
    const link = buildLink({
      width: ill(0.1) ? 8 : 16,
      maxGeneration: ill(0.05) ? null : 5,
      maxWidth: ill(0.05) ? 8 : 16,
    });
    const uuid = hasNoUuid ? null : ill(0.05) ? "GPU-same" : `GPU-${host}-${series}-${gpu}`;
    return buildDevice({
      ordinal,
      uuid,
      link: ill(0.05) ? null : link,
      name: unlike && ordinal > 0 ? "NVIDIA H100" : "NVIDIA H200",
      pciBusId: ill(0.05) ? null : `0000:${gpu + 1}0:00.0`,
    });
  });
  const labels = { ...(ill(0.2) && { node: `${host}-label` }), rack: host.at(-1)! };
  const settings = {
    ...fillRunSettings(),
    ...(ill(0.2) && { devices: [0], ...(is(0.7) && { origins: { devices: "flag" } }) }),
  };
  const error =
    status === "failed" && is(0.7)
      ? { code: "X", message: "the driver went away", call: null, location: "a.cpp:1", sticky: true }
      : null;
  return buildDocument({
    ...{
      cells,
      devices,
      host: { hostname: host, kernel: ill(0.2) ? "6.8" : "6.1", cpuQuota: ill(0.1) ? 4 : null },
    },
    ...{
      plan: { settings, numa: ill(0.1) ? 0 : "local" } as never,
      driverVersion: ill(0.1) ? "570.1" : "580.1",
    },
    ...(ill(0.05) && { backend: "emulated" as const }),
    run: {
      id: ill(0.03) ? "same" : `${host}-${series}-${minutes}-${gpus}`,
      startedAt: at(minutes),
      finishedAt: null,
      wallNs: one([8e9, 120e9, 1e9 * below(300)]),
      status,
      error,
      labels,
    } as never,
  });
}

async function judgement(seed: number): Promise<[string, unknown]> {
  const chosen = seeded(seed);
  const { one, is, list } = chosen;
  const folder = fixtureRoot();
  const write = (name: string, content: object | string) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  };
  const isHealthy = is(0.2);
  const count = one([2, 3, 5, 6]);
  const site = {
    listed: [
      {
        gpu: "NVIDIA H200",
        alone: { h2d: 0.8, d2h: 0.8 },
        tolerance: 0.03,
        sources: ["us"],
        together: null,
        driver: one(["580.1", "570.1", null]),
      },
    ],
  };
  const launched: (Partial<LaunchedNode> & { host: string })[] = [];
  const again: (Partial<LaunchedNode> & { host: string })[] = [];
  const states = ["measured", "failed", "late", "missing", "running", "wrong data"] as const;
  for (const i of list(count, (node) => node)) {
    const host = `n${i + 1}`;
    const speed = isHealthy ? 1 : one([1, 1, 1, 0.5, 0.8, 0.93]);
    const gpus = is(0.8) ? [0, 1] : [0, 1, 2];
    const machine = { host, gpus, series: 0, speed };
    let minutes = one([0, 1, 4.9, 5, 1440]);
    for (let k = one([0, 1, 1, 1, 2, 2, 3, 4]); k > 0; --k) {
      const shape = isHealthy
        ? "same"
        : one(["same", "same", "same", "part", "part", "other", "slower", "broken"] as const);
      const own = {
        ...{ same: machine, broken: machine, other: { ...machine, series: 1 } },
        ...{
          part: { ...machine, gpus: one([[0], [1], [2, 3], [3]]) },
          slower: { ...machine, speed: speed * one([0.5, 0.85, 0.97, 1.1]) },
        },
      }[shape];
      const name = `${one(["", "", "a/", "b/c/", "launch/", "launch/"])}${host}${one(["", "", `-${k}`])}.json`;
      write(
        name,
        shape === "broken" ? one(["{", "", '{"schemaVersion": 9}']) : result(chosen, own, minutes, isHealthy),
      );
      if (name.startsWith("launch/"))
        launched.push({
          host: is(0.8) ? host : `${host}.site`,
          state: one(["measured", "measured", ...states]),
          file: name.slice(7),
          reason: one([null, "It stopped."]),
        });
      minutes += one([0.5, 1, 3, 60, 1440, -30]);
    }
    if (is(0.3))
      launched.push({
        host: is(0.5) ? host : `x${i}`,
        state: one(states),
        reason: one([null, "It stopped."]),
      });
    if (is(0.7)) {
      write(
        `launch/confirm/${host}.json`,
        result(chosen, { ...machine, speed: one([speed, 1, (1 + speed) / 2]) }, 1500, isHealthy || is(0.7)),
      );
      again.push({ host, file: `${host}.json` });
    }
  }
  const hasLaunch = is(0.8);
  if (hasLaunch)
    write(
      "launch/fleet-run.json",
      is(0.1)
        ? "{"
        : { ...manifest(launched), startedAt: at(one([-60, 2, 2000])), finishedAt: one([null, at(2010)]) },
    );
  if (is(0.8)) write("launch/confirm/fleet-run.json", manifest(again));
  if (is(0.3))
    write("b/fleet-run.json", {
      ...manifest([
        { host: "n1", state: one(states) },
        { host: "n9", state: "missing", reason: "It is off." },
      ]),
      startedAt: at(one([-100, 700])),
    });
  for (const kind of [
    "comparison",
    "tuning",
    "history",
    "baseline",
    "diagnosis",
    "explanation",
    "pinning",
    "fleet",
  ])
    if (is(0.1)) write(`${kind}.json`, { kind });
  if (is(0.2)) write(".hidden/n1.json", "{");
  if (is(0.2)) write("a/notes.txt", "{");
  write("reference", site);
  mkdirSync(join(folder, "a"), { recursive: true });
  const paths = one([
    [folder],
    [folder],
    [join(folder, "a"), folder],
    [join(folder, "a"), join(folder, "launch")],
  ]);
  const [since, reference] = [
    one([null, null, at(1), at(1000), at(3000)]),
    one([null, join(folder, "reference")]),
  ];
  vi.useFakeTimers({ toFake: ["Date"] });
  vi.setSystemTime(at(one([2000, 50_000, 1400])));
  const request = {
    threshold: 0.05,
    since,
    reference,
  };
  const told = (one: unknown) => (one instanceof PinbenchError ? { ...one, message: one.message } : one);
  const judged: unknown = await judgeResults(paths, request).catch(told);
  const read: unknown = await readFleet(paths, since).catch(told);
  const maps = (_key: string, value: unknown) =>
    value instanceof Map
      ? [...value].map(([key, one]) => [key, typeof one === "number" ? +one.toPrecision(9) : one])
      : value;
  const texts = JSON.parse(
    JSON.stringify({ judged: { document: judged }, read }, maps).replaceAll(folder, "/data"),
  ) as {
    judged: { document?: FleetDocument };
  };
  const { document } = texts.judged;
  // Else it is the error that refused the folders.
  const isFleet = document?.kind === "fleet";
  if (isFleet) document.tool = { name: "pinbench", version: "0.1.0" };
  return [
    `${seed}: ${count} nodes, ${isHealthy ? "healthy" : "of any kind"}, ${hasLaunch ? "launched" : "gathered"}, since ${since}`,
    { ...texts, report: isFleet && reportOf(fleetKind, document) },
  ];
}

draws(import.meta.url, async () => {
  const outputs: [string, unknown][] = [];
  for (let seed = 1; seed <= 40; ++seed) outputs.push(await judgement(seed));
  return outputs;
});
