import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
// @ts-expect-error Scripts are JavaScript without types.
import { bundledTests } from "../scripts/lib/bundled-tests.mjs";

const source = fileURLToPath(new URL("../src", import.meta.url));

/** docs/architecture.md's layers, top to bottom: a folder may import from lower lines and its own. */
const layers = [
  ["index.ts"],
  ["library", "cli"],
  ["kinds"],
  ["tune", "fleet", "explain", "doctor", "pin", "load", "trace"],
  ["report"],
  ["measure", "compare"],
  ["plan"],
  ["native"],
  ["reference"],
  ["results"],
  ["host"],
  ["settings"],
  ["draw"],
  ["stats", "package-facts.ts", "text-file.ts"],
  ["machine-shortage.ts"],
  ["errors.ts"],
];

/** The files of src that each of them imports, types and what is loaded later included. */
const importsOf = new Map(
  readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .sort()
    .map((file) => {
      const text = readFileSync(join(source, file), "utf8");
      const statements = /^(?:import|export)\b[^;]*?\bfrom "(\.[^"]+)\.js"|\bimport\("(\.[^"]+)\.js"\)/gms;
      const imported = [...text.matchAll(statements)].map(([, atOnce, later]) =>
        resolve(source, dirname(file), `${atOnce ?? later}.ts`).slice(source.length + 1),
      );
      return [file, imported];
    }),
);

/** Of these files, what is loaded with each of them at once: no types, and nothing that is loaded on demand. */
function loadedWith(...files: string[]): string[] {
  const loaded = new Set(files);
  for (const file of loaded) {
    const text = readFileSync(join(source, file), "utf8");
    for (const [, path] of text.matchAll(/^(?:import|export)\b(?! type\b)[^;]*?\bfrom "(\.[^"]+)\.js"/gms)) {
      loaded.add(resolve(source, dirname(file), `${path}.ts`).slice(source.length + 1));
    }
  }
  return [...loaded];
}

/** Files that import each other, one after the other, the last one the first; null where there are none. */
function findCircle(imports: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const next of imports.get(file) ?? []) {
      const circle = visit(next, [...path, file]);
      if (circle !== null) return circle;
    }
    done.add(file);
    return null;
  };
  for (const file of imports.keys()) {
    const circle = visit(file, []);
    if (circle !== null) return circle;
  }
  return null;
}

it("imports between the files of src are found, and lead to existing files", () => {
  expect(importsOf.size).toBeGreaterThan(50);
  expect(importsOf.get(join("cli", "main.ts"))).toEqual(
    expect.arrayContaining(["errors.ts", join("cli", "commands.ts")]),
  );
  for (const [file, imported] of importsOf)
    expect([...importsOf.keys()], file).toEqual(expect.arrayContaining(imported));
});

it("imports lead only to lower layers of docs/architecture.md, imports of types too", () => {
  const layerOf = (file: string) => {
    const [folder = ""] = file.split(sep);
    return { folder, level: layers.findIndex((layer) => layer.includes(folder)) };
  };
  const upwards = [...importsOf].flatMap(([file, imported]) => {
    const from = layerOf(file);
    expect(from.level, `${file} has a layer`).toBeGreaterThanOrEqual(0);
    return imported
      .filter((target) => layerOf(target).folder !== from.folder && layerOf(target).level <= from.level)
      .map((target) => `${file} imports ${target}`);
  });
  expect(upwards).toEqual([]);
});

describe("circles of imports", () => {
  it("are found in an example", () => {
    const imports = { a: ["b", "e"], b: ["c", "d"], c: ["d"], d: ["b"], e: [] };
    expect(findCircle(new Map(Object.entries(imports)))).toEqual(["b", "c", "d", "b"]);
    expect(findCircle(new Map(Object.entries({ a: ["a"] })))).toEqual(["a", "a"]);
    expect(findCircle(new Map(Object.entries({ a: ["b", "c"], b: ["c"], c: [] })))).toBeNull();
  });

  it("do not exist in src, imports of types included", () => {
    expect(findCircle(importsOf)).toBeNull();
  });
});

/**
 * The layers of cuda, top to bottom: a file may include files of lower layers and of its own. Of the emulated device,
 * which stands in for a library, the others include nothing.
 */
const rooms = [
  "addon",
  "session",
  "checks",
  "timing",
  "blocks",
  "weights",
  "copies",
  "beside",
  "loader",
  "pool",
  "memory",
  "kernels",
  "context",
  "emulated/nvml",
  "emulated/driver",
  "emulated/link",
  "emulated/memory",
  "emulated/faults",
  "driver",
  "trace",
  "portable",
];

