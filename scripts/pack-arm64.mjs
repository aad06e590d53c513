// `npm run pack:arm64 [-- --out FOLDER] [-- --without-kernels]`: npm package with pinbench's arm64 files, compiled on
// x86-64. It is separate so that the main package stays small.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { copyPrebuilt, hashName, prebuiltFiles, shareModes } from "./lib/prebuilt.mjs";
import { main, run } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";

await main(async () => {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: root },
      "without-kernels": { type: "boolean", default: false },
    },
  });
  const { name, version, license, os, libc } = JSON.parse(readFileSync(inRoot("package.json"), "utf8"));
  const facts = {
    name: `${name}-linux-arm64`,
    version,
    description: `The compiled files of ${name} for arm64`,
    license,
    ...{ os, cpu: ["arm64"], libc },
    files: [...prebuiltFiles, hashName],
  };
  const folder = inRoot("build", facts.name);
  await copyPrebuilt(folder, { kernels: !values["without-kernels"], arch: "arm64" });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(facts, null, 2)}\n`);
  cpSync(inRoot("LICENSE"), join(folder, "LICENSE"));
  await shareModes(folder);
  const target = resolve(values.out);
  mkdirSync(target, { recursive: true });
  await run("npm", ["pack", "--silent", "--pack-destination", target], { cwd: folder });
  rmSync(folder, { recursive: true });
});
