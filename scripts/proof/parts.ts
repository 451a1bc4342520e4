import type { ProgramName } from "../../test/system-programs.ts";

/** A sentence or a figure of a page that a part runs again. */
interface Claim {
  /** Relative to the root of the repository. */
  readonly page: string;
  /** Words of that page, in plain text and on one line. */
  readonly words: string;
}

/** The arguments and variables of a script. */
interface Form {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A comparison that is run by one npm script. */
export interface Part {
  readonly name: string;
  readonly title: string;
  readonly script: string;
  /** Default: no arguments. */
  readonly full?: Form;
  /** Absent: there is only one form. */
  readonly quick?: Form;
  readonly needs?: readonly ProgramName[];
  /** Whether the results are times and CPU, which a short form does not measure well enough to show. */
  readonly isTimed?: true;
  /** The results in the output: its last table, or the lines that match. */
  readonly results: "table" | RegExp;
  readonly claims: readonly Claim[];
}

const CLUSTER_GUIDE = "docs/guide/cluster.md";
const COMPARISON = "docs/comparison.md";

/** In the order in which they run: those that measure time come first. */
export const PARTS: readonly Part[] = [
  {
    name: "bench",
    title: "CPU, time and memory, with the official SDKs",
    script: "bench",
    isTimed: true,
    // Drawn by `npm run bench:chart`.
    full: { args: ["--json", "bench/results.json"] },
    quick: { args: ["--quick"] },
    needs: ["postgres"],
    results: "table",
    claims: [
      { page: COMPARISON, words: "a stream of 1000 chunks, CPU as a multiple of bare" },
      { page: COMPARISON, words: "an answer of 10 000 chunks, CPU" },
      { page: COMPARISON, words: "32 messages at a time, CPU of each as a multiple of bare" },
      { page: "docs/operating/capacity.md", words: "an idle stream" },
      {
        page: "docs/operating/capacity.md",
        words: "a message that is answered at once, stored durably",
      },
      { page: "bench/README.md", words: "ratio to bare" },
      { page: "bench/README.md", words: "Postgres beside SQLite" },
    ],
  },
  {
    name: "search",
    title: "Searching files",
    script: "bench:search",
    isTimed: true,
    quick: { args: ["1000"] },
    results: /^(.+, (?:search_files|grep)): (.+)$/gm,
    claims: [
      { page: "bench/README.md", words: "Searching files" },
      { page: "docs/guide/coder.md", words: "searching 100 000 small files" },
    ],
  },
  {
    name: "hints",
    title: "From a commit to a reader at another server",
    script: "bench:hints",
    needs: ["postgres"],
    results: /^(NOTIFY and a read|looking only): (.+)$/gm,
    claims: [
      { page: "bench/README.md", words: "From one server to another" },
      { page: CLUSTER_GUIDE, words: "that takes a few milliseconds" },
    ],
  },
  {
    name: "million",
    title: "A million tasks in Postgres",
    script: "test:million",
    isTimed: true,
    quick: { args: [], env: { CONVOKE_STORED_TASKS: "20000" } },
    needs: ["postgres"],
    results: /^(get|list|claim|\d+ tasks): (.+)$/gm,
    claims: [
      { page: "bench/README.md", words: "get · list · claim with 1 000 000 tasks" },
      { page: CLUSTER_GUIDE, words: "A short task (one message, one answer) needs" },
      { page: "docs/operating/capacity.md", words: "a short task in Postgres" },
    ],
  },
  {
    name: "cluster",
    title: "One of three replicas is killed, with the official SDK",
    script: "compare:cluster",
    needs: ["postgres"],
    results: "table",
    claims: [
      { page: COMPARISON, words: "a replica is killed" },
      { page: "docs/comparison-cluster.md", words: "Chunks that it has in the end" },
    ],
  },
  {
    name: "check",
    title: "Probes of the specification, with the official SDKs",
    script: "docs:check",
    results: /^(\S+)\.md: (.+)$/gm,
    claims: [
      { page: COMPARISON, words: "black-box probes of the A2A specification" },
      { page: COMPARISON, words: "probes of the specification" },
      { page: "docs/check/README.md", words: "Its reports on three servers" },
    ],
  },
  {
    name: "faults",
    title: "Faulty agents, with the official clients",
    script: "faults",
    quick: { args: ["--only", "agent-", "--only", "cut-in"] },
    results: "table",
    claims: [
      { page: COMPARISON, words: "faulty agents (cuts at any byte" },
      { page: COMPARISON, words: "faulty agents, as a client" },
      { page: "docs/client/faults.md", words: "what the official clients do" },
    ],
  },
  {
    name: "attack",
    title: "Attacks on a server, with the official SDK",
    script: "attack",
    quick: { args: ["--only", "auth-", "--only", "body-"] },
    results: "table",
    claims: [
      { page: COMPARISON, words: "attacks on Convoke and on the official JavaScript SDK" },
      { page: COMPARISON, words: "that held, of those that apply" },
      { page: "docs/security.md", words: "every attack of the attack suite with its outcome" },
    ],
  },
  {
    name: "install",
    title: "An installation, and a new project",
    script: "test:install",
    results: /^(an installation|from convoke init to .+): (.+)$/gm,
    claims: [
      { page: "apps/convoke/README.md", words: "and runs no install script" },
      { page: "docs/quick-start.md", words: "all commands of this page together took" },
    ],
  },
];
