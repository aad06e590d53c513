import { ExitCode } from "../errors.js";

/** These listen to signals themselves as soon as they are loaded. */
const measuring = ["run", "baseline", "check", "doctor", "pin", "explain"];

let files: readonly string[] = [];

/** Until a measuring command is loaded, which takes a while, Ctrl-C ends it with a sentence. */
export function listenEarly(argv: readonly string[]): void {
  const hasWatcher = argv.some((word) => word.startsWith("--deadline"));
  if (!measuring.includes(argv[0] ?? "") || hasWatcher) return;
  files = argv.flatMap((word, i) => {
    if (word === "--output" || word === "-o") return argv[i + 1] ?? [];
    return word.startsWith("--output=") ? word.slice("--output=".length) : [];
  });
  process.on("SIGINT", onSignal);
}

/** Must be called before another listener is added. */
export function stopListeningEarly(): void {
  process.off("SIGINT", onSignal);
}

function onSignal(): void {
  void import("./interruption.js").then(({ sayNothingMeasured }) => {
    sayNothingMeasured(files);
    process.exit(ExitCode.interrupted);
  });
}
