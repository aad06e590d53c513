import { describe, expect, it } from "vitest";
import type { CellProgress } from "../../src/measure/cell-progress.js";
import { type Measure, measureInRounds, type Visit } from "../../src/measure/rounds.js";
import type { MeasureRequest } from "../../src/native/contract.js";
import type { Verifying } from "../../src/settings/choices.js";
import { buildLink } from "../helpers/result-document.js";
import { FakeSession, KiB, MiB, measureWith, nativeError, progressOf, withStoppedClock } from "./support.js";

/* Which cells are measured, in which order and how often, and their outcomes, against snapshots/rounds. */

withStoppedClock();

interface Asked {
  cells: CellProgress[];
  session?: FakeSession;
  /** In place of the session's visits, with these made by the session. */
  measure?: (measureAll: Measure) => Measure;
  samples?: number | null;
  precision?: number;
  budgetNs?: number;
  verify?: Verifying;
  givesUp?: boolean;
  signal?: AbortSignal;
}

/** Measures to the end; resolves with the number of rounds that were measured whole. */
async function measureAll({ cells, session = new FakeSession(), measure, ...asked }: Asked): Promise<number> {
  const { samples = 6, precision = 0.01, budgetNs = 0, givesUp = false } = asked;
  const stopping = { precision, budgetNs, samplesPerCell: samples };
  const plan = { stopping, settings: { verify: asked.verify ?? "last" } };
  const signal = asked.signal ?? new AbortController().signal;
  const bySession = measureWith(session);
  let rounds = 0;
  const options = { plan, budgetNs, signal, givesUp };
  for await (const event of measureInRounds(measure?.(bySession) ?? bySession, cells, options)) {
    if (event.kind === "round") rounds = event.round + 1;
  }
  return rounds;
}

const twoCells = () => [progressOf({ memory: "pageable" }), progressOf({ memory: "pinned" })];
const cells = (...parts: Parameters<typeof progressOf>[0][]) => parts.map((part) => progressOf(part));
const together = [0, 1];
const pair = () => together.map((device) => progressOf({ device, together }));

/** Rates that no number of samples narrows down: every second copy takes twice as long. */
const unsteady = (isSo: (request: MeasureRequest, direction: string) => boolean = () => true) =>
  new FakeSession((request, sample, direction) =>
    isSo(request, direction) && sample % 2 === 1 ? 200_000 : 100_000,
  );

function withSession(
  part: Omit<Asked, "session">,
  before: (request: MeasureRequest, session: FakeSession) => ReturnType<FakeSession["beforeMeasure"]>,
): Asked {
  const session = new FakeSession();
  session.beforeMeasure = (request) => before(request, session);
  return { ...part, session };
}

/** Aborted in the fourth visit. */
function aborted(
  end: (controller: AbortController) => ReturnType<FakeSession["beforeMeasure"]>,
  visit: number,
) {
  const controller = new AbortController();
  return withSession({ cells: twoCells(), signal: controller.signal }, (_, session) =>
    session.visits.length < visit ? {} : end(controller),
  );
}

const mismatch = { direction: "h2d", worker: 0, offsetBytes: 8, mismatchedBytes: 8 } as const;
const between = { direction: "p2p", memory: "device", peer: 1, path: "read" } as const;
const blocks = (sizeBytes: number, part: Parameters<typeof progressOf>[0]) => ({
  ...{ cells: cells({ sizeBytes, ...part }) },
  session: new FakeSession(({ blocks: asked, sizeBytes: bytes }) => (bytes / asked!.bytes) * 3000),
});
/** One slow sample of pinned memory widens its interval until four more have come; pageable memory never converges. */
const nearAndFar = ({ memory, verify }: MeasureRequest, sample: number) =>
  memory === "pageable"
    ? 100_000 * (1 + (sample % 2))
    : verify !== "none" && sample === 0
      ? 120_000
      : 100_000;

