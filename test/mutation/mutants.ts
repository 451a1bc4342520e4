/** One wrong turn in the code of the gate or around it, which the tests must notice. */
export interface Mutant {
  /** Below the root of the repository. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

const RUNTIME = "packages/runtime/src";
const PROTOCOL = "packages/protocol/src";

function inFile(
  file: string,
  ...changes: readonly (readonly [find: string, replace: string])[]
): readonly Mutant[] {
  return changes.map(([find, replace]) => ({ file, find, replace }));
}

/** The first of each file stand for the others in the short form. */
export const MUTANTS: readonly Mutant[] = [
  ...inFile(
    `${RUNTIME}/approvals/gate.ts`,
    ["if (!call.isGuarded) return true;", "return true;"],
    ["if (!call.isGuarded) return true;", "if (call.isGuarded) return true;"],
    ['outcome === "approved" && ', ""],
    ['outcome === "approved" && ', 'outcome !== "rejected" && '],
    [" && toolCallId === call.toolCallId", ""],
    [" && digest === call.digest", ""],
    ["decisions.some(", "decisions.every("],
    ["return decisions.some(", "return !decisions.some("],
  ),
  ...inFile(
    `${RUNTIME}/loop/run-tool.ts`,
    ['if (!mayRun(call, decisions)) throw new Error("the call is not approved");', ""],
    ["if (!mayRun(call, decisions))", "if (mayRun(call, decisions))"],
    ["mayRun(call, decisions)", "mayRun({ ...call, isGuarded: false }, decisions)"],
    [
      "return tool.run(input, { ...context, signal });",
      "return tool.run(structuredClone(decisions[0]?.arguments ?? input), { ...context, signal });",
    ],
  ),
  ...inFile(
    `${RUNTIME}/loop/call-run.ts`,
    ['this.#isGuarded = confirmed?.kind !== "allow";', "this.#isGuarded = false;"],
    [
      'this.#isGuarded = confirmed?.kind !== "allow";',
      'this.#isGuarded = confirmed?.kind === "allow";',
    ],
    ["if (!this.#isGuarded) return undefined;", "return undefined;"],
    [
      "digest: checked.digest, isGuarded: this.#isGuarded }",
      "digest: checked.digest, isGuarded: false }",
    ],
    ['outcome: option === "reject" ? "rejected" : "approved"', 'outcome: "approved"'],
    [
      "{ outcome, decidedAt: at.toISOString() }",
      '{ outcome: "approved", decidedAt: at.toISOString() }',
    ],
    ['if (decision === undefined || decision.outcome === "approved") return;', "return;"],
    ["if (edited !== undefined) this.#arguments = edited;", ""],
    ['if (confirmed?.kind === "deny") {', 'if (confirmed?.kind === "ask") {'],
    ["if (!this.#isConfirmed) await this.#confirm(tool, input);", ""],
    ["if (this.#result !== undefined || this.#approval !== undefined) return;", ""],
    [
      "await this.#execute(tool, input);",
      "await this.#execute(tool, JSON.parse(this.#call.input) as Metadata);",
    ],
  ),
  ...inFile(
    `${RUNTIME}/loop/run-approvals.ts`,
    [
      "if (!isConversation && !(await settings.approvals.grants.isGranted(grant))) return false;",
      "",
    ],
    [
      "const isConversation = this.#granted.has(toolName);",
      "const isConversation = this.#granted.size > 0;",
    ],
    [
      'const isLasting = option === "conversation" || option === "always";',
      "const isLasting = true;",
    ],
    [
      "digest: edited === undefined ? approval.digest : digestArguments(edited)",
      "digest: approval.digest",
    ],
    ["(decision) => decision.toolCallId === toolCallId", "() => toolCallId !== undefined"],
  ),
  ...inFile(
    `${RUNTIME}/loop/tool-calls.ts`,
    ['await run.giveUp("superseded", at)', 'await run.decide({ option: "once" } as never, at)'],
    [
      "open.some(({ requestId }) => requestId === approvalId)",
      "open.length > 0 && approvalId !== undefined",
    ],
    ["const expired = runs.filter(", "const expired = runs.slice(0, 0).filter("],
  ),
  ...inFile(`${RUNTIME}/loop/call-arguments.ts`, [
    "const digest = digestArguments(copy);",
    "const digest = digestArguments({});",
  ]),
  ...inFile(
    `${RUNTIME}/approvals/ask-approval.ts`,
    ['return { kind: "ask", words:', 'return { kind: "allow", words:'],
    ['if (rule === "never")', 'if (rule !== "ask")'],
    ['if (said === "allow")', 'if (said !== "deny")'],
    ['if (said === "deny") return { kind: "deny" };', ""],
  ),
  ...inFile(`${RUNTIME}/approvals/gate.ts`, ["canonicalJson(toolArguments)", '""']),
  ...inFile(
    `${RUNTIME}/approvals/grants.ts`,
    [
      "if (isTaken && answered.get(id) === digest) granted.add(tool.name);",
      "if (isTaken) granted.add(tool.name);",
    ],
    ["} else if (GRANT_ID.test(message.messageId)) {", "} else {"],
    ["JSON.stringify([agent, owner, toolName])", "JSON.stringify([agent, toolName])"],
  ),
  ...inFile(
    `${RUNTIME}/approvals/check-answer.ts`,
    ["if (!plainWords) return undefined;", ""],
    ['if (REJECTING.has(word)) return { approvalId, digest, option: "reject" };', ""],
  ),
  ...inFile(`${RUNTIME}/approvals/check-answer.ts`, [
    "if (only === undefined || others.length > 0)",
    "if (only === undefined)",
  ]),
  ...inFile(
    `${PROTOCOL}/extensions/answer-approval.ts`,
    ["if (answer.digest !== approval.digest) {", "if (answer.digest === undefined) {"],
    ["if (!options.includes(option)) {", "if (option === undefined) {"],
    ["Date.parse(expiresAt) <= now.getTime()", "Date.parse(expiresAt) <= 0"],
    ["if (decision !== undefined) {", "if (decision === null) {"],
  ),
];
