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

/** Data files and folders that modules read at run time, next to themselves; tsc does not copy them. */
const assets = ["draw/page/page.css", "draw/page/page-media.css", "pin/programs", "load/programs"];

/** Scripts of pages, not of Node: compiled with the DOM's types, each file by itself. */
const pageScripts = "draw/page/browser";

/** Python programs, copied with their folder next to the module that starts them; tsc does not copy them. */
const pythonPrograms = ["tune/python/main.py", "explain/program/main.py"];

/**
 * Python source without comments and docstrings, a fifth of its size. The lines stay, so that tracebacks name the
 * repository's.
 */
export function withoutComments(source) {
  const blankLines = (text) => "\n".repeat(text.split("\n").length - 1);
  return source
    .replace(/^( *)"""[\s\S]*?"""$/gm, (text, indent) => `${indent}""${blankLines(text)}`)
    .replace(/^ *#(?!!).*$/gm, "");
}

/** Copies a folder of Python below src/ to the compiled program. */
function copyPython(folder, fresh) {
  for (const entry of readdirSync(inRoot("src", folder), { recursive: true, withFileTypes: true })) {
    if (!entry.name.endsWith(".py")) continue;
    const source = join(entry.parentPath, entry.name);
    const target = join(fresh, relative(inRoot("src"), source));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, withoutComments(readFileSync(source, "utf8")));
  }
}

/** Compiles into a new folder and swaps it in, so that dist has no files of deleted sources. */
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

/** tsc also compiles what the scripts take types from; only the scripts are kept. */
async function buildPageScripts(fresh, { quiet }) {
  const compiled = inRoot("build/page-scripts");
  rmSync(compiled, { recursive: true, force: true });
  await run(inRoot("node_modules/.bin/tsc"), ["-p", `src/${pageScripts}`, "--outDir", compiled], {
    cwd: root,
    quiet,
  });
  mkdirSync(join(fresh, pageScripts), { recursive: true });
  for (const file of readdirSync(join(compiled, pageScripts))) {
    // Each page contains them. Indentation is a fifth of their size, and no text spans several lines.
    const text = readFileSync(join(compiled, pageScripts, file), "utf8").replace(/^ +/gm, "");
    writeFileSync(join(fresh, pageScripts, file), text);
  }
}

async function buildNative({ quiet }) {
  // The bare loops are only for bench/, which an installed package lacks.
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

/** Builds the parts with changed inputs or missing outputs. */
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

/** The commit, for --version; null in a copy without its own git folder. */
function recordCommit() {
  // Without a repository, git's message is of no use.
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
