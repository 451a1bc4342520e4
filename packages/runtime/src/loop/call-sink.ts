import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type Message,
  type StatusUpdateEvent,
  agentMessage,
} from "@convoke/protocol";
import type { ToolSink } from "./run-tool.ts";
import type { DelegatedUsage, ToolEvent } from "../tools/tool.ts";
import type { Source } from "../run/loop-events.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import type { Secrets } from "./secrets.ts";
import { added } from "../run/usage.ts";

/** Progress is for people: more frequent updates are unreadable, and would fill up the history. */
const PROGRESS_MS = 1000;
const MAX_SOURCES = 200;

interface SinkFacts {
  readonly call: { readonly toolCallId: string; readonly toolName: string };
  readonly round: number;
  readonly secrets: Secrets;
  /** The artifact that only the model writes. */
  readonly answerId: string;
}

/** Turns what a running tool shows into events of its task. */
export class CallSink implements ToolSink {
  readonly #scope: LoopScope;
  readonly #facts: SinkFacts;
  readonly sources: Source[] = [];
  used: DelegatedUsage | undefined;
  #statuses = 0;
  #progressAt = Number.NEGATIVE_INFINITY;

  constructor(scope: LoopScope, facts: SinkFacts) {
    this.#scope = scope;
    this.#facts = facts;
  }

  take(event: ToolEvent): void {
    const shown = this.#facts.secrets.hide(event);
    switch (shown.kind) {
      case "tool:output":
        return this.#output(shown.text);
      case "tool:progress":
        return this.#progress(shown.text, shown.fraction);
      case "tool:event":
        return this.#event(shown.event);
      case "tool:source": {
        const { url, title } = shown;
        if (this.sources.length < MAX_SOURCES) {
          this.sources.push({ url, ...(title !== undefined && { title }) });
        }
        return undefined;
      }
      case "tool:usage":
        this.used = added(this.used, shown.used);
        return undefined;
      case "tool:result":
      case "tool:error":
        return undefined;
      default:
        return shown satisfies never;
    }
  }

  room(): Promise<void> | undefined {
    return this.#scope.room();
  }

  #output(text: string): void {
    const { toolCallId } = this.#facts.call;
    this.#scope.note({ kind: "internal:tool-output", toolCallId, text });
  }

  #progress(text: string, fraction: number | undefined): void {
    const now = this.#scope.turn.now().getTime();
    if (now - this.#progressAt < PROGRESS_MS) return;
    this.#progressAt = now;
    const { toolCallId } = this.#facts.call;
    const facts = { toolCallId, text, ...(fraction !== undefined && { fraction }) };
    this.#scope.note({ kind: "internal:tool-progress", ...facts });
    this.#status(text);
  }

  /** A tool adds artifacts and words; it neither ends its task nor writes the loop's notes. */
  #event(event: AgentEvent): void {
    if (event.kind === "artifact-update") return this.#artifact(event as ArtifactUpdateEvent);
    if (event.kind !== "status-update") return;
    const { state, message } = (event as StatusUpdateEvent).status;
    if (state !== "working" || message === undefined) return;
    const { parts, referenceTaskIds, metadata } = message;
    this.#status(parts, {
      ...(referenceTaskIds && { referenceTaskIds }),
      ...(metadata && { metadata }),
    });
  }

  #artifact(event: ArtifactUpdateEvent): void {
    const { id: taskId, contextId } = this.#scope.turn.task;
    const { call, answerId } = this.#facts;
    const isAnswer = event.artifact.artifactId === answerId;
    const artifactId = isAnswer ? `${call.toolCallId}-${answerId}` : event.artifact.artifactId;
    const artifact = { ...event.artifact, artifactId };
    this.#scope.say({ ...event, taskId, contextId, artifact });
  }

  /** The id is ours: no tool can speak as the loop does. */
  #status(
    content: Parameters<typeof agentMessage>[1],
    more: Pick<Message, "referenceTaskIds" | "metadata"> = {},
  ): void {
    const { turn, runId } = this.#scope;
    const { id: taskId, contextId } = turn.task;
    this.#statuses += 1;
    const { call, round } = this.#facts;
    const messageId = `${runId}-${call.toolCallId}-${round}-progress-${this.#statuses}`;
    const message = { ...agentMessage(messageId, content), ...more };
    const status = { state: "working", message } as const;
    this.#scope.say({ kind: "status-update", taskId, contextId, status, final: false });
  }
}