const situations: [what: string, asked: () => Asked][] = [
  ["two cells", () => ({ cells: twoCells(), samples: 12 })],
  [
    "every copy compared",
    () => ({ cells: cells({}, { cache: "warm", buffersPerWorker: 1 }), verify: "every" }),
  ],
  ["many buffers", () => ({ cells: cells({ buffersPerWorker: 32 }), samples: 12 })],
  [
    // 4 MiB in a tenth of a millisecond: a copy of 64 MiB takes 16 times as long.
    "a copy larger than those that calibrate",
    () => ({
      cells: cells({ sizeBytes: 64 * MiB }),
      session: new FakeSession(({ sizeBytes }) => (sizeBytes / (4 * MiB)) * 100_000),
    }),
  ],
  ...["h2d", "d2h"].map((slow): [string, () => Asked] => [
    `both directions, of which ${slow} is slower`,
    () => ({
      cells: cells({ direction: "bidir" }),
      session: new FakeSession((_, _sample, direction) => (direction === slow ? 1e6 : 100_000)),
    }),
  ]),
  [
    "a pipeline of many chunks",
    () => ({
      cells: cells({ sizeBytes: 64 * MiB, chunks: 16384 }),
      session: new FakeSession(({ pipeline, sizeBytes }) => pipeline!.computeNs + sizeBytes / 50),
    }),
  ],
  ["blocks by a kernel", () => blocks(9 * MiB, { blockBytes: 3 * MiB, blockWay: "kernel" })],
  ["blocks by a loop", () => blocks(16 * MiB, { blockBytes: 4096, blockWay: "loop" })],
  [
    "a link that is read in the second visit",
    () =>
      withSession({ cells: cells({}) }, ({ readLink }, session) => ({
        link: readLink && session.visits.length > 1 ? buildLink() : null,
      })),
  ],
  ["copies during which the link may be idle", () => ({ cells: cells({ memory: "host" }, between) })],
  ["a skipped cell", () => ({ cells: cells({ skipReason: "no reason" }) })],
  ["a narrow interval after 6 samples", () => ({ cells: cells({}), samples: null, budgetNs: 1e12 })],
  ["a wide interval and no budget", () => ({ cells: cells({}), session: unsteady(), samples: null })],
  [
    "a wide interval and a budget",
    () => ({ cells: cells({}), session: unsteady(), samples: null, budgetNs: 1e9 }),
  ],
  [
    "a hopeless cell that may be given up",
    () => ({ cells: cells({}), session: unsteady(), samples: null, budgetNs: 1e9, givesUp: true }),
  ],
  [
    // A third to both sides: twice as wide as asked for is worth the time that there is.
    "a cell that is not hopeless",
    () => ({
      cells: cells({}),
      session: unsteady(),
      samples: null,
      budgetNs: 1e9,
      givesUp: true,
      precision: 0.2,
    }),
  ],
  [
    "one odd sample among the first",
    () => ({
      ...{ cells: cells({}), samples: null, budgetNs: 1e9, givesUp: true },
      session: new FakeSession(({ verify }, sample) =>
        verify !== "none" && sample === 0 ? 200_000 : 100_000,
      ),
    }),
  ],
  [
    "a count that rounds do not divide",
    () => ({ cells: cells({}), session: unsteady(), samples: 7, budgetNs: 1e12 }),
  ],
  ["latency of four workers", () => ({ cells: cells({ mode: "latency", workers: 4 }) })],
  [
    "an unsteady cell beside a steady one",
    () => ({
      cells: twoCells(),
      session: unsteady(({ memory }) => memory === "pageable"),
      ...{ samples: null, budgetNs: 1e9 },
    }),
  ],
  ...["h2d", "d2h", "none"].map((direction): [string, () => Asked] => [
    `both directions, unsteady is ${direction}`,
    () => ({
      cells: cells({ direction: "bidir" }),
      session: unsteady((_, timed) => timed === direction),
      ...{ samples: null, budgetNs: 1e9 },
    }),
  ]),
  [
    "a cell that fails",
    () =>
      withSession({ cells: twoCells() }, ({ memory }) => {
        if (memory === "pageable") throw nativeError("CUDA_ERROR_UNKNOWN");
        return {};
      }),
  ],
  [
    "a context that is lost",
    () =>
      withSession({ cells: [...twoCells(), progressOf({ memory: "registered" })] }, ({ memory, verify }) => {
        if (memory === "pinned" && verify !== "none") throw nativeError("CUDA_ERROR_ILLEGAL_ADDRESS", true);
        return {};
      }),
  ],
  [
    "wrong data in the second visit",
    () =>
      withSession({ cells: cells({}) }, (_, session) =>
        session.visits.length === 2
          ? { verification: { checkedBytes: 64, mismatches: [mismatch], copies: 1, provenCopies: 1 } }
          : {},
      ),
  ],
  [
    "an abort within a call",
    () =>
      aborted((controller) => {
        controller.abort();
        return { aborted: true };
      }, 4),
  ],
  [
    "an abort that rejects the call",
    () =>
      aborted((controller) => {
        controller.abort();
        throw nativeError("ABORTED");
      }, 0),
  ],
  [
    "loads, each of which begins once a round",
    () => ({
      cells: cells(
        ...(["host", "compute", undefined, "host", "compute", undefined] as const).map((beside, i) => ({
          ...{ sizeBytes: (6 - i) * KiB, ...(beside && { beside }) },
        })),
      ),
    }),
  ],
  ["devices alone and together", () => ({ cells: [...cells({ device: 0 }, { device: 1 }), ...pair()] })],
  [
    "devices together, of which the second is unsteady",
    () => {
      let visit = 0;
      const measure =
        (bySession: Measure): Measure =>
        async (visits) => {
          const results = await bySession(visits);
          const second = results[1];
          if (second?.status === "fulfilled" && visit++ % 2 === 0) {
            for (const column of second.value.columns) column.durationNs[0]! *= 2;
          }
          return results;
        };
      return { cells: pair(), measure, samples: null };
    },
  ],
  [
    "devices together, of which the second fails",
    () => {
      const measure =
        (bySession: Measure): Measure =>
        async (visits) => {
          if (visits.length === 1) return bySession(visits);
          const [first] = await bySession(visits.slice(0, 1));
          return [first!, { status: "rejected", reason: nativeError("CUDA_ERROR_LAUNCH_FAILED") }];
        };
      return { cells: pair(), measure };
    },
  ],
  [
    "devices together, of which the first had failed before",
    () => {
      const both = pair();
      both[0]!.fail(nativeError("CUDA_ERROR_OUT_OF_MEMORY"));
      return { cells: both };
    },
  ],
  [
    // 50 and 25 copies a sample, in 8 buffers.
    "devices together, each in its own memory",
    () => {
      const sessions = [new FakeSession(() => 100_000), new FakeSession(() => 200_000)];
      const measure = () => (visits: Parameters<Measure>[0]) =>
        Promise.allSettled(
          visits.map(({ progress, request }) => sessions[progress.cell.device]!.measure(request)),
        );
      return { cells: pair(), measure };
    },
  ],
];

