/**
 * A reader that closes the pipe early (`pinbench run | head -1`) has what it wants: that is no failure, and there
 * is nobody left to tell.
 */
export function surviveClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}

/** Writes data to stdout and waits until it is handed over. */
export async function writeStdout(text: string): Promise<void> {
  await new Promise<void>((resolve) => {
    process.stdout.write(text, () => resolve());
  });
}
