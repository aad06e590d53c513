/** All numeric constants of a search. Times are in ns. */
export const constants = {
  /** A trial is long enough once its interval is within this share of its rate. */
  precision: 0.03,
  /**
   * Gains below this share do not justify another worker. It is lower for a job: a loss lasts as long as the training,
   * and handing over a pinned batch takes up to 1.5 % of a loop.
   */
  tolerance: { alone: 0.02, live: 0.01 },
  /**
   * Shortest and longest time of a trial. A job's steps are uneven: a Transformers training on an H200 was a fifth
   * slower for over a second (results/nvidia-h200/tune-live.txt).
   */
  leastTimedNs: 0.5e9,
  mostTimedNs: { alone: 1.2e9, live: 4e9 },
  /**
   * Minimum number of cycles for an interval, and maximum number of blocks of cycles (batch means: Law, section 9.5.3).
   */
  leastCycles: 4,
  mostBlocks: 10,
  /**
   * Smallest relative half-width. A second may miss the rare slow batches that empty a queue: they take 1 % of the rate
   * in the simulated loaders of test/tune/search/estimator.test.ts.
   */
  leastHalfWidth: 0.01,
  /** Assumed deviation between trials of a setting; it weighs as much as `turns` measured trials. */
  assumedDeviation: 0.02,
  /** Factor by which a worker may be faster than in a trial (shared caches), and between tried counts. */
  workerSlack: 1.2,
  /**
   * Share of the time from which workers are, or soon become, the limit; for the link, share of its rate. Three workers
   * busy for 74 % kept up during a search but cost 7 % afterwards (results/nvidia-h200/tune-live.txt).
   */
  busyShare: 0.7,
  /** Number of workers in the first trial with any, if the need is unknown. Starting more takes seconds. */
  firstWorkers: 16,
  /** Factor by which 0 workers must be faster if no step was measured: they make no batch during a blocking step. */
  overlapWorth: 1.25,
  /**
   * Drift of a running job: trials of one setting, half a minute apart, differed by up to 17 % on an H200
   * (results/nvidia-h200/tune-live.txt).
   */
  wander: 0.17,
  /** Slowest rate of pageable copies in B/s: pinning saved 12 ms per 38.5 MB in a ResNet-50 training on an H200. */
  copyRate: 3e9,
  /** Share of the budget for finding candidates; the rest confirms. No trial takes longer than the rest. */
  exploringShare: 0.65,
  /** Maximum number of repetitions of a candidate: the median of three trials withstands one outlier. */
  turns: 3,
  /** File descriptors per worker in the training process, for pipes and queues (torch 2). */
  filesPerWorker: 8,
  /** Batches alive beyond those in flight: one is freed only after the next has come. */
  batchesBeyondFlight: 2,
} as const;
