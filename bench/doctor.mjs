// `node bench doctor [--repeat 3] [--machines 100] [--seed 20261124] [--corrupted 20] [--output FILE]` diagnoses:
// 1. emulated devices with one fault: is its cause the first finding, and is its cost close to the real loss?
// 2. simulated machines with several causes: is the costliest first, and do all costs add up to at most the loss?
// 3. devices that corrupt copies: how often are they found?
// With `--gpu 10`: this machine's GPUs, ten times. Run it on a quiet machine: copies must keep up with emulated links.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { allowedCpus } from "../dist/host/cpus.js";
import { corruptedCopies } from "./doctor/corruption.mjs";
import { madeUpMachines } from "./doctor/made-up-machines.mjs";
import { diagnosesOnGpu } from "./doctor/on-gpu.mjs";
import { fixed, printTable, verdict } from "./lib/table.mjs";

const { values } = parseArgs({
  options: {
    repeat: { type: "string", default: "3" },
    machines: { type: "string", default: "100" },
    seed: { type: "string", default: "20261124" },
    corrupted: { type: "string", default: "20" },
    output: { type: "string" },
    // Diagnoses this machine's GPUs instead: this often per preset, and up to 3 times each during a copy loop.
    gpu: { type: "string" },
    backend: { type: "string", default: "cuda" },
    library: { type: "string", default: "libcuda.so.1" },
  },
});

if (values.gpu !== undefined) {
  console.log(`bench:doctor --gpu ${values.gpu}, ${new Date().toISOString().slice(0, 10)}`);
  process.exit((await diagnosesOnGpu(Number(values.gpu), values)) ? 0 : 1);
}

/** Largest relative difference between a reported cost and the real loss. */
const mostError = 0.2;

/** PCIe generation 1 x4: 1 GB/s. */
const link = { generation: 1, width: 4, maxGeneration: 1, maxWidth: 4 };
const [far, near = far] = allowedCpus();

/** A machine with two NUMA nodes of one CPU each. Its firmware says that the device is near the first. */
const twoNodes = {
  "proc/self/status": `Cpus_allowed_list:\t${[far, near].join()}`,
  "sys/devices/system/node/online": "0-1",
  "sys/devices/system/node/node0/cpulist": String(far),
  "sys/devices/system/node/node1/cpulist": String(near),
  "sys/bus/pci/devices/eeee:00:00.0/numa_node": "0",
};

/** `lossGBps`: the loss in each direction; null for a healthy machine. */
const machines = [
  { name: "healthy", nvml: link, cause: null, lossGBps: null },
  { name: "x4 in the place of x16", nvml: { ...link, maxWidth: 16 }, cause: "link-narrow", lossGBps: 3 },
  {
    name: "generation 1 in the place of 2",
    nvml: { ...link, maxGeneration: 2 },
    cause: "link-narrow",
    lossGBps: 1,
  },
  {
    name: "another process copies",
    nvml: {
      ...link,
      processes: `${process.pid}/1GiB`,
      utilization: 90,
      toDeviceBytesPerSecond: 5e8,
    },
    faults: ["all:slow=2"],
    cause: "device-shared",
    lossGBps: 0.5,
  },
  {
    name: "confidential computing",
    nvml: { ...link, confidentialComputing: true },
    faults: ["all:slow=3"],
    cause: "confidential-computing",
    lossGBps: 2 / 3,
  },
  {
    name: "the CPUs of the wrong node",
    nvml: link,
    files: twoNodes,
    numa: `node:cpus=${far}; node:cpus=${near}; device:GBps=0.5,1`,
    flags: [],
    // Copies of 16 MiB leave time to measure all nodes.
    memory: "100MiB",
    needsTwoCpus: true,
    cause: "numa-far",
    lossGBps: 0.5,
  },
  {
    name: "slow, without a visible cause",
    nvml: link,
    faults: ["all:slow=2"],
    cause: "unexplained",
    lossGBps: 0.5,
  },
];

const pinbench = fileURLToPath(new URL("../bin/pinbench.js", import.meta.url));

