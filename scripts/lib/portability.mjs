import { basename } from "node:path";
import { compareVersions, dynamicSymbols } from "./dynamic-symbols.mjs";
import { ScriptError } from "./process.mjs";

/** Node's own binaries need this version of the C library, so no system that has Node is left out by less. */
const newestGlibc = "2.28";

/** What each file is there to export. Anything else could get in the way of the process that loads it. */
const exported = {
  "pinbench.node": /^(napi_register_module_v1|node_api_module_get_api_version_v1)$/,
  "libpinbench_emulated.so": /^(cu[A-Z]\w*|nvml[A-Z]\w+|pinbench\w+)$/,
};

/** What stands in the way of a compiled file on other systems: one text for each symbol. */
export function portabilityFaults(file, symbols) {
  const faults = [];
  const allowed = exported[basename(file)];
  for (const { name, version, isExported } of symbols) {
    if (isExported) {
      if (allowed !== undefined && !allowed.test(name)) faults.push(`exports ${name}`);
    } else if (/^(GLIBCXX|CXXABI)_/.test(version ?? "")) {
      faults.push(`takes ${name} from the shared libstdc++ (${version})`);
    } else if (version?.startsWith("GLIBC_") && compareVersions(version.slice(6), newestGlibc) > 0) {
      faults.push(`needs ${name} of ${version}`);
    }
  }
  return faults;
}

/** Throws a ScriptError that lists what is wrong with the files. */
export async function checkPortability(files) {
  const faults = [];
  for (const file of files) {
    const symbols = await dynamicSymbols(file);
    if (symbols.length === 0) throw new ScriptError(`objdump lists no symbol of ${file}.`);
    faults.push(...portabilityFaults(file, symbols).map((fault) => `${basename(file)} ${fault}`));
  }
  if (faults.length > 0) {
    const shown = [...faults.slice(0, 20), ...(faults.length > 20 ? [`and ${faults.length - 20} more`] : [])];
    throw new ScriptError(`Not fit for other systems (at most GLIBC_${newestGlibc}):\n${shown.join("\n")}`);
  }
}
