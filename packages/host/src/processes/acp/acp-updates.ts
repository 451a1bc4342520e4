import type {
  PermissionOption,
  SessionUpdate,
  ToolCallContent,
  ToolCallUpdate,
} from "@agentclientprotocol/sdk";
import type { ContentChange, PlanEntry } from "@convoke/coder/internal";
import type { ApprovalOption } from "@convoke/protocol";
import { isObject } from "@convoke/protocol/internal";
import { isAbsolute, relative } from "node:path";
import type { ProgramEvent, ProgramToolCall } from "../program/program-event.ts";

const STATUS = {
  pending: "pending",
  in_progress: "running",
  completed: "succeeded",
  failed: "failed",
} as const satisfies Record<string, ProgramToolCall["status"]>;

/** Reads the updates of a session. A tool call is known from its first update to the end of its prompt. */
export class AcpUpdates {
  readonly #cwd: string;
  readonly #calls = new Map<string, ProgramToolCall>();

  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** A new prompt begins. */
  clear(): void {
    this.#calls.clear();
  }

  next(update: SessionUpdate): readonly ProgramEvent[] {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return [{ kind: "text", text: textOf({ type: "content", content: update.content }) }];
      case "agent_thought_chunk":
        return [{ kind: "thought", text: textOf({ type: "content", content: update.content }) }];
      case "tool_call":
      case "tool_call_update":
        return [{ kind: "tool", call: this.call(update) }];
      case "plan":
        return [{ kind: "plan", entries: update.entries.map(planEntry) }];
      default:
        // Commands, modes, titles and usage are about the session and not about the task.
        return [];
    }
  }

  /** The call after an update, in which absent fields mean no change. */
  call(update: ToolCallUpdate): ProgramToolCall {
    const { toolCallId: callId, title, kind, status, content, rawInput, rawOutput } = update;
    const known = this.#calls.get(callId);
    const changes = content?.flatMap((one) => changeIn(one, this.#cwd));
    const printed = content?.map(textOf).join("") ?? "";
    const output = printed !== "" || rawOutput == null ? printed : JSON.stringify(rawOutput);
    const call: ProgramToolCall = {
      callId,
      name: update.name ?? (known?.name || (kind ?? "other")),
      title: title ?? known?.title ?? kind ?? "A tool call",
      status: status == null ? (known?.status ?? "pending") : STATUS[status],
      input: rawInput === undefined ? (known?.input ?? {}) : fieldsOf(rawInput),
      changes: changes !== undefined && changes.length > 0 ? changes : (known?.changes ?? []),
      output: output === "" ? (known?.output ?? "") : output,
    };
    this.#calls.set(callId, call);
    return call;
  }
}

function planEntry({ content, status, priority }: PlanEntry): PlanEntry {
  return { content, status, ...(priority && { priority }) };
}

/** Files of the workspace are shown without its path. */
function changeIn(content: ToolCallContent, cwd: string): readonly ContentChange[] {
  if (content.type !== "diff") return [];
  const { oldText, newText: after } = content;
  const inside = relative(cwd, content.path);
  const path = inside.startsWith("..") || isAbsolute(inside) ? content.path : inside;
  return [{ path, before: oldText ?? undefined, after }];
}

function textOf(content: ToolCallContent): string {
  if (content.type !== "content") return "";
  const { content: block } = content;
  if (block.type === "text") return block.text;
  if (block.type === "resource" && "text" in block.resource) return block.resource.text;
  return block.type === "resource_link" ? block.uri : `[${block.type}]`;
}

function fieldsOf(input: unknown): ProgramToolCall["input"] {
  return isObject(input) ? input : { value: input };
}

/** What our approvals call the kinds of options. "Always" ends with the session of the program. */
const OPTIONS = [
  ["once", "allow_once"],
  ["conversation", "allow_always"],
  ["reject", "reject_once"],
  ["reject", "reject_always"],
] as const satisfies readonly (readonly [ApprovalOption, PermissionOption["kind"]])[];

/** The options that a program offers, by ours. A call can be rejected even if it offers no such option. */
export function approvalOptions(
  offered: readonly PermissionOption[],
): ReadonlyMap<ApprovalOption, string | undefined> {
  const found = new Map<ApprovalOption, string | undefined>();
  for (const [option, kind] of OPTIONS) {
    const optionId = offered.find((one) => one.kind === kind)?.optionId;
    if (optionId !== undefined && !found.has(option)) found.set(option, optionId);
  }
  if (!found.has("reject")) found.set("reject", undefined);
  return found;
}
