/** These listen to signals themselves as soon as they are loaded. */
const measuring = ["run", "baseline", "check", "doctor", "pin", "load", "explain"];

let onSignal: () => void = () => undefined;

/** Until a measuring command is loaded, which takes a while, Ctrl-C calls `end` with the files of --output. */
export function listenEarly(argv: readonly string[], end: (files: readonly string[]) => void): void {
  const hasWatcher = argv.some((word) => word.startsWith("--deadline"));
  if (!measuring.includes(argv[0] ?? "") || hasWatcher) return;
  const files = argv.flatMap((word, i) => {
    if (word === "--output" || word === "-o") return argv[i + 1] ?? [];
    return word.startsWith("--output=") ? word.slice("--output=".length) : [];
  });
  onSignal = () => end(files);
  process.on("SIGINT", onSignal);
}

/** Must be called before another listener is added. */
export function stopListeningEarly(): void {
  process.off("SIGINT", onSignal);
}
