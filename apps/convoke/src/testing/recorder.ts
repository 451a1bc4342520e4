import {
  type Model,
  ModelError,
  type ModelEvent,
  type ModelRequest,
  type Tool,
  type ToolEvent,
} from "@convoke/runtime";
import {
  type Secrets,
  type Tape,
  type TapedCall,
  type ToolOutcome,
  withoutTape,
} from "@convoke/runtime/testing";
import {
  type ForeignTool,
  type PlainRequest,
  type RecordedAnswer,
  type RecordedCall,
  type RecordedContent,
  type RecordedModelCall,
  type RecordedToolCall,
  isSame,
  plainInput,
  plainRequest,
  writeRecording,
} from "./recording.ts";

/** Calls the real models and tools, and keeps what they answer. */
export class Recorder implements Tape {
  readonly #secrets: Secrets;
  readonly #calls: { call: RecordedCall }[] = [];
  readonly #foreignTools = new Map<string, ForeignTool>();
  #last: { readonly request: PlainRequest; readonly entry: { call: RecordedCall } } | undefined;

  constructor(secrets: Secrets) {
    this.#secrets = secrets;
  }

  async model(open: () => Promise<Model>): Promise<Model> {
    const model = await open();
    const { id, contextTokens, price } = model;
    return {
      id,
      ...(contextTokens !== undefined && { contextTokens }),
      ...(price && { price }),
      stream: (request, signal) => this.#stream(model, request, signal),
    };
  }

  async foreignTools(look: () => Promise<readonly Tool[]>): Promise<readonly Tool[]> {
    const tools = await withoutTape(look);
    for (const { name, description, describedBy, inputSchema } of tools) {
      const described = { name, description, ...(describedBy !== undefined && { describedBy }) };
      this.#foreignTools.set(name, { ...described, inputSchema });
    }
    return tools;
  }

  async call(
    call: TapedCall,
    run: (show: (event: ToolEvent) => void) => Promise<ToolOutcome>,
  ): Promise<ToolOutcome> {
    const { toolCallId, toolName, input, isApproved } = call;
    const begun: RecordedToolCall = {
      kind: "tool",
      toolCallId,
      toolName,
      input: call.hide(input),
      ...(isApproved && { approved: true }),
    };
    const entry = this.#add(begun);
    const events: ToolEvent[] = [];
    const outcome = await withoutTape(() =>
      run((event) => {
        events.push(event);
        call.show(event);
      }),
    );
    const shown = call.hide(events.reduce(withEvent, []));
    entry.call = {
      ...begun,
      ...(shown.length > 0 && { events: shown }),
      ...call.hide(endOf(outcome)),
    };
    return outcome;
  }

  /** Writes the file. Throws if there is nothing to write. */
  async save(file: string): Promise<readonly RecordedCall[]> {
    const calls = this.#calls.map(({ call }) => call);
    if (calls.length === 0) {
      throw new Error("nothing was recorded: the agent asked no model and called no tool");
    }
    const foreignTools = [...this.#foreignTools.values()];
    const recording = { calls, ...(foreignTools.length > 0 && { foreignTools }) };
    await writeRecording(file, this.#secrets.hide(recording));
    return calls;
  }

  async *#stream(
    model: Model,
    request: ModelRequest,
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent, void> {
    const begun = this.#begin(model, plainRequest(request));
    const entry = this.#last!.entry;
    const content: RecordedContent[] = [];
    try {
      for await (const event of model.stream(request, signal)) {
        addContent(content, event);
        if (event.kind === "finish") {
          const answer: RecordedAnswer = { content, finish: event.reason, usage: event.usage };
          entry.call = { ...begun, answer };
        }
        yield event;
      }
    } catch (error) {
      if (error instanceof ModelError) {
        entry.call = { ...begun, error: { kind: error.kind, message: error.message } };
      }
      throw error;
    }
  }

  /** Adds the request. It replaces the same request before it, which failed. */
  #begin({ id, contextTokens }: Model, request: PlainRequest): RecordedModelCall {
    const before = this.#last;
    if (before !== undefined && isSame(before.request, request)) {
      const { error: _, ...again } = before.entry.call as RecordedModelCall;
      return { ...again, model: id };
    }
    const keeps = sharedLength(before?.request.messages ?? [], request.messages);
    const call: RecordedModelCall = {
      kind: "model",
      model: id,
      ...(contextTokens !== undefined && { contextTokens }),
      ...(!isSame(before?.request.prompt ?? null, request.prompt) && { prompt: request.prompt }),
      ...(keeps > 0 && { keeps }),
      messages: request.messages.slice(keeps),
    };
    this.#last = { request, entry: this.#add(call) };
    return call;
  }

  #add(call: RecordedCall): { call: RecordedCall } {
    const entry = { call };
    this.#calls.push(entry);
    return entry;
  }
}

function sharedLength(before: readonly unknown[], now: readonly unknown[]): number {
  const differs = now.findIndex((message, place) => !isSame(message, before[place] ?? null));
  return differs === -1 ? now.length : differs;
}

/** Chunks of the same kind are joined: how an answer was cut into chunks is chance. */
function addContent(content: RecordedContent[], event: ModelEvent): void {
  const last = content.at(-1);
  switch (event.kind) {
    case "text":
    case "reasoning":
      if (last?.kind === event.kind) {
        content[content.length - 1] = { kind: event.kind, text: last.text + event.text };
      } else content.push({ kind: event.kind, text: event.text });
      return;
    case "tool-call": {
      const { kind, toolCallId, toolName, input } = event;
      content.push({ kind, toolCallId, toolName, input: plainInput(input) });
      return;
    }
    case "source":
    case "file":
      content.push(event);
      return;
    case "reasoning-end":
    case "tool-input":
    case "finish":
  }
}

/** Joins output that follows output. */
function withEvent(events: readonly ToolEvent[], event: ToolEvent): readonly ToolEvent[] {
  const last = events.at(-1);
  if (event.kind !== "tool:output" || last?.kind !== "tool:output") return [...events, event];
  return events.with(-1, { kind: "tool:output", text: last.text + event.text });
}

function endOf(outcome: ToolOutcome): Partial<RecordedToolCall> {
  switch (outcome.kind) {
    case "result":
      return { result: outcome.value ?? null };
    case "error":
      return { error: outcome.text };
    case "interrupts":
      return { interrupts: outcome.interrupts };
  }
}