describe("includes of cuda", () => {
  const cuda = fileURLToPath(new URL("../cuda", import.meta.url));
  const includesOf = new Map(
    readdirSync(cuda, { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(cpp|hpp|cu)$/.test(file))
      .map((file) => {
        const text = readFileSync(join(cuda, file), "utf8");
        return [file, [...text.matchAll(/^#include "([^"]+)"/gm)].map(([, included = ""]) => included)];
      }),
  );
  const levelOf = (file: string) => rooms.indexOf(dirname(file));
  /** What the emulated device and the engine both see: declarations of the driver and of the kernels. */
  const shared = /^(driver\/(cuda_abi|nvml_abi|host_calls)|kernels\/kernel_abi)\.hpp$/;

  it("lead only to lower layers, and never in a circle", () => {
    const upwards = [...includesOf].flatMap(([file, included]) => {
      expect(levelOf(file), `${file} has a room`).toBeGreaterThanOrEqual(0);
      return included
        .filter((target) => !shared.test(target))
        .filter(
          (target) =>
            levelOf(target) < levelOf(file) || target.startsWith("emulated") !== file.startsWith("emulated"),
        )
        .map((target) => `${file} includes ${target}`);
    });
    expect(upwards).toEqual([]);
    expect(findCircle(includesOf)).toBeNull();
  });

  it("come from folders of 12 files at most, except for two", () => {
    const crowded = rooms.filter((room) => readdirSync(join(cuda, room)).length > 12);
    expect(crowded).toEqual(["loader", "driver"]);
  });
});

/** The longest of the chains in which each file imports the next. */
function longestChain(imports: ReadonlyMap<string, readonly string[]>): string[] {
  const chains = new Map<string, string[]>();
  const chainFrom = (file: string): string[] => {
    const known = chains.get(file);
    if (known !== undefined) return known;
    const below = (imports.get(file) ?? []).map(chainFrom);
    const chain = [file, ...below.reduce((one, other) => (other.length > one.length ? other : one), [])];
    chains.set(file, chain);
    return chain;
  };
  return [...imports.keys()].map(chainFrom).reduce((one, other) => (other.length > one.length ? other : one));
}

describe("chains of imports", () => {
  it("have 20 files at most, those of types and of what is loaded later included", () => {
    const chain = longestChain(importsOf);
    expect(chain.length, chain.join(" → ")).toBeLessThanOrEqual(20);
  });
});

describe("the code that draws pages", () => {
  const isDrawing = (file: string) => /^(draw|report)\/(chart|page)\/|-charts\.ts$/.test(file);

  it("is loaded by no command before a page is drawn", () => {
    const commands = [...importsOf.keys()].filter((file) => file.startsWith("cli"));
    expect(loadedWith(...commands).filter(isDrawing)).toEqual([]);
    expect(loadedWith(join("cli", "commands", "run-command.ts"))).toContain(
      join("cli", "output", "document-output.ts"),
    );
  });

  it("is loaded when a page is drawn", () => {
    const loaded = loadedWith(join("kinds", "draw-documents.ts"));
    expect(loaded.filter(isDrawing).length).toBeGreaterThan(9);
  });

  it("is the only code that loads d3", () => {
    const withD3 = [...importsOf.keys()].filter((file) =>
      /from "d3-/.test(readFileSync(join(source, file), "utf8")),
    );
    expect(withD3.filter((file) => !isDrawing(file))).toEqual([]);
    expect(withD3).not.toEqual([]);
  });
});
it("no two files of src have the same name", () => {
  const names = [...importsOf.keys()].map((file) => basename(file));
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});

it("no folder of src has more than 20 files", () => {
  const python = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.py$/.test(file),
  );
  const folders = [...importsOf.keys(), ...python].map((file) => dirname(file));
  const crowded = new Set(folders.filter((one) => folders.filter((other) => other === one).length > 20));
  expect([...crowded]).toEqual([]);
});

it("the result's report and what draws all reports have 70 files at most", () => {
  const files = [...importsOf.keys()].filter((file) => /^(report|draw)\//.test(file));
  expect(files.length).toBeGreaterThan(40);
  expect(files.length).toBeLessThanOrEqual(70);
});

it("the bundle for machines with a GPU contains every file that the GPU tests import", () => {
  const root = dirname(source);
  const gpu = join(root, "test", "gpu");
  const reached = new Set([
    join(root, "vitest.elsewhere.config.ts"),
    ...readdirSync(gpu).map((file) => join(gpu, file)),
  ]);
  for (const file of reached) {
    for (const [, path] of readFileSync(file, "utf8").matchAll(/\bfrom "(\.[^"]+)\.js"/g)) {
      reached.add(resolve(dirname(file), `${path}.ts`));
    }
  }
  expect(reached.size).toBeGreaterThan(50);
  const isBundled = (file: string) =>
    bundledTests.some((path: string) => `${file}${sep}`.startsWith(join(root, path) + sep));
  expect([...reached].filter((file) => !isBundled(file))).toEqual([]);
});
