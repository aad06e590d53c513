import { describe, expect, it } from "vitest";
import { cellLevels, placesOf } from "../../src/fleet/cell-levels.js";
import { figuresOfNode } from "../../src/fleet/node-figures.js";
import { type NodePart, nodeResult, nodeResults } from "../helpers/node-results.js";

const figuresOf = (results: ReturnType<typeof nodeResults>) =>
  results.map((result) => figuresOfNode(result, null));

describe("a GPU's place in its machine", () => {
  const placesOn = (node: number, results: ReturnType<typeof nodeResults>) => {
    const nodes = figuresOf(results);
    const placeOf = placesOf(nodes);
    return nodes[node]!.devices.map((_, device) => placeOf(node, device));
  };

  it("is its PCI address, also if one node's GPU has another one than all others", () => {
    const moved = { device: (gpu: number) => (gpu === 1 ? { pciBusId: "0000:99:00.0" } : {}) };
    const results = nodeResults(3, { n01: moved });
    expect(placesOn(0, results)).toEqual(["0000:10:00.0", "0000:20:00.0"]);
    expect(placesOn(1, results)).toEqual(["0000:10:00.0", "0000:99:00.0"]);
  });

  it("is its PCI address if a GPU before it is missing, which shifts the ordinals", () => {
    const lost = { gpus: 1, device: () => ({ pciBusId: "0000:20:00.0" }) };
    expect(placesOn(2, nodeResults(3, { n02: lost }))).toEqual(["0000:20:00.0"]);
  });

  it("is its ordinal if machines have their GPUs at many addresses, or one does not tell", () => {
    const results = [1, 2, 3].map((node) =>
      nodeResult(`n0${node}`, { device: (gpu) => ({ pciBusId: `0000:${node}${gpu}:00.0` }) }),
    );
    expect(placesOn(1, results)).toEqual(["GPU 0", "GPU 1"]);
    const unknown = { device: (gpu: number) => (gpu === 1 ? { pciBusId: null } : {}) };
    expect(placesOn(0, nodeResults(3, { n01: unknown }))).toEqual(["GPU 0", "GPU 1"]);
  });
});

describe("places whose GPUs are slower on most nodes", () => {
  /** The pageable cell of nodes with four GPUs, of which the last has this many times the speed; `spread` is their range of log speeds. */
  const oddPlaces = (times: number, { count = 12, spread = 0 } = {}) => {
    const parts = nodeResults(count).map(({ host }, node) => {
      const speed: NodePart["speed"] = (gpu, { memory }) => {
        // In another order at each place, about none.
        const rank = ((7 * node + 11 * gpu) % count) - (count - 1) / 2;
        return memory === "pageable" ? (gpu === 3 ? times : 1) * Math.exp((spread * rank) / count) : 1;
      };
      return [host!.hostname, { gpus: 4, speed }];
    });
    const nodes = figuresOf(nodeResults(count, Object.fromEntries(parts)));
    const key = [...nodes[0]!.devices[0]!.figures.keys()].find((one) => one.includes("pageable"))!;
    return [...cellLevels(nodes, key, placesOf(nodes), 0.05)!.oddPlaces.keys()];
  };

  it("are built so if the difference is far more than pageable copies differ by", () => {
    expect(oddPlaces(0.7)).toEqual(["0000:40:00.0"]);
  });

  it("are not if it is less than five errors of the place's median, though more than counts", () => {
    expect(oddPlaces(0.94)).toEqual([]);
  });

  it("are built so from five errors of the median, which falls with the root of the number of GPUs", () => {
    const noisy = { count: 40, spread: 0.4 };
    expect(oddPlaces(0.875, noisy)).toEqual([]);
    expect(oddPlaces(0.8, noisy)).toEqual(["0000:40:00.0"]);
  });
});
