import {
  type Mutant,
  argument,
  branch,
  call,
  condition,
  inFunction,
  method,
  negated,
  operand,
  returned,
  value,
} from "./plant-fault.ts";

// Faults in the coding agent that let a tool run, or change something, without the decision that
// it needs.

type Groups = readonly (readonly Mutant[])[];

/** The verdict of the policy, and how command lines are classified for it. */
export const POLICY_MUTANTS: Groups = [
  inFunction(
    "coder",
    "Policy.#judge",
    [value("isFixed"), "false"],
    [value("isAllowed"), "true"],
    [value("verdict"), '"allow"'],
    [argument("combined", 0), "[own]"],
  ),
  [
    ...inFunction("coder", "strictest", [value("worst", "Math.max"), "0"]),
    ...inFunction("coder", "stricterMode", [method("min"), "max"]),
    ...inFunction("coder", "combined", [value("verdict", "strictest"), '"allow"']),
  ],
  [
    ...inFunction(
      "coder",
      "Policy.#apply",
      [condition("rule.tool"), "true"],
      [condition('"no"'), "true"],
      [value("verdict"), '"allow"'],
      [branch('"maybe"', "consequent"), '"allow"'],
    ),
    ...inFunction(
      "coder",
      "Policy.#allows",
      [operand("startsWith"), "true"],
      [condition("path"), "true"],
      [operand("every"), "true"],
    ),
    ...inFunction(
      "coder",
      "Policy.#limits",
      [condition("some"), "false"],
      [branch("includes", "consequent"), '"no"'],
    ),
    ...inFunction(
      "coder",
      "mentions",
      [condition("given === undefined"), "false"],
      [value("isCertain", "false"), "true"],
    ),
    ...inFunction("coder", "startsWith", [method("every"), "some"]),
  ],
  [
    ...inFunction(
      "coder",
      "Policy.#judgePath",
      [condition("PROTECTED"), "false"],
      [condition("#isInside"), "true"],
      [value("isChange"), "false"],
    ),
    ...inFunction(
      "coder",
      "Policy.decideCommand",
      [call("strictest"), '"allow"'],
      [call("places", "(reads)"), "[]"],
      [call("places", "(writes)"), "[]"],
      [call("ask"), '{ verdict: "allow", reasons: [] }'],
    ),
    ...inFunction(
      "coder",
      "Policy.#judgeCommand",
      [value("isReader"), "true"],
      [value("outside"), "undefined"],
    ),
    ...inFunction("coder", "isInside", [returned("startsWith"), "true"]),
  ],
  [
    ...inFunction(
      "coder",
      "isReadOnly",
      [condition("given.includes"), "false"],
      [operand("isHarmless"), "true"],
      [returned("FIND_CHANGES"), "true"],
    ),
    ...inFunction("coder", "isGitReader", [operand("isHarmless"), "true"]),
    ...inFunction(
      "coder",
      "isHarmless",
      [operand("isUnsafe"), "true"],
      [operand("maxOperands"), "true"],
    ),
    ...inFunction("coder", "Findings.readLine", [condition("isRead"), "false"]),
    ...inFunction("coder", "Findings.readCommands", [condition("unknown"), "false"]),
    ...inFunction("coder", "Findings.#unknown", [call("add"), "why"]),
  ],
  [
    ...inFunction(
      "coder",
      "grantedMode",
      [operand("stricterMode"), "true"],
      [operand("stricterMode"), negated],
    ),
    ...inFunction("coder", "requestRights", [condition("allowedRoots"), "true"]),
    ...inFunction(
      "coder",
      "withWorkspacePolicy",
      [value("isTrusted"), "true"],
      [argument("filter", 0), "() => true"],
    ),
  ],
];