/** A visit as text, with the number of those made at once. */
function visitOf({ progress, request }: Visit, atOnce: number): string {
  const { samples, copiesPerSample, firstBuffer, buffers, warmupBytes, warmupCopies, verify } = request;
  const more = JSON.stringify({ pipeline: request.pipeline, blocks: request.blocks });
  return [
    `  ${progress.cell.id} of ${atOnce}: ${request.sizeBytes}, ${samples} × ${copiesPerSample}`,
    `buffers ${firstBuffer} of ${buffers}, warm ${warmupCopies} × ${warmupBytes}`,
    `verify ${verify}, link ${request.readLink} ${more}`,
  ].join(", ");
}

function cellOf(progress: CellProgress): string {
  const {
    cell,
    outcome,
    taken,
    copiesPerSample,
    error,
    skipReason,
    halfWidth,
    mismatches,
    visitNsPerSample,
  } = progress;
  const { copies, provenCopies, hostNsPerBlock, linkLimitGBps, stats, samples } = progress;
  const rounds = samples.map(({ round, bytesPerSample }) => [bytesPerSample, round.join("")]);
  const widths = stats.map(({ relativeHalfWidth, linkShare }) => [relativeHalfWidth, linkShare]);
  const figures = {
    ...{
      outcome,
      taken,
      copiesPerSample,
      visitNsPerSample,
      error: error?.code,
      skipReason,
      halfWidth,
      mismatches,
      copies,
    },
    ...{ provenCopies, hostNsPerBlock, linkLimitGBps, rounds, widths },
  };
  return `${cell.id}: ${JSON.stringify(figures, (_, value) => (typeof value === "number" ? Number(value.toPrecision(6)) : value))}`;
}

describe("cells that are measured in rounds", () => {
  it.each(situations)("match their snapshot of visits and outcomes with %s", async (what, ask) => {
    const visited: string[] = [];
    const asked = ask();
    const measure = (bySession: Measure): Measure => {
      const inner = asked.measure?.(bySession) ?? bySession;
      return (visits) => {
        visited.push(...visits.map((visit) => visitOf(visit, visits.length)));
        return inner(visits);
      };
    };
    const rounds = await measureAll({ ...asked, measure });
    const shown = visited.length > 60 ? [...visited.slice(0, 30), ...visited.slice(-10)] : visited;
    const lines = [`${rounds} rounds, ${visited.length} visits`, ...asked.cells.map(cellOf), ...shown];
    const name = what.replaceAll(/[^A-Za-z0-9]+/g, "-");
    await expect(`${lines.join("\n")}\n`).toMatchFileSnapshot(`snapshots/rounds/${name}.txt`);
  });

  it("finish the cell that is nearer to its end if the budget is too small for two", async () => {
    const least = twoCells();
    const startedMs = performance.now();
    await measureAll({ cells: least, session: new FakeSession(nearAndFar), samples: null });
    const leastNs = (performance.now() - startedMs) * 1e6;
    expect(least.map(({ outcome, taken }) => [outcome, taken])).toEqual(Array(2).fill([null, 6]));
    const both = twoCells();
    const [farNs, nearNs] = least.map(({ visitNsPerSample }) => 4 * visitNsPerSample) as [number, number];
    const budgetNs = leastNs + Math.max(farNs, nearNs) + 1e6;
    await measureAll({ cells: both, session: new FakeSession(nearAndFar), samples: null, budgetNs });
    expect(both.map(({ outcome, taken }) => [outcome, taken])).toEqual([
      [null, 6],
      ["converged", 10],
    ]);
  });
});
