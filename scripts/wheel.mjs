// `npm run wheel [-- --out FOLDER] [-- --without-kernels] [-- --arch arm64]`: a wheel with the bundle's content, for
// machines with Python and without Node. Installing it runs nothing. `wheel pack` (Debian: python3-wheel) makes it,
// because build front ends would download a back end.
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { packWheel, writeHash } from "./lib/archives.mjs";
import { ownArch, wheelMachine } from "./lib/platforms.mjs";
import { main } from "./lib/process.mjs";
import { inRoot, root } from "./lib/project.mjs";
import { checkedSizeMB, stageProgram } from "./lib/staged-program.mjs";

/** The oldest Python that tune's programs support; starting pinbench needs no newer one. */
const oldestPython = "3.8";

/** Supports any Python 3 on Linux with glibc 2.28, which Node needs. */
const tagOf = (arch) => `py3-none-manylinux_2_28_${wheelMachine(arch)}`;

const lines = (...texts) => `${texts.join("\n")}\n`;

/** Writes a wheel's dist-info folder: its metadata (core metadata 2.1) and its entry points. */
function writeDistInfo(folder, tag, { name, version, description, license }) {
  mkdirSync(folder);
  const write = (file, text) => writeFileSync(join(folder, file), text);
  write("WHEEL", lines("Wheel-Version: 1.0", "Generator: pinbench", "Root-Is-Purelib: false", `Tag: ${tag}`));
  write("entry_points.txt", lines("[console_scripts]", `${name} = ${name}.__main__:main`));
  write("top_level.txt", lines(name));
  cpSync(inRoot("LICENSE"), join(folder, "LICENSE"));
  write(
    "METADATA",
    lines(
      "Metadata-Version: 2.1",
      `Name: ${name}`,
      `Version: ${version}`,
      `Summary: ${description}`,
      `License: ${license}`,
      "License-File: LICENSE",
      "Keywords: GPU,CUDA,bandwidth,benchmark,PCIe,pinned memory,DataLoader",
      "Classifier: Environment :: GPU :: NVIDIA CUDA",
      "Classifier: License :: OSI Approved :: MIT License",
      "Classifier: Operating System :: POSIX :: Linux",
      "Classifier: Programming Language :: Python :: 3",
      "Classifier: Topic :: System :: Benchmark",
      `Requires-Python: >=${oldestPython}`,
      "Description-Content-Type: text/markdown",
      "",
      readFileSync(inRoot("README.md"), "utf8"),
    ),
  );
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: root },
      "without-kernels": { type: "boolean", default: false },
      arch: { type: "string", default: ownArch },
    },
  });
  const tag = tagOf(values.arch);
  const facts = JSON.parse(readFileSync(inRoot("package.json"), "utf8"));
  const stem = `${facts.name}-${facts.version}`;
  const staging = inRoot("build/wheel");
  rmSync(staging, { recursive: true, force: true });
  const content = join(staging, facts.name);
  const program = join(content, "program");
  const glibc = await stageProgram(program, { kernels: !values["without-kernels"], arch: values.arch });
  for (const file of ["__init__.py", "__main__.py", "py.typed"])
    cpSync(inRoot("scripts/wheel", file), join(content, file));
  const distInfo = join(staging, `${stem}.dist-info`);
  writeDistInfo(distInfo, tag, facts);
  // Tools look for SBOMs there (PEP 770).
  mkdirSync(join(distInfo, "sboms"));
  renameSync(join(program, "sbom.cdx.json"), join(distInfo, "sboms/pinbench.cdx.json"));

  const target = resolve(values.out);
  mkdirSync(target, { recursive: true });
  await packWheel(staging, target);
  rmSync(staging, { recursive: true });
  const wheel = join(target, `${stem}-${tag}.whl`);
  const sizeMB = checkedSizeMB(wheel);
  writeHash(wheel);
  console.log(`${wheel}: ${sizeMB.toFixed(1)} MB, for glibc ${glibc} and newer, and Python ${oldestPython}`);
});
