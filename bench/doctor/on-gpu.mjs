// On a GPU: doctor on a healthy machine, in full and with --preset quick, and during a loop of bare copies.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { fixed, printTable } from "../lib/table.mjs";

const pinbench = fileURLToPath(new URL("../../bin/pinbench.js", import.meta.url));
const copyLoop = fileURLToPath(new URL("../../build/Release/copy_loop", import.meta.url));

/** Time for the loop to create its context and buffers. */
const untilCopyingMs = 5000;
const loopSeconds = 300;

/** Prints the diagnoses of this machine's GPUs; returns whether all are as expected. */
export async function diagnosesOnGpu(times, { backend, library }) {
  const rows = [];
  const examineAll = async (name, count, isRight) => {
    for (const flags of [[], ["--preset", "quick"]]) {
      for (let i = 0; i < count; ++i) rows.push(await examine(name, flags, backend, isRight));
    }
  };
  await examineAll("healthy", times, ({ verdict }) => verdict === "healthy");
  const options = {
    library,
    ...{ direction: "h2d", memory: "pinned", size: 2 ** 28, copies: 16 },
    ...{ "start-at": process.hrtime.bigint() + BigInt(untilCopyingMs * 1e6), "run-for": loopSeconds * 1e9 },
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(copyLoop, args, { stdio: ["ignore", "ignore", "inherit"] });
  try {
    await sleep(untilCopyingMs + 1000);
    if (child.exitCode !== null) throw new Error("the copy loop has ended");
    await examineAll("a copy loop runs", Math.min(3, times), ({ findings }) => {
      return findings[0]?.cause === "device-shared";
    });
  } finally {
    if (child.exitCode === null && child.kill("SIGKILL")) await once(child, "exit");
  }
  printTable(
    "pinbench doctor on this machine",
    ["machine", "flags", "verdict", "first finding", "GB/s of device 0", "s", ""],
    rows.map(({ cells, isRight }) => [...cells, isRight ? "ok" : "WRONG"]),
  );
  const right = rows.filter(({ isRight }) => isRight).length;
  console.log(`\n${right} of ${rows.length} as expected`);
  return right === rows.length;
}

async function examine(name, flags, backend, isRight) {
  const args = [pinbench, "doctor", "--backend", backend, "--json", "--quiet", ...flags];
  const stdout = await new Promise((resolve, reject) => {
    execFile(process.execPath, args, { maxBuffer: 2 ** 26 }, (error, text, stderr) => {
      if (text === "") reject(new Error(stderr || String(error)));
      else resolve(text);
    });
  });
  const diagnosis = JSON.parse(stdout);
  const [first] = diagnosis.findings.filter(({ weight }) => weight === "costs");
  const rates = diagnosis.devices[0].rates.map(({ gigabytesPerSecond: rate }) =>
    rate === null ? "-" : fixed(rate, 1),
  );
  const cells = [
    name,
    flags.join(" "),
    diagnosis.verdict,
    first?.cause ?? "none",
    rates.slice(0, 2).join(", "),
  ];
  return { cells: [...cells, fixed(diagnosis.wallNs / 1e9, 1)], isRight: isRight(diagnosis) };
}
