import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { inRoot } from "./project.mjs";

/** Modules with outside callers: bin/pinbench.js, users of the library, child processes, threads. */
const entries = ["cli/main.js", "index.js", "fleet/launch/launch-guard.js", "host/family-guard.js"];

/** Entries that load little: `--version` is called often, and guards stay in memory. */
const small = ["cli/main.js", "host/family-guard.js", "fleet/launch/launch-guard.js"];

const licencesFile = "dist/program/LICENSES";

/** Modules that at least this many entry points or on-demand modules share go into one chunk. */
const manySharers = 6;

/**
 * Bundles the compiled program and its packages into a few files in `dist`/program, which users run. Loading 400
 * modules took a third of a short command's time, and 86 still a sixth. On-demand modules stay in their own files. tsc
 * has filled `dist`.
 */
export async function bundleProgram(dist) {
  // Imported late, because it may not be installed.
  const { rolldown } = await import("rolldown");
  const target = join(dist, "program");
  const closures = new Map(small.map((entry) => [join(dist, entry), new Set()]));
  const bundle = await rolldown({
    input: entries.map((entry) => join(dist, entry)),
    platform: "node",
    plugins: [placesOf(dist), withoutUnused, closuresOf(closures)],
    onLog: (_level, { message }) => {
      throw new Error(message);
    },
  });
  // Stack traces need the names of functions and classes.
  const mangle = { toplevel: true, keepNames: { function: true, class: true } };
  const minify = { compress: true, mangle, codegen: { removeWhitespace: true } };
  const groups = [...closures].map(([entry, parts], i) => {
    const isPart = (id) => parts.has(id) && !entries.includes(relative(dist, id));
    return { name: `of-${basename(entry, ".js")}`, priority: small.length + 1 - i, test: isPart };
  });
  groups.push({ name: "common", priority: 1, minShareCount: manySharers });
  const { output } = await bundle.write({
    dir: target,
    chunkFileNames: "[name].js",
    codeSplitting: { groups },
    comments: false,
    minify,
  });
  await bundle.close();
  copyTypes(dist, "index.d.ts", join(target, "types"));
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds);
  writeFileSync(join(target, "LICENSES"), licencesOf(modules));
}

/** Extends each set in `closures` to all modules that its key imports, directly or indirectly, except on demand. */
function closuresOf(closures) {
  return {
    name: "closures",
    buildEnd() {
      for (const [entry, parts] of closures) {
        const add = (id) => {
          if (parts.has(id)) return;
          parts.add(id);
          for (const imported of this.getModuleInfo(id)?.importedIds ?? []) add(imported);
        };
        add(entry);
      }
    },
  };
}

/** Modules that read files from their own folder still find them where tsc put the module. */
function placesOf(dist) {
  return {
    name: "places",
    transform(code, id) {
      if (!id.startsWith(dist) || !code.includes("import.meta.url")) return null;
      const place = `new URL("../${relative(dist, id)}", import.meta.url).href`;
      return { code: code.replaceAll("import.meta.url", place), map: null };
    },
  };
}

/**
 * Parts of packages that are imported but never called: zod's JSON Schema output, which only `npm run schema` needs,
 * and the colours of cli-table3, which are off.
 */
const unused = /\/(zod\/v4\/core\/(json-schema-processors|to-json-schema)|@colors\/colors\/safe)\.js$/;

/** Replaces them by functions that do nothing. */
const withoutUnused = {
  name: "without-unused",
  transform(code, id) {
    if (!unused.test(id)) return null;
    const names = [...code.matchAll(/^export (?:const|class|function) (\w+)/gm)].map(([, name]) => name);
    return { code: names.map((name) => `export const ${name} = () => undefined;\n`).join(""), map: null };
  },
};

/** Copies a declaration file and all its imports to the same paths below `target`. */
function copyTypes(dist, file, target, copied = new Set()) {
  if (copied.has(file)) return;
  copied.add(file);
  mkdirSync(dirname(join(target, file)), { recursive: true });
  cpSync(join(dist, file), join(target, file));
  for (const [, path] of readFileSync(join(dist, file), "utf8").matchAll(/"(\.[^"]+)\.js"/g)) {
    copyTypes(dist, join(dirname(file), `${path}.d.ts`), target, copied);
  }
}

function licencesOf(modules) {
  const folders = modules.flatMap((path) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
    if (file === undefined) throw new Error(`${folder} has no licence to ship.`);
    return `## ${folder.replace(/^.*\/node_modules\//, "")}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return texts.join("\n");
}

/** The packages that are part of the program, by name. */
export function packagesInProgram() {
  return [...readFileSync(inRoot(licencesFile), "utf8").matchAll(/^## (\S+)$/gm)].map(([, name]) => name);
}
