import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { bundleProgram } from "./bundle-program.mjs";
import { inputHashes } from "./inputs.mjs";
import { buildAddon } from "./native-build.mjs";
import { prebuiltFiles } from "./prebuilt.mjs";
import { run } from "./process.mjs";
import { inRoot, root } from "./project.mjs";

const stampFile = "build/stamp.json";

/** Data files and folders that modules read at run time from their own folder; tsc does not copy them. */
const assets = ["draw/page/page.css", "draw/page/page-media.css", "pin/programs", "load/programs"];

/** Scripts that run in pages: compiled with DOM types, each file separately. */
const pageScripts = "draw/page/browser";

/** Python programs. Each is copied with its folder next to the module that starts it; tsc does not copy them. */
const pythonPrograms = ["tune/python/main.py", "explain/program/main.py"];

/** Python source without comments and docstrings, which saves a fifth. Line numbers stay, for tracebacks. */
export function withoutComments(source) {
  const blankLines = (text) => "\n".repeat(text.split("\n").length - 1);
  return source
    .replace(/^( *)"""[\s\S]*?"""$/gm, (text, indent) => `${indent}""${blankLines(text)}`)
    .replace(/^ *#(?!!).*$/gm, "");
}

function copyPython(folder, fresh) {
  for (const entry of readdirSync(inRoot("src", folder), { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith(".py")) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(fresh, relative(inRoot("src"), source));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, withoutComments(readFileSync(source, "utf8")));
  }
}

/** Compiles into a new folder and renames it, so that dist keeps no files of deleted sources. */
async function buildTypeScript({ quiet }) {
  const fresh = inRoot("build/dist-new");
  rmSync(fresh, { recursive: true, force: true });
  await run(inRoot("node_modules/.bin/tsc"), ["-p", "tsconfig.json", "--outDir", fresh], {
    cwd: root,
    quiet,
  });
  for (const folder of pythonPrograms.map(dirname)) copyPython(folder, fresh);
  for (const asset of assets) cpSync(inRoot("src", asset), join(fresh, asset), { recursive: true });
  await buildPageScripts(fresh, { quiet });
  await bundleProgram(fresh);
  rmSync(inRoot("dist"), { recursive: true, force: true });
  renameSync(fresh, inRoot("dist"));
}

/** tsc also emits the modules whose types the scripts import; only the scripts are kept. */
async function buildPageScripts(fresh, { quiet }) {
  const compiled = inRoot("build/page-scripts");
  rmSync(compiled, { recursive: true, force: true });
  await run(inRoot("node_modules/.bin/tsc"), ["-p", `src/${pageScripts}`, "--outDir", compiled], {
    cwd: root,
    quiet,
  });
  mkdirSync(join(fresh, pageScripts), { recursive: true });
  for (const file of readdirSync(join(compiled, pageScripts))) {
    // Every page contains these scripts. Indentation is a fifth of their size, and no string spans lines.
    const text = readFileSync(join(compiled, pageScripts, file), "utf8").replace(/^ +/gm, "");
    writeFileSync(join(fresh, pageScripts, file), text);
  }
}

async function buildNative({ quiet }) {
  // Only bench/ uses the bare loops, and an installed package has no bench/.
  const bench = existsSync(inRoot("bench/copy_loop.cpp")) ? "ON" : "OFF";
  await buildAddon("build", { PINBENCH_BUILD_BENCH: bench }, { quiet });
}

const parts = [
  {
    name: "typescript",
    build: buildTypeScript,
    outputs: [
      "dist/program/main.js",
      ...[...pythonPrograms, ...assets, `${pageScripts}/reading.js`].map((file) => `dist/${file}`),
    ],
  },
  {
    name: "native",
    build: buildNative,
    outputs: prebuiltFiles.map((file) => `build/Release/${file}`),
  },
];

function readStamp() {
  try {
    return JSON.parse(readFileSync(inRoot(stampFile), "utf8"));
  } catch {
    return {};
  }
}

/** Builds the parts whose inputs changed or whose outputs are missing. */
export async function ensureBuilt({ quiet = false } = {}) {
  const hashes = inputHashes();
  const stamp = readStamp();
  for (const { name, build, outputs } of parts) {
    if (stamp[name] === hashes[name] && outputs.every((file) => existsSync(inRoot(file)))) continue;
    mkdirSync(inRoot("build"), { recursive: true });
    await build({ quiet });
    stamp[name] = hashes[name];
    writeFileSync(inRoot(stampFile), `${JSON.stringify(stamp, null, 2)}\n`);
  }
  recordCommit();
}

/** Records the commit for --version; null in a copy without its own .git. */
function recordCommit() {
  // Hides git's error message if there is no repository.
  const git = (...args) =>
    execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  let facts = { commit: null, commitDate: null };
  try {
    if (realpathSync(git("rev-parse", "--show-toplevel")) === realpathSync(root)) {
      const commit = git("describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*");
      facts = { commit, commitDate: git("log", "-1", "--format=%cs") };
    }
  } catch {}
  const [file, text] = [inRoot("dist/program/commit.json"), `${JSON.stringify(facts)}\n`];
  if (!existsSync(file) || readFileSync(file, "utf8") !== text) writeFileSync(file, text);
}
