/**
 * What is done after a file of tests. Files may share a process, in which a helper is loaded once: it cannot call
 * afterAll() for each of them, as each-file.ts does.
 */
const cleanups = new Set<() => void>();

/** Has `cleanup` called after the file that is running; returns what withdraws it. */
export function afterFile(cleanup: () => void): () => void {
  cleanups.add(cleanup);
  return () => cleanups.delete(cleanup);
}

export function cleanUp(): void {
  for (const cleanup of cleanups) cleanup();
  cleanups.clear();
}
