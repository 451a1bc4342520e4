import type { Translator } from "../answer-stream.ts";
import type { ModelEvent, ProviderData } from "../model.ts";
import { mergeProviderData } from "../provider-data.ts";
import type { AiSdkPart } from "./ai-sdk-model.ts";
import { fileEventOf } from "./file-event.ts";
import { finishReasonOf } from "./finish-reason.ts";
import { LostAnswerError } from "../lost-answer-error.ts";
import { isSecondRequest } from "./one-request.ts";
import { usageOf } from "./usage.ts";

interface OpenCall {
  readonly toolName: string;
  /** What was streamed of its arguments. */
  written: string;
  /** Its pieces are not JSON, so they are not shown. */
  readonly isHidden: boolean;
}

/** Turns what the AI SDK says of one answer into our events. */
export class PartTranslator implements Translator {
  readonly #calls = new Map<string, OpenCall>();
  /** What the provider says of the thought that is open, collected from all its parts. */
  #thought: ProviderData | undefined;
  #isFinished = false;

  /** Whether the provider has said that the answer is complete. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  translate(value: unknown, events: ModelEvent[]): void {
    const part = value as AiSdkPart;
    switch (part.type) {
      case "text-delta":
        if (part.delta !== "") events.push({ kind: "text", text: part.delta });
        return;
      case "reasoning-start":
        this.#thought = part.providerMetadata;
        return;
      case "reasoning-delta":
        this.#thought = mergeProviderData(this.#thought, part.providerMetadata);
        if (part.delta !== "") events.push({ kind: "reasoning", text: part.delta });
        return;
      case "reasoning-end": {
        const provider = mergeProviderData(this.#thought, part.providerMetadata);
        this.#thought = undefined;
        events.push({ kind: "reasoning-end", ...(provider && { provider }) });
        return;
      }
      case "tool-input-start":
        this.#calls.set(part.id, {
          toolName: part.toolName,
          written: "",
          isHidden: part.inputEncoding === "text" || part.providerExecuted === true,
        });
        return;
      case "tool-input-delta":
        return this.#write(part.id, part.delta, events);
      case "tool-call":
        return this.#call(part, events);
      case "source":
        if (part.sourceType === "url" && part.url !== undefined) {
          const { url, title } = part;
          events.push({ kind: "source", url, ...(title !== undefined && { title }) });
        }
        return;
      case "file":
        events.push(fileEventOf(part));
        return;
      case "finish": {
        const reason = finishReasonOf(part.finishReason);
        if (reason === "interrupted") throw new LostAnswerError();
        this.#isFinished = true;
        events.push({ kind: "finish", reason, usage: usageOf(part.usage) });
        return;
      }
      case "error":
        // The answer was long and the SDK wanted to ask for more of it; what there is counts.
        if (!isSecondRequest(part.error)) throw part.error;
    }
  }

  #write(id: string, delta: string, events: ModelEvent[]): void {
    const call = this.#calls.get(id);
    if (call === undefined || call.isHidden || delta === "") return;
    call.written += delta;
    events.push({
      kind: "tool-input",
      toolCallId: id,
      toolName: call.toolName,
      delta,
    });
  }

  #call(part: AiSdkPart & { readonly type: "tool-call" }, events: ModelEvent[]): void {
    const { toolCallId, toolName, input, providerMetadata } = part;
    const written = this.#calls.get(toolCallId)?.written ?? "";
    this.#calls.delete(toolCallId);
    // What the provider runs itself is no business of the loop.
    if (part.providerExecuted === true) return;
    // Not every provider streams arguments; whoever follows the pieces gets all of them anyway.
    if (input.length > written.length && input.startsWith(written)) {
      const delta = input.slice(written.length);
      events.push({ kind: "tool-input", toolCallId, toolName, delta });
    }
    const provider = providerMetadata && { provider: providerMetadata };
    events.push({ kind: "tool-call", toolCallId, toolName, input, ...provider });
  }
}
