import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { PinbenchError } from "../errors.js";
import type { NativeAddon } from "./contract.js";

const packageRoot = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const addonName = "pinbench.node";
const emulatedLibraryName = "libpinbench_emulated.so";

export interface LoadedAddon {
  addon: NativeAddon;
  /** The emulated driver that belongs to this build: it lies beside the addon. */
  emulatedLibraryPath: string;
}

/**
 * Loads the compiled module: the one that PINBENCH_ADDON names, else the local build. Throws an "unavailable"
 * PinbenchError that says what was tried.
 */
export function loadAddon(environment: NodeJS.ProcessEnv = process.env): LoadedAddon {
  const chosen = environment.PINBENCH_ADDON;
  const path = chosen ? resolve(chosen) : join(packageRoot, "build", "Release", addonName);
  if (!existsSync(path)) {
    throw new PinbenchError("unavailable", `The compiled module is missing: there is no ${path}.`, {
      hint: chosen
        ? "Point PINBENCH_ADDON at a pinbench.node, or unset it."
        : "Run `npm run build` in the checkout (it needs g++, CMake and make).",
    });
  }
  return { addon: openAddon(path), emulatedLibraryPath: join(dirname(path), emulatedLibraryName) };
}

/** Not by `require`, which runs a file as JavaScript whose name does not end in ".node". */
function openAddon(path: string): NativeAddon {
  const loaded: { exports: Partial<NativeAddon> } = { exports: {} };
  const hint = "Run `npm run build` on this machine.";
  try {
    process.dlopen(loaded, path);
  } catch (cause) {
    const reason = (cause instanceof Error ? cause.message : String(cause)).replace(/\.$/, "");
    throw new PinbenchError("unavailable", `The compiled module ${path} does not load: ${reason}.`, {
      hint,
      cause,
    });
  }
  if (typeof loaded.exports.openDriver !== "function") {
    throw new PinbenchError("unavailable", `${path} is a compiled module, but not pinbench's.`, { hint });
  }
  return loaded.exports as NativeAddon;
}
