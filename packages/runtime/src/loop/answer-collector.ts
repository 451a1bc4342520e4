import type { AssistantContent, FinishReason, ModelEvent, ModelUsage } from "../model/model.ts";
import type { LlmResultEvent, Source } from "../run/loop-events.ts";

/** A file that the model generated, such as an image. */
export interface MadeFile {
  readonly mediaType: string;
  readonly bytes: string;
}

const MAX_SOURCES = 200;

/** Assembles one model answer from its events. */
export class AnswerCollector {
  readonly #content: AssistantContent[] = [];
  readonly sources: Source[] = [];
  readonly files: MadeFile[] = [];
  readonly #takenIds: ReadonlySet<string>;
  readonly #ids = new Set<string>();
  readonly #startedAt = performance.now();
  #firstMs: number | undefined;
  #text = "";
  #reasoning = "";
  /** Whether no event has arrived yet. */
  isEmpty = true;
  end: { readonly reason: FinishReason; readonly usage: ModelUsage } | undefined;

  /** `takenIds` are the ids of calls that the task already has. */
  constructor(takenIds: ReadonlySet<string>) {
    this.#takenIds = takenIds;
  }

  add(event: ModelEvent): void {
    this.isEmpty = false;
    if (event.kind !== "finish") this.#firstMs ??= this.#elapsedMs();
    switch (event.kind) {
      case "text":
        this.#text += event.text;
        return;
      case "reasoning":
        this.#endText();
        this.#reasoning += event.text;
        return;
      case "reasoning-end":
        return this.#endReasoning(event.provider);
      case "tool-input":
        return;
      case "tool-call": {
        this.#endText();
        const { kind, toolName, input, provider } = event;
        const toolCallId = this.#uniqueId(event.toolCallId);
        this.#content.push({ kind, toolCallId, toolName, input, ...(provider && { provider }) });
        return;
      }
      case "source": {
        const { url, title } = event;
        const isNew = !this.sources.some((source) => source.url === url);
        if (isNew && this.sources.length < MAX_SOURCES) {
          this.sources.push({ url, ...(title !== undefined && { title }) });
        }
        return;
      }
      case "file":
        this.files.push({ mediaType: event.mediaType, bytes: event.bytes });
        return;
      case "finish":
        this.end = { reason: event.reason, usage: event.usage };
    }
  }

  /** How long the first event and the whole answer took. */
  timing(): Pick<LlmResultEvent, "firstMs" | "durationMs"> {
    const firstMs = this.#firstMs;
    return { ...(firstMs !== undefined && { firstMs }), durationMs: this.#elapsedMs() };
  }

  #elapsedMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  content(): readonly AssistantContent[] {
    this.#endText();
    if (this.#reasoning !== "") this.#endReasoning(undefined);
    return this.#content;
  }

  #endText(): void {
    if (this.#text !== "") this.#content.push({ kind: "text", text: this.#text });
    this.#text = "";
  }

  #endReasoning(provider: (AssistantContent & { kind: "reasoning" })["provider"]): void {
    this.#content.push({ kind: "reasoning", text: this.#reasoning, ...(provider && { provider }) });
    this.#reasoning = "";
  }

  /** Two calls with the same id would share journal entries, so the second one gets a new id. */
  #uniqueId(given: string): string {
    const stem = given === "" ? "call" : given;
    let id = stem;
    for (let n = 2; this.#takenIds.has(id) || this.#ids.has(id); n++) id = `${stem}-${n}`;
    this.#ids.add(id);
    return id;
  }
}
