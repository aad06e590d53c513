import { type NvbandwidthResult, type NvbandwidthTestcase, oneLine, unusable } from "./nvbandwidth-json.js";

/** A figure of a test that measures what a cell of pinbench does. */
export interface NvbandwidthFigure {
  test: string;
  direction: "h2d" | "d2h" | "d2d";
  memory: "pinned" | "device";
  /** The column of the matrix: CUDA's ordinal. */
  device: number;
  /** As it was published, GB/s; each byte counted once, also within a device. */
  publishedGBps: number;
}

export interface LeftOut {
  what: string;
  reason: string;
}

/**
 * These hold a stream by a kernel, enqueue warm-up copies, an event, cuMemcpyAsync of one buffer to one other again and
 * again, and an event, and let go (memcpy.cpp, doMemcpyCore). Host memory is cuMemHostAlloc's. That is an event-timed
 * warm cell of one worker.
 */
const counterparts: ReadonlyMap<string, Pick<NvbandwidthFigure, "direction" | "memory">> = new Map([
  ["host_to_device_memcpy_ce", { direction: "h2d", memory: "pinned" }],
  ["device_to_host_memcpy_ce", { direction: "d2h", memory: "pinned" }],
  ["device_local_copy", { direction: "d2d", memory: "device" }],
]);

/** Why a test has no cell, the first pattern that fits its name. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/latency/, "it measures latencies of single accesses or messages"],
  [/^device_to_device|^multinode|all_to_one|one_to_all/, "it copies between GPUs"],
  [/all_to_host|host_to_all/, "several GPUs copy at once, and a cell has one device"],
  [/bidirectional/, "it tells one direction's rate while the other runs, and a cell of both has both rates"],
  [
    /_sm$/,
    "its kernels cut the buffer to a multiple of their threads and repeat in one launch, and mapped cells do neither",
  ],
];

/** The figures that cells can be made of, and all the rest with the reason. Throws a usage error without any. */
export function readFigures(
  { testcases = [] }: NvbandwidthResult,
  name: string,
): { figures: NvbandwidthFigure[]; leftOut: LeftOut[]; gpuCount: number } {
  const figures: NvbandwidthFigure[] = [];
  const leftOut: LeftOut[] = [];
  // A test that fails is there twice: as it was begun, and with its error.
  const failed = testcases.find(({ name: test, status }) => counterparts.has(test) && !isOver(status));
  const broken =
    testcases.find((test) => test.name === failed?.name && /^error$/i.test(test.status)) ?? failed;
  if (broken !== undefined) throw failure(broken, name);

  const seen = new Set<string>();
  let gpuCount = 0;
  for (const testcase of testcases) {
    const { name: test, status } = testcase;
    const counterpart = counterparts.get(test);
    if (counterpart === undefined) {
      const reason = reasons.find(([pattern]) => pattern.test(test))?.[1] ?? "pinbench has no such cell";
      leftOut.push({ what: test, reason });
    } else if (status !== "Passed") {
      leftOut.push({ what: test, reason: `it was not run (${status})` });
    } else {
      if (seen.has(test)) throw unusable(name, `has ${test} twice`, "Run each test once.");
      seen.add(test);
      const row = readRow(testcase, name);
      gpuCount = Math.max(gpuCount, row.length);
      row.forEach((publishedGBps, device) => {
        if (publishedGBps !== null) figures.push({ test, ...counterpart, device, publishedGBps });
        else leftOut.push({ what: `${test} of GPU ${device}`, reason: "it was not run (N/A)" });
      });
    }
  }
  if (figures.length === 0) {
    const ran =
      testcases.length === 0 ? "it has no tests at all" : "none of its tests has a cell in pinbench";
    const hint = "Run nvbandwidth -j -t host_to_device_memcpy_ce device_to_host_memcpy_ce.";
    throw unusable(name, `has no figure to import: ${ran}`, hint);
  }
  return { figures, leftOut: unique(leftOut), gpuCount };
}

function isOver(status: string): boolean {
  return status === "Passed" || status === "Waived";
}

function failure({ name: test, status, error }: NvbandwidthTestcase, name: string) {
  const reason = error === undefined ? "" : `: ${oneLine(error)}`;
  const hint = "Run nvbandwidth again; a test that fails says why without -j.";
  return unusable(
    name,
    `records that ${test} did not succeed (status ${JSON.stringify(status)})${reason}`,
    hint,
  );
}

/** One row: the host; a column a GPU. Null for "N/A". */
function readRow({ name: test, bandwidth_matrix: matrix }: NvbandwidthTestcase, name: string) {
  const rows: unknown[] = Array.isArray(matrix) ? matrix : [];
  const [row] = rows;
  if (rows.length !== 1 || !Array.isArray(row)) {
    throw unusable(name, `has no bandwidth_matrix of one row for ${test}`);
  }
  return row.map((cell: unknown, device) => {
    const text = typeof cell === "string" || typeof cell === "number" ? String(cell).trim() : "";
    if (text === "N/A") return null;
    const isNumber = /^\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text);
    if (isNumber && Number(text) > 0 && Number.isFinite(Number(text))) return Number(text);
    throw unusable(
      name,
      `has ${oneLine(JSON.stringify(cell))} for ${test} of GPU ${device}, which is no rate in GB/s`,
    );
  });
}

function unique(leftOut: readonly LeftOut[]): LeftOut[] {
  return [...new Map(leftOut.map((one) => [one.what, one])).values()];
}
