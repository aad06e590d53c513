import { describe, expect, test } from "vitest";
import { notHeardOf } from "../../src/fleet/launch/fleet-launch.js";

describe("nodes that were asked for, and those that have begun", () => {
  test.each<[string, string[], string[], string[]]>([
    ["by their names", ["n01", "n02"], ["n02"], ["n01"]],
    ["with and without a domain", ["n01", "n02.example"], ["n01.example", "n02"], []],
    ["of one name in two domains", ["n01.a", "n01.b"], ["n01.a"], ["n01.b"]],
    ["by addresses, which they do not call themselves", ["10.0.0.1", "10.0.0.2"], ["n01", "n02"], []],
    ["not at all", ["n01", "n02"], [], ["n01", "n02"]],
  ])("%s", (_, asked, begun, absent) => {
    expect(notHeardOf(asked, begun).absent).toEqual(absent);
  });

  test("are all absent if fewer have begun by other names, which are listed", () => {
    const asked = ["10.0.0.1", "10.0.0.2"];
    expect(notHeardOf(asked, ["n01"])).toEqual({ absent: asked, strangers: ["n01"] });
  });
});
