import {
  JAIL_MUTANTS,
  POLICY_MUTANTS,
  REPLY_MUTANTS,
  REQUEST_MUTANTS,
  RULE_MUTANTS,
} from "./coder-mutants.ts";
import { GATE_MUTANTS } from "./gate-mutants.ts";
import type { Mutant } from "./plant-fault.ts";

/** A table of faults, and the tests that must find each of them. */
export interface MutantSuite {
  /** Where the faults are. */
  readonly name: string;
  readonly tests: readonly string[];
  /** The first of each group represents the others in the short form. */
  readonly groups: readonly (readonly Mutant[])[];
  /** How many faults the short form plants. */
  readonly some: number;
}

export const SUITES: readonly MutantSuite[] = [
  {
    name: "the gate, or on the way to it",
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
    tests: ["packages/coder/src/policy/*.test.ts", "packages/coder/src/command-line/*.test.ts"],
    groups: POLICY_MUTANTS,
    some: 0,
  },
  {
    name: "the workspace of the coding agent",
    tests: ["packages/coder/src/workspace/workspace.test.ts"],
    groups: JAIL_MUTANTS,
    some: 0,
  },
  {
    name: "the rules of the coding agent's tools",
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
    tests: ["test/coder-agent/conversation.test.ts"],
    groups: REQUEST_MUTANTS,
    some: 0,
  },
];
