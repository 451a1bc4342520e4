import {
  type AgentEvent,
  type ArtifactUpdateEvent,
  type FileContent,
  type Message,
  type StatusUpdateEvent,
  agentMessage,
} from "@convoke/protocol";
import type { ToolSink } from "./run-tool.ts";
import type { DelegatedUsage, Interrupt, InterruptAnswer, ToolEvent } from "../tools/tool.ts";
import type { Source, ToolInterruptEvent } from "../run/loop-events.ts";
import type { LoopScope } from "../run/loop-scope.ts";
import type { Secrets } from "../approvals/secrets.ts";
import { added } from "../run/usage.ts";
import type { ResultFile } from "../model/model.ts";
import { fileArtifactId } from "../tools/tool.ts";
import { type OpenRequest, interruptRequest } from "../approvals/open-request.ts";

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

/** Turns the events of a running tool into events of its task. */
export class CallSink implements ToolSink {
  readonly #scope: LoopScope;
  readonly #facts: SinkFacts;
  readonly sources: Source[] = [];
  readonly files: ResultFile[] = [];
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
      case "tool:file":
        return this.#file(shown.file);
      case "tool:source": {
        const { url, title } = shown;
        if (this.sources.length < MAX_SOURCES) {
          this.sources.push({ url, ...(title !== undefined && { title }) });
        }
        return undefined;
      }
      case "tool:note":
        return this.#note(shown.name, shown.data);
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

  #note(name: string, data: unknown): void {
    const { toolCallId } = this.#facts.call;
    this.#scope.note({ kind: "internal:tool-note", toolCallId, name, data });
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

  /**
   * A tool may add artifacts and messages; it can neither end its task nor write journal events.
   */
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

  /** The log has the bytes once, in the artifact; the result refers to it. */
  #file(file: FileContent): void {
    const { id: taskId, contextId } = this.#scope.turn.task;
    const place = this.files.length + 1;
    const artifactId = fileArtifactId(this.#facts.call.toolCallId, place);
    this.files.push({ artifactId, file });
    const name = file.name ?? `File ${place}`;
    const artifact = { artifactId, name, parts: [{ kind: "file", file } as const] };
    this.#scope.say({ kind: "artifact-update", taskId, contextId, artifact, lastChunk: true });
  }

  #artifact(event: ArtifactUpdateEvent): void {
    const { id: taskId, contextId } = this.#scope.turn.task;
    const { call, answerId } = this.#facts;
    const isAnswer = event.artifact.artifactId === answerId;
    const artifactId = isAnswer ? `${call.toolCallId}-${answerId}` : event.artifact.artifactId;
    const artifact = { ...event.artifact, artifactId };
    this.#scope.say({ ...event, taskId, contextId, artifact });
  }

  /** The loop chooses the message id, so that no tool can pose as the loop. */
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

interface Asked {
  readonly interrupts: readonly Interrupt[];
  /** Its position in the journal; 0 if it was asked in this attempt. */
  readonly place: number;
}

/** The questions of one call across its rounds, and their answers. */
export class CallInterrupts {
  readonly #toolCallId: string;
  readonly #asked: Asked[] = [];
  readonly #answers = new Map<string, InterruptAnswer>();
  #open: readonly Interrupt[] = [];

  constructor(toolCallId: string) {
    this.#toolCallId = toolCallId;
  }

  /** Answers by the request ids that the tool chose. */
  get answers(): ReadonlyMap<string, InterruptAnswer> {
    return this.#answers;
  }

  /** The unanswered requests of its last round. */
  get open(): readonly OpenRequest[] {
    return this.#open
      .filter(({ requestId }) => !this.#answers.has(requestId))
      .map((interrupt) => interruptRequest(this.#toolCallId, interrupt));
  }

  /**
   * Restores the questions of earlier attempts. The last one is open unless a later round has
   * started.
   */
  load(
    noted: readonly ToolInterruptEvent[],
    facts: { readonly isOpen: boolean; readonly placeOf: (event: ToolInterruptEvent) => number },
  ): void {
    for (const event of noted) {
      this.#asked.push({ interrupts: event.interrupts, place: facts.placeOf(event) });
    }
    this.#open = facts.isOpen ? (noted.at(-1)?.interrupts ?? []) : [];
  }

  /**
   * Opens the questions of a round that has ended. A request that is asked again loses its earlier
   * answer.
   */
  ask(interrupts: readonly Interrupt[]): void {
    for (const { requestId } of interrupts) this.#answers.delete(requestId);
    this.#asked.push({ interrupts, place: 0 });
    this.#open = interrupts;
  }

  /**
   * Records an answer with its position in the journal. An answer that came before the question was
   * asked again does not count. Returns the interrupt that was answered.
   */
  answer(requestId: string, answer: InterruptAnswer, place: number): Interrupt | undefined {
    const isMeant = (one: Interrupt): boolean =>
      interruptRequest(this.#toolCallId, one).requestId === requestId;
    const asked = this.#asked.findLast(({ interrupts }) => interrupts.some(isMeant));
    const interrupt = asked?.interrupts.find(isMeant);
    if (asked === undefined || interrupt === undefined || asked.place > place) return undefined;
    this.#answers.set(interrupt.requestId, answer);
    return interrupt;
  }

  /** Closes the open questions, because no answer will come. */
  giveUp(): void {
    this.#open = [];
  }
}
