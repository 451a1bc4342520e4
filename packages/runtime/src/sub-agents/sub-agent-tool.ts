import type { LoopScope } from "../loop/loop-scope.ts";
import { type ToolInput, toolInput } from "../tools/tool-input.ts";
import type { Tool } from "../tools/tool.ts";
import { ChildStatuses } from "./child-statuses.ts";
import type { RunSubAgents } from "./run-sub-agents.ts";
import { SubAgentCall } from "./sub-agent-call.ts";
import type { SubAgentLink } from "./sub-agent-link.ts";
import { watchChild } from "./watch-child.ts";

const MAX_DESCRIPTION = 4000;
const MAX_SKILLS = 32;

const SCHEMA = {
  type: "object",
  properties: {
    message: {
      type: "string",
      minLength: 1,
      description:
        "What the agent shall do, with everything that it must know: it does not see this conversation.",
    },
  },
  required: ["message"],
} as const;

/** The same for all of them, and made once. */
let input: ToolInput | undefined;

/** A sub-agent, for the model of one run. */
export function subAgentTool(
  link: SubAgentLink,
  around: { readonly run: RunSubAgents; readonly scope: LoopScope },
): Tool {
  const { name, confirm, timeoutMs } = link.settings;
  input ??= toolInput(name, SCHEMA);
  const { run, scope } = around;
  return {
    name,
    description: describe(link),
    input: input.schema,
    confirm,
    // A call that is made again finds the task that it began, or says that it cannot.
    idempotent: true,
    timeoutMs,
    check: input.check,
    run: (given, context) => {
      const { message } = given as { readonly message: string };
      const call = run.call(context.toolCallId, link);
      return new SubAgentCall({ link, run, scope, call, context, message }).round();
    },
    watch: ({ toolCallId }, signal) =>
      watchChild(run.call(toolCallId, link), { link, owner: scope.turn.caller.owner, signal }),
    giveUp: ({ toolCallId }) => run.letGo(run.call(toolCallId, link), link),
    late: ({ toolCallId }, problem) =>
      new ChildStatuses(link).failed(problem, undefined, run.call(toolCallId, link).child),
  };
}

/** What the author says of it, else what it says of itself, else as much as is certain. */
function describe({ settings, info }: SubAgentLink): string {
  const { name, description } = settings;
  const own =
    description ?? info?.description ?? `The agent ${name}, which works on what it is told.`;
  const skills = (info?.skills ?? []).slice(0, MAX_SKILLS).map((skill) => skill.name);
  const listed = skills.length === 0 ? "" : `\nIts skills: ${skills.join(", ")}.`;
  return `${own}${listed}`.slice(0, MAX_DESCRIPTION);
}
