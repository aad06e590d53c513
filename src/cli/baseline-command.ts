import { runFigures } from "../compare/result-set.js";
import { sensitivityOf } from "../compare/sensitivity.js";
import { ExitCode, PinbenchError } from "../errors.js";
import { measureInFreshProcesses } from "../measure/fresh-process.js";
import { prepareRun } from "../measure/prepare.js";
import { programPath } from "../package-facts.js";
import { baselineReport } from "../report/baseline-report.js";
import { jsonReport } from "../report/json.js";
import { noticeOf } from "../results/device-facts.js";
import { createRuns } from "../results/run-folder.js";
import type { ResultDocument } from "../results/schema.js";
import { configurationNote } from "../settings/configuration.js";
import { type CommandSettings, defaultCheckRuns, defaultSignificance } from "../settings/table.js";
import { askedSettings, type Invocation } from "./asked-settings.js";
import { stdoutChalk } from "./delivery.js";
import { Interruption } from "./interruption.js";
import { checkNewFolder } from "./output-paths.js";
import { notesOn } from "./run-command.js";
import { noter, ProgressLine, writeStdout } from "./terminal.js";

/** `pinbench baseline`: returns the exit code; throws PinbenchError. All runs are kept, or none. */
export async function baselineCommand(
  flags: CommandSettings<"baseline">,
  invocation: Invocation,
): Promise<ExitCode> {
  const [folder = ""] = invocation.operands;
  const note = noter(flags);
  const asked = await askedSettings(flags, invocation);
  const { configuration } = asked;
  await checkNewFolder(folder);
  const prepared = await prepareRun(asked.settings);
  const { plan, backend } = prepared;
  if (configuration.path !== null) note(configurationNote(configuration.path));
  for (const text of notesOn(prepared)) note(text);

  const cells = plan.cells.filter(({ skipReason }) => skipReason === null).map(({ id }) => id);
  const { budgetNs } = plan.stopping;
  const settings = { ...plan.settings, backend: backend.name, cells, budgetNs };
  const { runs } = flags;
  const interruption = new Interruption();
  const { signal } = interruption;
  const line = new ProgressLine(flags);
  const documents: ResultDocument[] = [];
  try {
    for await (const event of measureInFreshProcesses(settings, runs, { entry: programPath, signal })) {
      if (event.kind === "start") {
        line.update((columns) => `run ${event.run + 1} of ${runs}, ${cells.length} cells`.slice(0, columns));
      } else {
        checkWhole(event.document);
        documents.push(event.document);
      }
    }
    line.clear();
    const { exitCode } = interruption;
    if (exitCode !== null) {
      const isKept = exitCode === ExitCode.measurement && documents.length > 0;
      if (isKept) await createRuns(folder, documents.map(jsonReport));
      const kept = isKept ? "the baseline has these alone" : "no baseline was written";
      note(`interrupted after ${documents.length} of ${runs} runs: ${kept}.`);
      return exitCode;
    }
    await createRuns(folder, documents.map(jsonReport));
  } finally {
    line.clear();
    interruption.dispose();
  }
  const checkRuns = configuration.runs ?? defaultCheckRuns;
  const report = {
    path: folder,
    runs: documents.length,
    cells: cells.length,
    notice: noticeOf(backend.name),
    checkRuns,
    sensitivity: sensitivityOf(
      documents.map((document) => runFigures(document, null)),
      checkRuns,
      {
        thresholds: configuration.thresholds,
        significance: configuration.significance ?? defaultSignificance,
      },
    ),
  };
  await writeStdout(baselineReport(report, stdoutChalk(flags)));
  return ExitCode.ok;
}

/** What is measured badly today would be what every check is held against. */
function checkWhole({ cells, run }: ResultDocument): void {
  const bad = cells.find(({ outcome }) => outcome === "failed" || outcome === "mismatch");
  if (bad === undefined && run.status === "complete") return;
  const reason =
    bad === undefined
      ? (run.error?.message ?? `the run is ${run.status}`)
      : `${bad.id}: ${bad.outcome === "mismatch" ? "the data came back wrong" : bad.error?.message}`;
  throw new PinbenchError("measurement", `no baseline was written, for a measurement failed (${reason}).`, {
    hint: "`pinbench run` shows all of it.",
  });
}
