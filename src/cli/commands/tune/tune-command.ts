import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type ExitCode, PinbenchError } from "../../../errors.js";
import { backendNotes } from "../../../report/plan-report.js";
import { type ProgressState, progressLine } from "../../../report/progress.js";
import { describeSetting } from "../../../results/loader-setting.js";
import type { LoaderSetting, Tuning } from "../../../results/tuning.js";
import type { CommandSettings } from "../../../settings/command-settings.js";
import { usualBudgetNs } from "../../../settings/tune-settings.js";
import type { Probe } from "../../../tune/loader-probe.js";
import { machineLimits } from "../../../tune/machine-limits.js";
import { openProbe } from "../../../tune/open-probe.js";
import { formatRate } from "../../../tune/report/tuning-findings.js";
import type { Measured } from "../../../tune/search/choice.js";
import { hasScore, tuneLoader, tuningExitCode } from "../../../tune/tune-loader.js";
import { beginOnDevices } from "../../device-turn.js";
import { Interruption, sayNothingMeasured } from "../../interruption.js";
import { deliverDocument, destinationsOf } from "../../output/document-output.js";
import { nowNs, ProgressLine } from "../../output/progress-line.js";
import { noter } from "../../output/terminal.js";
import { backendFor, type Invocation } from "../../requested-settings.js";

/** How long an interrupted search waits for the probe to close. */
const patienceMs = 1000;

export async function tuneCommand(flags: CommandSettings<"tune">, invocation: Invocation): Promise<ExitCode> {
  const { call, operands } = invocation;
  if (operands.length > 0) {
    // A path with a slash may be an executable script, so it gets no "python3".
    const python = /^[^/]+\.py$/.test(operands[0]!) ? "python3 " : "";
    if (!call.argv.includes("--")) {
      // pinbench would take the command's flags for its own.
      throw new PinbenchError("usage", `"${operands[0]}" is not an option of pinbench tune.`, {
        hint: `Write the training command after --: pinbench tune -- ${python}${operands.join(" ")}.`,
      });
    }
    if (python !== "" && existsSync(operands[0]!)) {
      throw new PinbenchError("usage", `${operands[0]} is a Python file, not a command.`, {
        hint: `Start it with Python: pinbench tune -- python3 ${operands.join(" ")}.`,
      });
    }
    refuseWaiting(flags, "with a command");
    return (await import("./tune-live.js")).tuneLive(flags, operands, call);
  }
  if (flags.torch !== null) refuseWaiting(flags, "with --torch");
  const destinations = await destinationsOf("tuning", flags);
  const { format } = destinations;
  const interruption = new Interruption();
  const line = new ProgressLine(flags);
  let probe: Probe | null = null;
  let tuning: Tuning;
  try {
    line.update((columns) => "opening the data".slice(0, columns));
    // Programs read every format except these.
    const isForPeople = ["table", "markdown", "html"].includes(format);
    const backend = backendFor(flags, invocation, !isForPeople);
    probe = await openProbe({ ...flags, backend }, interruption.signal, {
      begin: (sharing) => beginOnDevices(sharing, flags, interruption.signal),
      onOpen: (opened) => backendNotes(opened).forEach(noter(flags)),
    });
    const budgetNs = flags.budgetNs ?? usualBudgetNs.alone;
    const startedNs = nowNs();
    tuning = await tuneLoader(
      probe,
      {
        ...flags,
        ...call,
        budgetNs,
        limits: machineLimits(flags.ranks),
      },
      interruption.signal,
      (setting, best) =>
        line.update((columns) =>
          progressLine(
            { elapsedNs: nowNs() - startedNs, limitNs: budgetNs, ...trying(setting, best) },
            columns,
          ),
        ),
    );
  } catch (error) {
    if (interruption.exitCode === null) throw error;
    sayNothingMeasured(flags.output);
    return interruption.exitCode;
  } finally {
    line.clear();
    const closing = probe?.close();
    // The results must not wait for a hanging device.
    await (interruption.exitCode === null ? closing : Promise.race([closing, sleep(patienceMs)]));
    interruption.dispose();
  }
  const known = { kind: "tuning", document: tuning } as const;
  if (interruption.exitCode !== null && !hasScore(tuning)) {
    sayNothingMeasured(flags.output);
    await deliverDocument(known, { ...destinations, format: format === "json" ? format : null, files: [] });
    return interruption.exitCode;
  }
  await deliverDocument(known, destinations);
  if (interruption.exitCode !== null) return interruption.exitCode;
  return tuningExitCode(tuning);
}

/** Refuses --wait, because pinbench does not check which devices the user's program uses. */
function refuseWaiting({ waitNs }: CommandSettings<"tune">, where: string): void {
  if (waitNs === null) return;
  throw new PinbenchError("usage", `--wait has no effect ${where}.`, {
    hint: "Leave it out: pinbench then opens no device itself.",
  });
}

function trying(setting: LoaderSetting, best: Measured | null): Pick<ProgressState, "done" | "best"> {
  return {
    done: { text: `trying ${describeSetting(setting)}` },
    best:
      best === null
        ? null
        : {
            text: `${formatRate(best.score.batchesPerSecond)} batches/s`,
            more: describeSetting(best.setting),
          },
  };
}
