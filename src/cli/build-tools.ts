import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { PinbenchError } from "../errors.js";
import { packageRoot } from "../package-facts.js";

/** What drives CMake with Node's headers: exactly these, as the lock file of pinbench's development has them. */
export const buildPackages = { "cmake-js": "8.0.0", "node-addon-api": "8.9.2" } as const;

/** Each of these programs will do, and the Debian package that brings the first. */
const needed = [
  { what: "a C++20 compiler", programs: ["c++", "g++", "clang++"], variable: "CXX", debian: "g++" },
  { what: "CMake", programs: ["cmake"], variable: null, debian: "cmake" },
  { what: "make or ninja", programs: ["make", "ninja"], variable: null, debian: "make" },
];

/** Throws an "unavailable" PinbenchError that names all that is missing. */
export function requireBuildTools(environment: NodeJS.ProcessEnv): void {
  const missing = needed.filter(({ programs, variable }) => {
    if (variable !== null && environment[variable]) return false;
    return programs.every((program) => findProgram(program, environment) === null);
  });
  if (missing.length === 0) return;
  const what = missing.map((one) => one.what).join(" and ");
  throw new PinbenchError("unavailable", `Compiling needs ${what}, not found in the PATH.`, {
    hint: `Install it first (Debian: apt-get install ${missing.map(({ debian }) => debian).join(" ")}).`,
  });
}

/** A folder of modules with cmake-js and node-addon-api: that of a checkout, or what npx fetches. */
export function findBuildModules(environment: NodeJS.ProcessEnv): string {
  const local = localModules();
  if (local !== null) return local;
  const npx = findProgram("npx", environment) ?? join(dirname(process.execPath), "npx");
  const packages = Object.entries(buildPackages).flatMap(([name, version]) => [
    "--package",
    `${name}@${version}`,
  ]);
  const { status, stdout, stderr, error } = spawnSync(
    npx,
    ["--yes", ...packages, "--call", "command -v cmake-js"],
    // Elsewhere than in a project, whose own packages npx would mix in.
    { cwd: tmpdir(), env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] },
  );
  if (error) throw cannotFetch(`npx does not start (${(error as NodeJS.ErrnoException).code})`);
  const modules = dirname(dirname(stdout.trim().split("\n").at(-1) ?? ""));
  if (status !== 0 || !hasBuildPackages(modules)) throw cannotFetch(firstReason(stderr));
  return modules;
}

function localModules(): string | null {
  try {
    const path = createRequire(join(packageRoot, "package.json")).resolve("cmake-js/package.json");
    const modules = dirname(dirname(path));
    return hasBuildPackages(modules) ? modules : null;
  } catch {
    return null;
  }
}

/** In the versions that are known to work. */
function hasBuildPackages(modules: string): boolean {
  return Object.entries(buildPackages).every(([name, version]) => {
    const path = join(modules, name, "package.json");
    return (
      existsSync(path) && (JSON.parse(readFileSync(path, "utf8")) as { version: string }).version === version
    );
  });
}

/** The line of npm's many that says what went wrong. */
function firstReason(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.replace(/^npm (error|ERR!)\s*/, "").trim());
  const reason = lines.find(
    (line) => /request to|network|E[A-Z]{4,}/.test(line) && !/^(code|errno)\b/.test(line),
  );
  return (reason ?? lines.find((line) => line !== "") ?? "npx said nothing").replace(/\.$/, "");
}

function cannotFetch(reason: string): PinbenchError {
  const what = Object.entries(buildPackages)
    .map(([name, version]) => `${name} ${version}`)
    .join(" and ");
  return new PinbenchError("unavailable", `Compiling needs ${what}, which npx could not fetch: ${reason}.`, {
    hint: "Check the network and npm's settings (registry, proxy), and try again.",
  });
}

function findProgram(name: string, { PATH = "" }: NodeJS.ProcessEnv): string | null {
  for (const folder of PATH.split(delimiter)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not in this folder.
    }
  }
  return null;
}
