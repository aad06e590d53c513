import { announced } from "../measure/prepare.js";
import { PinMemory } from "../pin/pin-memory.js";
import type { Pinning } from "../pin/pinning-document.js";
import { preparePools } from "../pin/prepare-pools.js";
import { pinSettings } from "../settings/pin-settings.js";
import type { Options } from "../settings/setting.js";
import { callNow, defaultsOf, readOptions } from "../settings/settings.js";
import { forCallers, gpuAlone } from "./for-callers.js";

export interface PinOptions extends Options<typeof pinSettings> {
  /** Ends it early: its document has the results so far, and the status "aborted". */
  signal?: AbortSignal;
}

/**
 * Measures the cost of allocating pinned memory as `pinbench pin` does, and returns the document of its
 * --json. A refused method does not reject: see the document's `pools` and `limits`. Wrong options or an
 * unusable machine reject as a PinbenchError. All memory is freed when the promise settles.
 */
export const pin = forCallers(
  async ({ signal = new AbortController().signal, ...options }: PinOptions = {}): Promise<Pinning> => {
    const call = callNow();
    const prepared = await preparePools({
      ...defaultsOf(pinSettings),
      ...gpuAlone,
      ...readOptions(pinSettings, options),
    });
    const { backend, devices } = prepared;
    return announced({ backend, devices: [...devices] }, async (sharing) => {
      const pinning = new PinMemory({
        ...{ prepared, sharing, signal, labels: {} },
        ...call,
        countedFromMs: call.startedMs,
        onActivity: () => undefined,
      });
      await pinning.measure();
      return pinning.document();
    });
  },
);