function treeOf(files) {
  const root = mkdtempSync(join(tmpdir(), "pinbench-doctor-"));
  for (const [path, contents] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${contents}\n`);
  }
  return root;
}

function examine({ nvml, faults = [], files, numa, flags = ["--preset", "quick"], linkGBps = 1, memory }) {
  const root = files === undefined ? null : treeOf(files);
  const env = {
    ...process.env,
    PINBENCH_EMULATED_LINK: String(linkGBps * 1e9),
    ...(memory === undefined ? {} : { PINBENCH_EMULATED_MEMORY: memory }),
    PINBENCH_EMULATED_NVML: Object.entries(nvml)
      .map(([name, value]) => `${name}=${value}`)
      .join(":"),
    PINBENCH_EMULATED_FAULTS: faults.join("; "),
    ...(root === null ? {} : { PINBENCH_EMULATED_ROOT: root }),
    ...(numa === undefined ? {} : { PINBENCH_EMULATED_NUMA: numa }),
  };
  const args = [pinbench, "doctor", "--backend", "emulated", "--json", "--quiet", ...flags];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (root !== null) rmSync(root, { recursive: true, force: true });
      // Doctor exits with code 1 if something costs bandwidth.
      if (stdout === "") reject(new Error(stderr || String(error)));
      else resolve(JSON.parse(stdout));
    });
  });
}

const withCost = ({ findings }) => findings.filter(({ cost }) => cost !== null);

const results = [];
for (const machine of machines) {
  if (machine.needsTwoCpus && near === far) continue;
  for (let i = 0; i < Number(values.repeat); ++i) {
    const diagnosis = await examine(machine);
    const [first] = withCost(diagnosis);
    const told = first?.cost?.gigabytesPerSecond ?? null;
    const error = machine.lossGBps === null || told === null ? null : told / machine.lossGBps - 1;
    results.push({
      name: machine.name,
      wanted: machine.cause,
      found: first?.cause ?? null,
      lossGBps: machine.lossGBps,
      toldGBps: told,
      error,
      isRight: (first?.cause ?? null) === machine.cause && Math.abs(error ?? 0) <= mostError,
      seconds: diagnosis.wallNs / 1e9,
    });
  }
}
const orNone = (value) => (value === null ? "-" : fixed(value));
printTable(
  "Diagnoses of emulated devices by pinbench doctor",
  ["machine", "first cause", "lost GB/s", "told GB/s", "off by", "s", ""],
  results.map(({ name, found, lossGBps, toldGBps, error, seconds, isRight }) => [
    name,
    found ?? "none",
    orNone(lossGBps),
    orNone(toldGBps),
    error === null ? "-" : `${fixed(error * 100, 1)} %`,
    fixed(seconds, 1),
    isRight ? "ok" : "WRONG",
  ]),
);
const isAllRight = (some) => some.every(({ isRight }) => isRight);
const rightOf = (some) => `${some.filter(({ isRight }) => isRight).length} of ${some.length}`;
console.log(`\n${rightOf(results)} as expected: ${verdict(isAllRight(results))}`);

/** Sum of the costs of plain pinned copies in a direction. */
const costsIn = (diagnosis, way) =>
  withCost(diagnosis)
    .filter(({ cost }) => cost.copies === "pinned" && [way, "both"].includes(cost.direction))
    .reduce((sum, { cost }) => sum + cost.gigabytesPerSecond, 0);

/**
 * Attempts per machine, because other programs may keep this one too busy to reach the emulated rate. If all fail, the
 * machine does not count: the load is one more cause. test/doctor/dominant-cause.test.ts tests the same machines
 * without a clock.
 */
const mostTries = 4;
const isKept = ({ devices: [{ rates }] }, { linkGBps, slowdown }) =>
  rates.every(({ gigabytesPerSecond }) => Math.abs((gigabytesPerSecond * slowdown) / linkGBps - 1) < 0.1);

const combined = [];
for (const machine of madeUpMachines(Number(values.machines), Number(values.seed))) {
  let diagnosis;
  let tries = 0;
  do {
    // With copies of 16 MiB, all of them together take a few seconds.
    diagnosis = await examine({ ...machine, memory: "100MiB" });
  } while (!isKept(diagnosis, machine) && ++tries < mostTries);
  const costs = withCost(diagnosis).filter(({ weight }) => weight === "costs");
  const ways = diagnosis.devices[0].rates.map(
    ({ direction, gigabytesPerSecond, expectedGigabytesPerSecond }) => ({
      lost: expectedGigabytesPerSecond - gigabytesPerSecond,
      told: costsIn(diagnosis, direction),
    }),
  );
  const isWithin = ways.every(({ lost, told }) => told <= lost * (1 + 1e-9));
  combined.push({
    ...{ name: machine.name, dominant: machine.dominant, ways, isWithin, tries },
    wasBusy: !isKept(diagnosis, machine),
    found: costs.map(({ cause, cost }) => ({ cause, toldGBps: cost.gigabytesPerSecond })),
    isRight: isWithin && costs[0]?.cause === machine.dominant,
  });
}
printTable(
  "Several causes at once",
  ["machine", "costliest cause", "findings, GB/s", "costs of loss, GB/s, worse direction", ""],
  combined.map(({ name, dominant, found, ways, isRight, wasBusy }) => {
    const [worse] = ways.toSorted((a, b) => b.told / b.lost - a.told / a.lost);
    return [
      ...[name, dominant],
      found.map(({ cause, toldGBps }) => `${cause} ${fixed(toldGBps)}`).join(", "),
      `${fixed(worse.told)} of ${fixed(worse.lost)}`,
      wasBusy ? "busy" : isRight ? "ok" : "WRONG",
    ];
  }),
);
const counted = combined.filter(({ wasBusy }) => !wasBusy);
const again = combined.reduce((sum, { tries }) => sum + tries, 0);
if (again > 0)
  console.log(`\n${again} were repeated: other programs kept this machine too busy for the link`);
if (counted.length < combined.length)
  console.log(
    `\n${combined.length - counted.length} do not count: after ${mostTries} tries copies were still slower than the link`,
  );
const within = combined.filter(({ isWithin }) => isWithin).length;
console.log(
  `\n${rightOf(counted)}: the first finding is the costliest cause: ${verdict(isAllRight(counted))}`,
);
console.log(
  `${within} of ${combined.length}: costs add up to at most the loss: ${verdict(within === combined.length)}`,
);

// Copies of 16 MiB take as long over this link as copies of 64 MiB to a GPU of generation 5.
const corrupted = await corruptedCopies(Number(values.corrupted), ({ faults }) =>
  examine({ nvml: {}, faults, linkGBps: 14, memory: "100MiB" }),
);
printTable(
  "Corrupted copies from the device, with --preset quick",
  ["wrong", "found", "can be found", "copies proven each way, at least", "all proven", ""],
  corrupted.map(({ name, runs, found, expected, fewest, allProven, isRight }) => [
    ...[name, `${found} of ${runs}`, fixed(expected, 1), String(fewest)],
    ...[allProven ? "yes" : "no", isRight ? "ok" : "WRONG"],
  ]),
);
const all = [...results, ...combined, ...corrupted];
if (values.output) writeFileSync(values.output, `${JSON.stringify(all, null, 1)}\n`);
const isSound = within === combined.length && 2 * counted.length >= combined.length;
process.exitCode = isSound && isAllRight([...results, ...counted, ...corrupted]) ? 0 : 1;
