import { torchQuestion } from "../question.js";
import { figureText, isAtLeast, medianFigure } from "../run-figures.js";

/** A copy overlaps with a computation if at least this share of the shorter one is hidden. */
const overlapping = 0.5;

export const nonBlocking = torchQuestion({
  name: "non-blocking",
  title: "does non_blocking=True alone let a copy overlap with computing?",
  claim:
    "With non_blocking=True the next batch is copied to the GPU while the current one is being computed.",
  times: {
    compute: "the computation",
    pinnedCopy: "pinned: a copy",
    pinnedCall: "pinned: until its call returns",
    pinnedOneStream: "pinned: computation and copy, one stream",
    pinnedOwnStream: "pinned: computation and copy, own stream",
    pageableCopy: "pageable: a copy",
    pageableCall: "pageable: until its call returns",
    pageableOneStream: "pageable: computation and copy, one stream",
    pageableOwnStream: "pageable: computation and copy, own stream",
  },
  conclude(medians, rounds) {
    // Compared within each round, whose parts ran one after the other.
    const hidden = (memory: "pinned" | "pageable", stream: "One" | "Own") =>
      medianFigure(
        `${memory}: hidden in ${stream.toLowerCase()} stream`,
        "share",
        rounds[`${memory}${stream}Stream`].map((both, i) => {
          const [compute, copy] = [rounds.compute[i]!, rounds[`${memory}Copy`][i]!];
          return (compute + copy - both) / Math.min(compute, copy);
        }),
      );
    const [one, own] = [hidden("pinned", "One"), hidden("pinned", "Own")];
    const [pageableOne, pageableOwn] = [hidden("pageable", "One"), hidden("pageable", "Own")];
    const { compute, pinnedCopy, pinnedCall, pageableCopy, pageableCall } = medians;
    return {
      holds: isAtLeast(one, overlapping),
      summary: `Of the shorter of copy and computation a pinned copy hides ${figureText(one)} in torch's one stream and ${figureText(own)} in a stream of its own, a pageable one ${figureText(pageableOne)} and ${figureText(pageableOwn)}.`,
      figures: [
        compute,
        pinnedCopy,
        pinnedCall,
        pageableCopy,
        pageableCall,
        one,
        own,
        pageableOne,
        pageableOwn,
      ],
    };
  },
});
