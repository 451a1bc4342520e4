import {
  type ApprovalWords,
  type Tool,
  type ToolContext,
  type ToolYield,
  tool,
} from "@convoke/runtime";
import type { Static, TObject } from "typebox";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import type { InOrder } from "../workspace/in-order.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import { DETAILS_NOTE } from "../events/call-details.ts";
import type { ContentChange } from "../workspace/content-change.ts";
import { editDetails, previewOf, unifiedDiff } from "./change-preview.ts";
import type { FileAction, FilePolicy } from "./file-action.ts";
import type { SeenFiles } from "./seen-files.ts";

/** What the file tools of one workspace share. */
export interface FileToolScope {
  readonly workspace: Workspace;
  readonly checkpoints: Checkpoints;
  readonly seen: SeenFiles;
  readonly policy: FilePolicy;
  /** Changes are made one after the other, so that each one sees the one before. */
  readonly order: InOrder;
  /** Larger files are not read, changed or searched. */
  readonly maxFileBytes: number;
}

/** What a call would do. */
export interface PlannedAction {
  readonly kind: FileAction["kind"];
  readonly paths: readonly string[];
  /** The title of the approval. */
  readonly title: string;
  /** What an approver should know; by default the diff of the change. */
  readonly prompt?: string;
  readonly risk?: ApprovalWords["risk"];
  /** The content that changes, if it is text. */
  readonly change?: ContentChange;
}

export interface FileToolDefinition<Input extends TObject, Plan extends PlannedAction> {
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  /**
   * Finds out what the call would do, without doing it. It throws a `WorkspaceError` if the call
   * cannot work, so that no person is asked about it.
   */
  plan(input: Static<Input>): Promise<Plan>;
  /** Does it. A tool that changes something gets a plan that no other change has overtaken. */
  run(
    input: Static<Input>,
    plan: Plan,
    context: ToolContext,
  ): Promise<string> | AsyncGenerator<ToolYield, string | undefined>;
}

/** The longest diff in the text of an approval, in characters. */
const MAX_PROMPT = 8000;

/** Creates a tool that plans, asks the policy, and only then does something. */
export function fileTool<Input extends TObject, Plan extends PlannedAction>(
  scope: FileToolScope,
  definition: FileToolDefinition<Input, Plan>,
): Tool {
  const { name, description } = definition;
  const base = tool({
    name,
    description,
    inputSchema: Object.fromEntries(Object.entries(definition.input)),
    confirm: ({ input, caller, turn }) =>
      confirm(input as Static<Input>, { caller, contextId: turn.task.contextId }),
    run: (input, context) => run(input as Static<Input>, context),
  });
  return { ...base, check };

  async function check(given: unknown): ReturnType<Tool["check"]> {
    const checked = await base.check(given);
    if (!checked.ok) return checked;
    try {
      await definition.plan(checked.input as Static<Input>);
      return checked;
    } catch (error) {
      if (error instanceof WorkspaceError) return { ok: false, problems: [error.message] };
      throw error;
    }
  }

  async function confirm(input: Static<Input>, call: CallFacts) {
    const plan = await definition.plan(input);
    const verdict = await scope.policy(actionOf(name, plan, call));
    if (verdict === "allow" || verdict === "deny") return verdict;
    return { ...approvalWords(plan), ...(typeof verdict === "object" && verdict) };
  }

  async function* run(
    input: Static<Input>,
    context: ToolContext,
  ): AsyncGenerator<ToolYield, string | undefined> {
    const plan = await definition.plan(input);
    if (plan.kind !== "read") {
      const { result, change } = await scope.order.run(async () => {
        const latest = await definition.plan(input);
        await permit(latest, context);
        const result = (await definition.run(input, latest, context)) as string;
        return { result, change: latest.change };
      });
      // Callers see what has changed, even if no approval was needed.
      if (change) yield { kind: "tool:note", name: DETAILS_NOTE, data: editDetails(change) };
      return result;
    }
    await permit(plan, context);
    const result = definition.run(input, plan, context);
    return result instanceof Promise ? await result : yield* result;
  }

  async function permit(plan: Plan, call: CallFacts): Promise<void> {
    if ((await scope.policy(actionOf(name, plan, call))) !== "deny") return;
    throw new WorkspaceError("a rule of this agent does not allow it");
  }
}

/** Who makes a call, and in which conversation. */
type CallFacts = Pick<FileAction, "caller" | "contextId">;

function actionOf(
  tool: string,
  { kind, paths, change }: PlannedAction,
  { caller, contextId }: CallFacts,
): FileAction {
  const preview = change && { preview: previewOf(change) };
  return { tool, kind, paths, caller, contextId, ...preview };
}

function approvalWords({ title, prompt, risk, change }: PlannedAction): ApprovalWords {
  const text = prompt ?? (change && unifiedDiff(change, MAX_PROMPT));
  return {
    title,
    ...(text !== undefined && { prompt: text }),
    ...(risk !== undefined && { risk }),
    ...(change && { preview: previewOf(change) }),
  };
}
