/** A word of the tables with its meaning, in one sentence for a newcomer. */
export interface Term {
  /** All names in the tables; the first is the heading. */
  names: readonly string[];
  meaning: string;
}

/** Terms that belong together, in the order of reading. */
interface TermGroup {
  title: string;
  terms: readonly Term[];
}

const term = (names: string | readonly string[], meaning: string): Term => ({
  names: typeof names === "string" ? [names] : names,
  meaning,
});

/** Every term of the tables, once. */
export const termGroups: readonly TermGroup[] = [
  {
    title: "What is copied",
    terms: [
      term(["H2D", "h2d"], "host to device: from the machine's memory to the GPU's"),
      term(["D2H", "d2h"], "device to host: from the GPU's memory to the machine's"),
      term("direction", "which way the bytes go"),
      term(["both", "bidir", "bidirectional"], "H2D and D2H at the same time"),
      term(
        ["D2D", "d2d"],
        "device to device: within one GPU's memory; bytes read and bytes written both count",
      ),
      term(["P2P", "p2p", "peer"], "from one GPU to another"),
      term("size", "the bytes of one copy; KiB, MiB and GiB count in 1024s"),
      term(
        ["worker", "workers", "x4"],
        'a thread that copies its own buffers; several copy at the same time, as the 4 of "x4" in a cell\'s name',
      ),
      term(
        ["process", "processes"],
        "workers that are programs of their own, each with its own use of the GPU",
      ),
      term("cell", "one thing that is measured: a direction, kind of memory, size and number of workers"),
      term("device", "a GPU, by its number"),
    ],
  },
  {
    title: "Kinds of memory",
    terms: [
      term(
        "pageable",
        "ordinary memory, as malloc gives it; the driver copies it by way of a pinned buffer of its own",
      ),
      term(
        ["pinned", "page-locked"],
        "memory that stays where it is, so that the GPU copies it by itself; from cuMemHostAlloc",
      ),
      term(
        "staged",
        "ordinary memory that pinbench's own threads copy by way of small pinned buffers, piece by piece",
      ),
      term("registered", "ordinary memory that was pinned afterwards, by cuMemHostRegister"),
      term(
        "write-combined",
        "pinned memory that the CPU's caches leave alone: quick to write, very slow to read",
      ),
      term(
        "mapped",
        "pinned memory that a program on the GPU reads and writes itself, without a copy command",
      ),
      term("system", "the same with ordinary memory, which GPUs joined to the CPU by NVLink-C2C can access"),
      term(
        ["host", "host memory", "host control"],
        "what the CPU copies by itself, without a GPU: it shows whether the machine's memory or the way to the GPU became slower",
      ),
      term("memory", "the kind of memory that is copied from or to"),
    ],
  },
  {
    title: "Figures",
    terms: [
      term(
        ["GB/s", "throughput", "bandwidth"],
        "bytes copied per second, in 1 000 000 000s, with many copies in a row",
      ),
      term(
        ["latency", "µs"],
        "how long one copy takes, from asking for it until it is done, in millionths of a second",
      ),
      term("median", "the middle one of all samples: half are less, half are more"),
      term("p99", "99 of 100 samples are no more than this"),
      term("sample", "one timed stretch of copies"),
      term("±", "half the width of the interval, in per cent of the figure: 50 ±2 % is between 49 and 51"),
      term(
        ["interval", "stopping interval", "95 % interval"],
        "where the true median lies, 95 times out of 100; a cell is measured until its interval is narrow enough",
      ),
      term(["±?"], "no useful interval: too few samples, or samples that vary too much"),
      term(
        ["*", "not converged"],
        "the time budget ended before the interval was as narrow as --precision asks; a wide interval without * varies too much",
      ),
      term("converged", "measured until its interval was as narrow as --precision asks"),
      term("round", "one visit to each cell that still needs samples"),
      term(["†", "not finished"], "the run ended before this cell was done"),
      term(["-", "skipped"], "not measured, or not known; a line below the tables says why"),
      term("failed", "a call of the driver failed in this cell"),
      term(["MISMATCH", "wrong data"], "the bytes that arrived are not those that were sent"),
      term("data checked", "compared after the copy and found right, byte by byte"),
      term(
        ["pinned/pageable", "sum/pageable"],
        "how many times as fast as pageable memory: 2.0× is twice as fast",
      ),
      term(
        ["link", "pinned/link", "best/link", "sum/2× link", "link limit"],
        "the connection to the GPU, such as PCIe; and the share of its limit that is reached. Packets take some of the limit, so no copy reaches 100 %",
      ),
      term(["payload", "link's payload"], "your own bytes on a link, without those that packets add"),
      term("sum", "the rate of all directions, or all devices, together"),
      term("cold", "buffers that are in none of the CPU's caches, as fresh data are"),
      term("warm", "the same buffer copied again and again, which the CPU's caches may hold"),
      term(
        "wall clock",
        "timed by the CPU's clock, from the start until the last copy is done: what a program waits",
      ),
      term(
        "budget",
        "how much time all cells may take together (--budget); each cell gets its first samples in any case",
      ),
    ],
  },
  {
    title: "Cold start: what is paid once",
    terms: [
      term("driver", "the time until NVIDIA's driver is ready"),
      term("context", "the time until the GPU has made room for a program"),
      term("first copy", "how long the very first copy takes"),
      term("obtained", "the time until a buffer can be used, including touching and pinning its memory"),
      term("given back", "the time to give it back"),
      term(
        ["pays off after", "H2D pays off after", "D2H pays off after", "at once"],
        "number of copies until a pinned buffer has saved its cost; at once: it costs no more than ordinary memory",
      ),
    ],
  },
  {
    title: "Everything at once",
    terms: [
      term("at once", "all devices copy at the same time (--together)"),
      term("sysfs", "the NUMA node that the system names for the device; - for none, as in many VMs"),
      term("CPUs", "the NUMA node of the CPUs that ask for the copies; nearest: next to the memory"),
      term("of alone", "the rate as a share of the same cell's rate alone"),
      term(["path"], "the way from one GPU to another"),
      term("write", "the GPU that has the data sends them"),
      term("read", "the GPU that wants the data fetches them"),
      term("through-host", "by way of the machine's memory, if GPUs do not reach each other's"),
      term(
        ["kernel-write", "kernel-read"],
        "a program on one of the two GPUs copies, in place of a copy engine",
      ),
      term(["from, to", "from", "to"], "the source GPU and the destination GPU"),
      term(
        ["beside", "load"],
        "what keeps the machine busy during the copies: arithmetic, the GPU's memory or the host's (--beside)",
      ),
      term(
        ["copy alone, beside, keeps", "copy alone", "copy beside", "copy keeps"],
        "a copy without and with the load, and the share of its speed that it keeps",
      ),
      term(
        ["load alone, beside, keeps", "load alone", "load beside", "load keeps", "GFLOP/s"],
        "the load without and with copies: GB/s, or thousands of millions of arithmetic operations a second (GFLOP/s)",
      ),
      term(
        ["chunk", "chunks"],
        "a part of a batch that is copied by itself while a kernel works on the one before (--pipeline)",
      ),
      term(
        ["block", "blocks", "in scattered blocks"],
        "a scattered part of a copy, such as a page of a KV cache or a row of a table (--blocks)",
      ),
      term("count", "number of blocks in one copy"),
      term("cut-off", "block sizes between which another way becomes the fastest (--blocks auto)"),
      term(["one piece"], "the same bytes in one contiguous copy"),
      term("loop", "one call of the driver copies each block"),
      term(
        "batch",
        "one call of the driver copies all blocks; or the samples that a loader delivers together",
      ),
      term(
        "gather",
        "the CPU collects blocks in pinned memory, and a kernel puts them in their places; back likewise",
      ),
      term("blocks/ms", "how many blocks are copied in a thousandth of a second: thousands a second"),
      term("host ns", "CPU time for a block, in thousand-millionths of a second"),
      term(
        ["kernel", "kernels alone"],
        "a program that runs on the GPU, and how long it takes without copies",
      ),
      term(["gain"], "how many times as fast as in one piece"),
      term("ms", "thousandths of a second that a whole batch takes"),
    ],
  },
  {
    title: "check, compare and baseline",
    terms: [
      term(
        ["baseline, before", "baseline", "before"],
        "the machine as it should be: results that were kept to compare with",
      ),
      term(["candidate, now", "candidate", "now"], "the results that are compared with the baseline"),
      term(
        "change",
        "the candidate's change against the baseline, with its interval; in a history the curve of all checks",
      ),
      term("verdict", "the result for a cell: one of the words below"),
      term("slower", "shown to be slower by the threshold or more"),
      term(
        "probably slower",
        "slower by the threshold or more, and the interval excludes zero; a chance is left that nothing changed",
      ),
      term("unsteady", "single runs are far slower, and not less often than in the baseline"),
      term("uneven", "within runs, slow copies take more of the time than in the baseline"),
      term("faster", "shown to be faster by the threshold or more"),
      term("not slower", "a loss of the threshold is ruled out"),
      term("inconclusive", "the figures vary too much to decide whether it is slower"),
      term("missing", "the baseline has the cell, the candidate has no figure of it"),
      term("new", "the candidate has the cell, the baseline does not"),
      term("not comparable", "measured on another GPU or link, or in another way"),
      term("together", "the cells of a kind and direction, judged by the median of their changes"),
      term("would show", "the loss that a check like this one finds 19 times out of 20"),
      term("threshold", "how much slower a cell must be before it counts (--threshold)"),
      term("floor", "a difference that is too small to count, whatever its share"),
      term("significance", "how likely a false alarm is in a whole check if nothing changed"),
      term(
        ["suspect", "confirmed"],
        "a cell that looks slower is a suspect; it is confirmed by measuring it again",
      ),
      term(["occasion", "occasions"], "a stretch of time in which runs were measured one after the other"),
      term(
        ["spread", "spread typical", "largest"],
        "how much runs differ although nothing changed (standard deviation)",
      ),
      term(["drop found", "drop found typical"], "how large a drop has to be for a check to find it"),
      term("cells", "number of cells"),
    ],
  },
  {
    title: "history",
    terms: [
      term("course", "the figures of one cell or kind, check by check"),
      term("step", "a change from one check to the next that stays"),
      term("drift", "a slow change over many checks"),
      term("outage", "up to three checks in a row that are far slower; then back to normal"),
      term("newest", "the newest figure, against the median of the checks before it"),
      term(
        ["least, most", "least", "most"],
        "the lowest and the highest figure, against the median of all checks",
      ),
      term("noise", "how much checks differ although nothing changed"),
    ],
  },
  {
    title: "fleet",
    terms: [
      term(["node", "nodes", "which"], "one machine of many, by its name"),
      term(["GPU", "GPUs"], "a node's GPU, by its number, or how many there are"),
      term(["group", "its group"], "similar nodes; their median is the usual figure"),
      term("slower by", "the loss of speed against the group's usual figure"),
      term("slowest in", "the cell with the largest loss"),
      term(
        "slow since",
        "the first of the consecutive results that show the loss; there may be no earlier result",
      ),
      term("figure", "what was measured there"),
      term("again", "what fresh processes on the node found afterwards"),
      term(
        "do",
        "isolate: send no jobs there; reset: the link or the node; monitor: measure again soon; none",
      ),
      term("state", "the outcome of a node's measurement"),
      term("why", "the reason, as far as it is known"),
      term("unit", "the unit of a row's figures"),
      term("centre", "the median of all GPUs of the group"),
      term(["lowest", "highest"], "the least and the largest figure of the group"),
      term(
        ["spread of a group", "spread"],
        "the standard deviation between healthy GPUs that the verdicts used",
      ),
      term("of healthy", "the centre as a share of the rate of healthy machines of the kind"),
    ],
  },
  {
    title: "tune",
    terms: [
      term(
        ["num_workers"],
        "how many processes of a DataLoader make batches; 0 is the training process itself",
      ),
      term(["pin_memory"], "whether batches are put into pinned memory before they are copied"),
      term(["prefetch", "prefetch_factor"], "how many batches each worker makes in advance"),
      term(["non_blocking"], "whether the training goes on while a batch is copied"),
      term(["persistent_workers", "persistent", "persist"], "whether the workers stay for the next epoch"),
      term("hand-over", "passing a finished batch from a worker process to the training process"),
      term("batches/s", "how many batches arrive in a second"),
      term(["first batch, s"], "seconds until the first batch arrives"),
      term("/dev/shm", "the shared memory that batches pass through, at its fullest"),
      term("pinned memory", "how much memory is pinned for batches, at most"),
      term(["<="], "the setting that is recommended"),
      term(["rank", "ranks"], "one of several training processes that work together"),
    ],
  },
  {
    title: "doctor",
    terms: [
      term("measured", "the device's rate of plain pinned copies"),
      term("expected", "the rate of healthy machines with this GPU and link"),
      term("of expected", "the measured rate as a share of the expected one"),
      term("of link", "the measured rate as a share of the payload that the link can carry"),
      term("copies", "whether the device copied by itself or while the others did"),
    ],
  },
  {
    title: "pin",
    terms: [
      term(["pool", "pools"], "a large amount of pinned memory that a program obtains once and keeps"),
      term("way", "how a pool is obtained: one of the four below"),
      term("host-alloc", "by cuMemHostAlloc, as cudaHostAlloc and pin_memory=True do"),
      term("register", "as ordinary memory, which is then pinned; as a column: how long pinning takes"),
      term("register-huge", "as register, with huge pages, which the kernel clears and pins much faster"),
      term("register-hugetlb", "as register, with huge pages that root has reserved"),
      term(["pieces", "piece"], "how many allocations a pool is made of, and the size of one"),
      term("threads", "number of threads that touch its pages or obtain its pieces"),
      term("obtain", "until the last byte of a pool could be copied"),
      term("touch", "until the kernel has found and cleared all pages"),
      term(
        ["cuMemGetInfo", "NVML", "4 KiB copy", "stalled"],
        "how long another process waits for such calls while a pool is obtained, and in which share of the time",
      ),
      term("each", "the share of the pool that each of several processes obtains"),
      term("alone", "until one process has all of the pool that several divide"),
      term("longest wait", "how late an answer to another process' calls came while they obtained it"),
      term("give back", "until all of a pool is free again"),
      term("huge pages", "the share of a pool that lies in pages of 2 MiB or more"),
      term("RSS", "how much more memory the process holds for it"),
      term("refused", "the driver or the system did not give it"),
      term("omitted", "not tried: the notes say why"),
    ],
  },
  {
    title: "explain",
    terms: [
      term("question", "a question about this machine; `pinbench explain` lists all of them"),
      term("what was measured", "the quantity of the figure and its interval"),
      term("samples", "number of measurements behind the median; - if it is computed from other figures"),
      term("true here", "the claim holds on this machine, for certain"),
      term("not here", "the claim does not hold on this machine, for certain"),
      term(
        ["inconclusive, of a claim", "inconclusive"],
        "the measurement does not decide the claim, or was not possible",
      ),
    ],
  },
  {
    title: "devices",
    terms: [
      term("name", "NVIDIA's name for the GPU"),
      term("PCI bus id", "where the GPU is plugged in"),
      term("compute", "the compute capability: which generation of instructions the GPU has"),
      term("NUMA", "the part of the machine that is nearest to the GPU, if it has several"),
      term(
        ["link now, at most", "link now", "at most"],
        "how the GPU is connected now (at rest it may be slower), and how it could be",
      ),
    ],
  },
];
