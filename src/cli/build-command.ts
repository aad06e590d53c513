import type { Command } from "commander";
import type { BuildFlags } from "./build.js";

export function addBuildCommand(program: Command): void {
  program
    .command("build")
    .description("compile pinbench's native part for this machine, where the one it brings does not load")
    .option("--verbose", "show what CMake and the compiler say")
    .option("--debug", "show where an error came from")
    .addHelpText(
      "after",
      `
Needs a C++20 compiler, CMake, make, and npm's registry for cmake-js. With nvcc in the path it compiles the kernels too.

Examples:
  pinbench build               into the package's folder, or else this user's cache
  CXX=clang++ pinbench build   with another compiler`,
    )
    .action(async (flags: BuildFlags) => {
      const { build } = await import("./build.js");
      await build(flags);
    });
}
