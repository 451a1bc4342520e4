import {
  type Mutant,
  type Selector,
  argument,
  call,
  condition,
  method,
  operand,
  returned,
  value,
} from "./plant-fault.ts";

type Fault = readonly [at: Selector, to: string | typeof negated];

/**
 * The faults of one function, found by its name, so that sources can be changed and moved freely.
 */
function inFunction(
  packageName: string,
  name: string,
  ...faults: readonly Fault[]
): readonly Mutant[] {
  return faults.map(([at, to]) => ({
    package: packageName,
    in: name,
    at,
    to: typeof to === "string" ? () => to : to,
  }));
}

function negated(expression: string): string {
  return `!(${expression})`;
}

/** The first of each group represents the others in the short form. */
export const MUTANTS: readonly (readonly Mutant[])[] = [
  inFunction(
    "runtime",
    "mayRun",
    [condition("isGuarded"), "true"],
    [condition("isGuarded"), negated],
    [operand("outcome"), "true"],
    [operand("outcome"), 'outcome !== "rejected"'],
    [operand("toolCallId"), "true"],
    [operand("digest"), "true"],
    [method("some"), "every"],
    [returned("some"), negated],
  ),
  inFunction(
    "runtime",
    "begin",
    [condition("mayRun"), "false"],
    [condition("mayRun"), negated],
    [argument("mayRun", 0), "{ ...call, isGuarded: false }"],
    [argument("tool.run", 0), "structuredClone(decisions[0]?.arguments ?? input)"],
  ),
  [
    ...inFunction(
      "runtime",
      "CallRun.#confirm",
      [value("this.#isGuarded"), "false"],
      [value("this.#isGuarded"), negated],
      [condition("#isGuarded"), "true"],
      [condition('"deny"'), 'confirmed?.kind === "ask"'],
    ),
    ...inFunction("runtime", "CallRun.#execute", [value("isGuarded"), "false"]),
    ...inFunction("runtime", "CallRun.decide", [value("outcome"), '"approved"']),
    ...inFunction("runtime", "CallRun.giveUp", [value("outcome"), '"approved"']),
    ...inFunction("runtime", "CallRun.#heedDecision", [condition("decision"), "true"]),
    ...inFunction("runtime", "CallRun.#decided", [condition("edited"), "false"]),
    ...inFunction(
      "runtime",
      "CallRun.advance",
      [condition("#isConfirmed"), "false"],
      [condition("#approval"), "false"],
      [argument("#execute", 1), "JSON.parse(this.#call.input)"],
    ),
  ],
  [
    ...inFunction(
      "runtime",
      "RunApprovals.applyGrant",
      [condition("isGranted"), "false"],
      [value("isConversation"), "this.#granted.size > 0"],
    ),
    ...inFunction("runtime", "RunApprovals.constructor", [value("isLasting"), "true"]),
    ...inFunction("runtime", "RunApprovals.decided", [value("digest"), "approval.digest"]),
    ...inFunction("runtime", "RunApprovals.decisionOf", [
      argument("findLast", 0),
      "() => toolCallId !== undefined",
    ]),
  ],
  inFunction(
    "runtime",
    "ToolCalls.#take",
    [call("giveUp", '"superseded"'), 'run.decide({ option: "once" }, at)'],
    [call("some", "approvalId"), "open.length > 0 && approvalId !== undefined"],
    [value("expired"), "[]"],
  ),
  inFunction("runtime", "checkArguments", [argument("digestArguments", 0), "{}"]),
  inFunction(
    "runtime",
    "confirmCall",
    [value("kind", '"ask"'), '"allow"'],
    [condition('"never"'), 'rule !== "ask"'],
    [condition('"allow"'), 'said !== "deny"'],
    [condition('"deny"'), "false"],
  ),
  inFunction("runtime", "digestArguments", [call("canonicalJson"), '""']),
  [
    ...inFunction(
      "runtime",
      "grantedIn",
      [operand("answered.get"), "true"],
      [condition("GRANT_ID"), "true"],
    ),
    ...inFunction("runtime", "memoryGrants", [argument("JSON.stringify", 0), "[agent, toolName]"]),
  ],
  inFunction(
    "runtime",
    "plainDecision",
    [condition("acceptPlainText"), "false"],
    [condition("REJECTING.has"), "false"],
  ),
  inFunction("runtime", "plainAnswer", [operand("others"), "false"]),
  inFunction(
    "protocol",
    "answerApproval",
    [condition("digest"), "answer.digest === undefined"],
    [condition("options"), "option === undefined"],
    [operand("Date.parse"), "Date.parse(expiresAt) <= 0"],
    [condition("decision"), "decision === null"],
  ),
];
