import {
  type Agent,
  type AgentEvent,
  type ArtifactUpdateEvent,
  type StatusUpdateEvent,
  type Task,
  type TaskState,
  type TraceContext,
  type TracingOptions,
  isInterrupted,
  isTerminal,
} from "@convoke/protocol";
import type { Backend } from "../log/backend.ts";
import { readTaskTrace } from "../log/turn-log.ts";
import { isTracing } from "../tracing/opentelemetry.ts";
import { type Span, abortName, inSpan, startSpan } from "../tracing/span.ts";
import type { LiveTask } from "./live-task.ts";
import type { TurnFacts } from "./turn.ts";

interface RunSpanOptions {
  readonly agent: Agent;
  readonly live: LiveTask;
  readonly facts: TurnFacts;
  readonly tracing: Required<TracingOptions>;
}

/**
 * The spans of one run, `invoke_agent`: one for each stretch of work, which ends when the run waits,
 * ends or is stopped. All of them are in the trace of the message that started the turn, because
 * that trace is in the log; a stretch that begins with an answer links to the request of the answer.
 */
export class RunSpan {
  readonly #options: RunSpanOptions;
  #span: Span | undefined;

  constructor(options: RunSpanOptions) {
    this.#options = options;
    this.begin(options.facts.link);
  }

  /** The current stretch of work as a trace; `undefined` without an OpenTelemetry SDK. */
  get trace(): TraceContext | undefined {
    return this.#span?.trace;
  }

  begin(link: TraceContext | undefined): void {
    if (!isTracing()) return;
    const { agent, live, facts } = this.#options;
    const { name } = agent.info;
    this.#span = startSpan(`invoke_agent ${name}`, {
      parent: facts.trace,
      link,
      attributes: () => ({
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": name,
        "gen_ai.agent.id": agent.id,
        "gen_ai.agent.version": agent.info.version,
        "gen_ai.conversation.id": live.contextId,
        "a2a.task.id": live.writer.taskId,
        "a2a.turn": facts.turn,
        "a2a.attempt": facts.attempt,
      }),
    });
    // The status with which the message was stored, before the run began.
    if (this.#span !== undefined) addStatus(this.#span, live.writer.nextState);
  }

  run<T>(work: () => T): T {
    return inSpan(this.#span, work);
  }

  /** Adds events that the run writes. Their content is left out. */
  add(events: readonly AgentEvent[]): void {
    const span = this.#span;
    if (span?.isRecording !== true) return;
    for (const event of events) this.#addEvent(span, event);
  }

  #addEvent(span: Span, event: AgentEvent): void {
    if (event.kind === "status-update") {
      addStatus(span, (event as StatusUpdateEvent).status.state);
    } else if (event.kind === "artifact-update") {
      const { artifact, append, lastChunk } = event as ArtifactUpdateEvent;
      if (append === true && !this.#options.tracing.chunks) return;
      span.addEvent("a2a.artifact", () => ({
        "a2a.artifact.id": artifact.artifactId,
        "a2a.artifact.append": append === true,
        "a2a.artifact.last_chunk": lastChunk === true,
      }));
    }
  }

  /** @param stopped the reason for which the run was aborted, if it was */
  end(stopped?: unknown): void {
    const span = this.#span;
    if (span?.isRecording !== true) return span?.end();
    const { nextState: state } = this.#options.live.writer;
    span.set(() => ({ "a2a.task.state": state }));
    if (isTerminal(state) || isInterrupted(state)) return span.end(failure(state));
    span.end(stopped === undefined ? undefined : abortName(stopped));
  }
}

function addStatus(span: Span, state: TaskState): void {
  span.addEvent("a2a.status", () => ({ "a2a.task.state": state }));
}

/** The `error.type` of a task that has ended in this state; `undefined` if that is no failure. */
function failure(state: TaskState): TaskState | undefined {
  return state === "failed" || state === "canceled" || state === "rejected" ? state : undefined;
}

/**
 * Records the span of a task that has ended. It starts with the task, so it can only be created at
 * the end: a task may outlive many processes, and a span cannot.
 */
export function recordTaskSpan(backend: Backend, { task, createdAt, agentName }: LiveTask): void {
  if (!isTracing()) return;
  void readTaskTrace(backend, task.id).then(
    (parent) => parent && writeTaskSpan({ name: agentName, task, createdAt, parent }),
    // The storage was closed meanwhile. A missing span is no reason to fail.
    () => undefined,
  );
}

function writeTaskSpan(facts: {
  /** The name of the agent. */
  readonly name: string;
  readonly task: Task;
  readonly createdAt: number;
  readonly parent: TraceContext;
}): void {
  const { name, task, createdAt, parent } = facts;
  const { state } = task.status;
  const span = startSpan(`task ${name}`, {
    parent,
    startTime: createdAt,
    attributes: () => ({
      "gen_ai.agent.name": name,
      "gen_ai.conversation.id": task.contextId,
      "a2a.task.id": task.id,
      "a2a.task.state": state,
      "a2a.task.artifacts": task.artifacts?.length ?? 0,
    }),
  });
  span?.end(failure(state));
}
