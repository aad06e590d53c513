import { basename } from "node:path";
import { compareVersions, dynamicSymbols, neededLibraries } from "./dynamic-symbols.mjs";
import { linkers } from "./platforms.mjs";
import { ScriptError } from "./process.mjs";

/** Node's own binaries need this glibc, so requiring it excludes no system with Node. */
const newestGlibc = "2.28";

/** Limits for a wheel with the tag manylinux_2_28, from auditwheel's policy of that name. */
const manylinux = {
  newest: { GLIBC: newestGlibc, GLIBCXX: "3.4.24", CXXABI: "1.3.11", GCC: "7.0.0" },
  libraries: new RegExp(
    `^(linux-vdso|${linkers.join("|")}|libc|libm|libdl|libpthread|librt|libutil|libstdc\\+\\+|libgcc_s)\\.so(\\.\\d+)*$`,
  ),
};

/** Intended exports of each file; others could conflict with the process that loads it. */
const exported = {
  "pinbench.node": /^(napi_register_module_v1|node_api_module_get_api_version_v1)$/,
  "libpinbench_emulated.so": /^(cu[A-Z]\w*|nvml[A-Z]\w+|pinbench\w+)$/,
  "libpinbench_trace.so": /^InitializeInjection(Nvtx2)?$/,
};

/** Symbols that keep a file from loading on other systems, as messages. */
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

/** Symbols and libraries that keep a program from running on manylinux_2_28 systems, as messages. */
export function manylinuxFaults(symbols, libraries) {
  const foreign = libraries.filter((name) => !manylinux.libraries.test(name));
  const tooNew = symbols.filter(({ version, isExported }) => {
    const [, library, number] = /^([A-Z]+)_([\d.]+)$/.exec(version ?? "") ?? [];
    const newest = manylinux.newest[library];
    return !isExported && newest !== undefined && compareVersions(number, newest) > 0;
  });
  return [
    ...foreign.map((name) => `needs ${name}, which other machines may lack`),
    ...tooNew.map(({ name, version }) => `needs ${name} of ${version}`),
  ];
}

/** Throws a ScriptError that lists the faults of programs that are shipped unchanged, such as Node. */
export async function checkManylinux(files) {
  const faults = [];
  for (const file of files) {
    const found = manylinuxFaults(await dynamicSymbols(file), await neededLibraries(file));
    faults.push(...found.map((fault) => `${file} ${fault}`));
  }
  refuse(faults);
}

/** Throws a ScriptError that lists the faults of files that are compiled here. */
export async function checkPortability(files) {
  const faults = [];
  for (const file of files) {
    const symbols = await dynamicSymbols(file);
    if (symbols.length === 0) throw new ScriptError(`objdump lists no symbol of ${file}.`);
    faults.push(...portabilityFaults(file, symbols).map((fault) => `${basename(file)} ${fault}`));
  }
  refuse(faults);
}

function refuse(faults) {
  if (faults.length > 0) {
    const shown = [...faults.slice(0, 20), ...(faults.length > 20 ? [`and ${faults.length - 20} more`] : [])];
    throw new ScriptError(`Not fit for other systems (at most GLIBC_${newestGlibc}):\n${shown.join("\n")}`);
  }
}
