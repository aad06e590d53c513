import { readFileSync } from "node:fs";

/** The system that a module is loaded on. */
export interface SystemFacts {
  /** Version of glibc; null where the C library is another one. */
  glibc: string | null;
}

/** Costs some milliseconds, so not for the usual way. */
export function systemFacts(): SystemFacts {
  // Without it, the report asks the network for the names of open connections. The types do not know it yet.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } };
  return { glibc: header.glibcVersionRuntime ?? null };
}

/** The newest version of glibc that a library names, which is the oldest that it loads with; null where it names none. */
export function neededGlibc(path: string): string | null {
  const minors = [...readFileSync(path, "latin1").matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) =>
    Number(minor),
  );
  return minors.length === 0 ? null : `2.${Math.max(...minors)}`;
}
