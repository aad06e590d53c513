import { describe, expect, it } from "vitest";
// @ts-expect-error A script without types.
import { compareVersions, parseDynamicSymbols } from "../../scripts/lib/dynamic-symbols.mjs";
// @ts-expect-error A script without types.
import { manylinuxFaults, portabilityFaults } from "../../scripts/lib/portability.mjs";

const objdump = (...lines: string[]) =>
  ["", "pinbench.node:     file format elf64-x86-64", "", "DYNAMIC SYMBOL TABLE:", ...lines, "", ""].join(
    "\n",
  );
const wanted = (name: string, version: string) =>
  `0000000000000000      DF *UND*\t0000000000000000 (${version}) ${name}`;
const faultsOf = (...lines: string[]) =>
  portabilityFaults("/b/pinbench.node", parseDynamicSymbols(objdump(...lines)));

describe("an obstacle to loading a library on older systems", () => {
  it("is not found in a library that old systems can load", () => {
    expect(
      faultsOf(
        wanted("memcpy", "GLIBC_2.14"),
        wanted("thrd_create", "GLIBC_2.28"),
        "0000000000000000      D  *UND*\t0000000000000000  Base        napi_throw",
        "0000000000000000  w   D  *UND*\t0000000000000000  Base        __gmon_start__",
        "0000000000011d28 l    d  .init\t0000000000000000              .init",
        "000000000001d670 g    DF .text\t000000000000001c  Base        napi_register_module_v1",
      ),
    ).toEqual([]);
  });

  it("is a function of a newer C library", () => {
    expect(faultsOf(wanted("dlopen", "GLIBC_2.34"), wanted("fstat64", "GLIBC_2.33"))).toEqual([
      "needs dlopen of GLIBC_2.34",
      "needs fstat64 of GLIBC_2.33",
    ]);
  });

  it("is the shared C++ runtime", () => {
    expect(faultsOf(wanted("_Znwm", "GLIBCXX_3.4"))).toEqual([
      "takes _Znwm from the shared libstdc++ (GLIBCXX_3.4)",
    ]);
  });

  it("is an unintended export", () => {
    expect(faultsOf("000000000001d670 g    DF .text\t000000000000001c  Base        _ZSt4cout")).toEqual([
      "exports _ZSt4cout",
    ]);
  });
});

it("versions of libraries are compared number by number", () => {
  expect(["2.28", "2.3.4", "2.4", "2.3"].sort(compareVersions)).toEqual(["2.3", "2.3.4", "2.4", "2.28"]);
});

describe("an obstacle to running a program on every manylinux_2_28 system", () => {
  const faults = (libraries: string[], ...lines: string[]) =>
    manylinuxFaults(parseDynamicSymbols(objdump(...lines)), libraries);

  it("is not found in what Node's own releases need", () => {
    const libraries = ["libdl.so.2", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6"];
    const symbols = [wanted("fcntl64", "GLIBC_2.28"), wanted("_ZdlPvm", "CXXABI_1.3.9")];
    expect(faults(libraries, ...symbols, wanted("_ZNSt3_V2", "GLIBCXX_3.4.21"))).toEqual([]);
  });

  it("is a library that a bare system lacks, such as a distribution's Node needs", () => {
    expect(faults(["libatomic.so.1", "libnode.so.115"])).toEqual([
      "needs libatomic.so.1, which other machines may lack",
      "needs libnode.so.115, which other machines may lack",
    ]);
  });

  it("is a newer C library or C++ library", () => {
    expect(faults([], wanted("dlopen", "GLIBC_2.34"), wanted("_ZSt21x", "GLIBCXX_3.4.29"))).toEqual([
      "needs dlopen of GLIBC_2.34",
      "needs _ZSt21x of GLIBCXX_3.4.29",
    ]);
  });
});
