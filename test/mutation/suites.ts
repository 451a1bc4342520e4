import {
  JAIL_MUTANTS,
  POLICY_MUTANTS,
  REPLY_MUTANTS,
  REQUEST_MUTANTS,
  RULE_MUTANTS,
} from "./coder-mutants.ts";
import { FENCE_MUTANTS } from "./fence-mutants.ts";
import { GATE_MUTANTS } from "./gate-mutants.ts";
import type { Mutant } from "./plant-fault.ts";

/** A table of faults, and the tests that must find each of them. */
export interface MutantSuite {
  /** Where the faults are. */
  readonly name: string;
  /** What a fault does that the tests do not find, and the guarantee that it breaks. */
  readonly lets: string;
  readonly breaks: "G4" | "G11";
  readonly tests: readonly string[];
  /** The first of each group represents the others in the short form. */
  readonly groups: readonly (readonly Mutant[])[];
  /** How many faults the short form plants. */
  readonly some: number;
}

/** Faults on the way from a decision to the tool that it is about. */
const GUARD = { lets: "lets a guarded tool run without its decision", breaks: "G11" } as const;

export const SUITES: readonly MutantSuite[] = [
  {
    name: "the gate, or on the way to it",
    ...GUARD,
    tests: [
      "packages/runtime/src/approvals/*.test.ts",
      "packages/protocol/src/extensions/approvals.test.ts",
      "test/loop/approvals.test.ts",
      "test/mutation/executed-is-approved.test.ts",
    ],
    groups: GATE_MUTANTS,
    some: 1,
  },
  {
    name: "the policy of the coding agent",
    ...GUARD,
    tests: ["packages/coder/src/policy/*.test.ts", "packages/coder/src/command-line/*.test.ts"],
    groups: POLICY_MUTANTS,
    some: 0,
  },
  {
    name: "the workspace of the coding agent",
    ...GUARD,
    tests: ["packages/coder/src/workspace/workspace.test.ts"],
    groups: JAIL_MUTANTS,
    some: 0,
  },
  {
    name: "the rules of the coding agent's tools",
    ...GUARD,
    tests: [
      "test/coder/approvals.test.ts",
      "test/coder/file-tools.test.ts",
      "test/coder-shell/shell-tools.test.ts",
      "test/coder-agent/guard.test.ts",
      "test/coder-agent/restart.test.ts",
    ],
    groups: RULE_MUTANTS,
    some: 0,
  },
  {
    name: "the replies to the coding agent",
    ...GUARD,
    tests: [
      "test/coder-wire/coder-agent.test.ts",
      "test/coder-wire/event-messages.test.ts",
      "test/coder-wire/extensions.test.ts",
    ],
    groups: REPLY_MUTANTS,
    some: 0,
  },
  {
    name: "the requests for rights of the coding agent",
    ...GUARD,
    tests: ["test/coder-agent/conversation.test.ts"],
    groups: REQUEST_MUTANTS,
    some: 0,
  },
  {
    name: "the storage that processes share",
    lets: "lets two processes write to one task, or one of them miss what the other did",
    breaks: "G4",
    tests: [
      "packages/backends/src/postgres/sharing.test.ts",
      "packages/backends/src/postgres/lost-connection.test.ts",
      "packages/engine/src/task/task-writer.test.ts",
      "test/cluster/two-engines.test.ts",
      "test/cluster/lost-answers.test.ts",
    ],
    groups: FENCE_MUTANTS,
    some: 0,
  },
];
