// Runs pinbench again and again in one process, each time against an emulated driver of its own that fails as it is
// told: a copy of the library, since each reads its environment but once. `node driver-trials.mjs FOLDER` reads trials
// from stdin as JSON, and prints a line of JSON for each: its document, or the error with which it was rejected. What
// the drivers have to say of leaks they write at the end of this process, into FOLDER.
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const folder = process.argv[2];
const { library, index, trials } = JSON.parse(await text(process.stdin));
const { PinbenchError, run, tune } = await import(index);

/** What a trial sets is gone in the next one. */
const inherited = { ...process.env };

function setEnvironment(variables) {
  for (const name of Object.keys(process.env)) if (!(name in inherited)) delete process.env[name];
  Object.assign(process.env, variables);
}

async function attempt({ command, options }) {
  try {
    return { document: await { run, tune }[command]({ ...options, backend: "cuda" }) };
  } catch (error) {
    const isForUsers = error instanceof PinbenchError;
    return {
      rejection: {
        message: isForUsers ? error.message : String(error?.stack ?? error),
        exitCode: isForUsers ? error.exitCode : null,
      },
    };
  }
}

for (const [i, trial] of trials.entries()) {
  const driver = join(folder, `driver-${i}.so`);
  copyFileSync(library, driver);
  setEnvironment({
    ...trial.env,
    PINBENCH_CUDA_LIBRARY: driver,
    PINBENCH_EMULATED_FAULTS: trial.faults.join("; "),
    PINBENCH_EMULATED_LEAKS: join(folder, `driver-${i}.leaks`),
  });
  process.stdout.write(`${JSON.stringify(await attempt(trial))}\n`);
}
