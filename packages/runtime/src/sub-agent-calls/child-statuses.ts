import { type Metadata, type Task, agentMessage } from "@convoke/protocol";
import type { ToolEvent } from "../tools/tool.ts";
import type { Child } from "./child-call.ts";
import { artifactReferences } from "./child-result.ts";
import type { SubAgentLink } from "../sub-agents/sub-agent-link.ts";

const MAX_TEXT = 1000;

/** What the task of a caller says about a sub-agent: before it is called, when it begins, and after it. */
export class ChildStatuses {
  readonly #link: SubAgentLink;

  constructor(link: SubAgentLink) {
    this.#link = link;
  }

  invoking(): ToolEvent {
    return this.#status(`Invoking ${this.#link.name}…`);
  }

  begun(task: Task): ToolEvent {
    return this.#status(`${this.#link.name} works on it.`, task);
  }

  received(task?: Task): ToolEvent {
    return this.#status(`Received the result of ${this.#link.name}.`, task);
  }

  failed(text: string, task: Task | undefined, child: Child | undefined): ToolEvent {
    const { taskId: id, contextId } = child ?? {};
    const known = id !== undefined && contextId !== undefined ? { id, contextId } : undefined;
    return this.#status(text.slice(0, MAX_TEXT), task ?? known);
  }

  /** It names the task of the sub-agent, so that whoever looks can follow it there. */
  #status(text: string, task?: Pick<Task, "id" | "contextId"> & Partial<Task>): ToolEvent {
    const message = agentMessage("", text);
    const status = {
      state: "working",
      message: {
        ...message,
        ...(task && { referenceTaskIds: [task.id] }),
        metadata: { subAgent: this.#facts(task) },
      },
    } as const;
    const event = {
      kind: "status-update",
      taskId: "",
      contextId: "",
      status,
      final: false,
    } as const;
    return { kind: "tool:event", event };
  }

  #facts(task: (Pick<Task, "id" | "contextId"> & Partial<Task>) | undefined): Metadata {
    const { name } = this.#link;
    return {
      name,
      ...(task && { taskId: task.id, contextId: task.contextId }),
      ...(task?.status && {
        state: task.status.state,
        artifacts: artifactReferences(task as Task),
      }),
    };
  }
}