/** The paths of tools: what is outside the workspace is no subject of a decision. */
export const JAIL_MUTANTS: Groups = [
  [
    ...inFunction(
      "coder",
      "Workspace.resolve",
      [condition("isInAny"), "false"],
      [argument("isInAny", 0), "absolute"],
    ),
    ...inFunction("coder", "isIn", [returned("rest"), 'rest === "" || !isAbsolute(rest)']),
    ...inFunction("coder", "deepestReal", [condition("isLink"), "false"]),
  ],
];

/** The way from the policy to the `confirm` rules of the tools. */
export const RULE_MUTANTS: Groups = [
  [
    ...inFunction(
      "coder",
      "Project.modeOf",
      [branch("stricterMode", "alternate"), "chosen"],
      [value("chosen"), '"full"'],
    ),
    ...inFunction(
      "coder",
      "Project.rule",
      [value("mode"), '"full"'],
      [call("decide"), '{ verdict: "allow", reasons: [] }'],
    ),
    ...inFunction("coder", "Project.checkChange", [condition("deny"), "true"]),
    ...inFunction("coder", "Project.#decideFile", [value("mode"), '"full"']),
    ...inFunction("coder", "withRule", [value("confirm"), '"never"']),
    ...inFunction("coder", "CoderHome.#makeAgent", [value("confirm", "project.rule"), '"never"']),
  ],
  [
    ...inFunction(
      "coder",
      "confirm",
      [value("verdict"), '"allow"'],
      [condition("verdict"), 'verdict !== "deny"'],
    ),
    ...inFunction("coder", "permit", [condition("deny"), "true"]),
    ...inFunction("coder", "withEditedContent", [condition("write_file"), "false"]),
    ...inFunction("coder", "checkUnchanged", [condition("sha256"), "sha256(bytes) !== undefined"]),
  ],
  [
    ...inFunction(
      "coder",
      "RunShell.#confirm",
      [condition('"ask"'), "true"],
      [value("risk"), '"warning"'],
    ),
    ...inFunction("coder", "RunShell.#decide", [value("isSandboxed", "sandbox !=="), "true"]),
    ...inFunction("coder", "RunShell.#cwd", [branch("some", "alternate"), "place"]),
    ...inFunction("coder", "RunShell.#run", [operand('"deny"'), "false"]),
    ...inFunction("coder", "toolRule", [value("isOpen"), "false"], [value("risk"), '"warning"']),
  ],
];

/** Replies to confirmations, in the forms of the dialects. */
export const REPLY_MUTANTS: Groups = [
  [
    ...inFunction(
      "coder",
      "answerPart",
      [argument("approvalsOf(task).find", 0), "() => true"],
      [condition("question"), "false"],
    ),
    ...inFunction(
      "coder",
      "approvalAnswer",
      [condition("options.includes"), "false"],
      [value("option", "find"), '"once"'],
      [branch("edited", "alternate"), "option"],
      [value("edited"), "undefined"],
    ),
    ...inFunction(
      "coder",
      "withContent",
      [condition("options.includes"), "false"],
      [value("isSame"), "true"],
    ),
  ],
  [
    ...inFunction("coder", "coderAgent", [value("option", "OPTIONS"), '"once"']),
    ...inFunction("coder", "coderAgent", [condition("MODIFY"), "false"]),
    ...inFunction("coder", "eventMessages", [branch("approved", "alternate"), '"once"']),
    ...inFunction("coder", "eventMessages", [condition("boolean"), "false"]),
    ...inFunction("coder", "developmentTool", [value("option", "textField"), '"once"']),
  ],
];

/** What callers ask for with their messages: modes, autoExecute, trust and workspaces. */
export const REQUEST_MUTANTS: Groups = [
  [
    ...inFunction("coder", "openSession", [
      value("policy"),
      '{ ...project.rights, maxMode: "full" }',
    ]),
    ...inFunction("coder", "firstRoot", [operand("allowedRoots.some"), "true"]),
    ...inFunction("coder", "switchMode", [
      value("policy"),
      '{ ...project.rights, maxMode: "full" }',
    ]),
    ...inFunction("coder", "userCommands", [branch("isTrusted", "alternate"), "[ofProject]"]),
  ],
];
