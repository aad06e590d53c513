import type { ResultDocument } from "./schema.js";

/** What every output of the emulated device says. */
export const emulatedNotice = "emulated device: figures describe this machine's memory, not a GPU";

/** The notice that a result of this backend carries; null where its figures are a GPU's. */
export function noticeOf(backend: ResultDocument["backend"]): string | null {
  return backend === "emulated" ? emulatedNotice : null;
}
