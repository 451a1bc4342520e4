import { isInterrupt } from "./interrupts.ts";
import { ToolOutput, boundedOutput } from "./tool-output.ts";
import type { Interrupt, ToolEvent } from "./tool.ts";

/** What came of one run of a tool. */
export type ToolOutcome =
  /** JSON, within the bounds of what a model is told. */
  | { readonly kind: "result"; readonly value: unknown }
  /** In words for the model. */
  | { readonly kind: "error"; readonly text: string }
  | { readonly kind: "interrupts"; readonly interrupts: readonly Interrupt[] };

/**
 * Sorts what a tool gives, value by value, and says at the end what came of it.
 * A result that was given in so many words counts before the returned value,
 * this before the last value of a stream, and that before its output.
 */
export class ToolValues {
  readonly #limit: number;
  readonly #show: (event: ToolEvent) => void;
  readonly #output: ToolOutput;
  readonly #interrupts: Interrupt[] = [];
  #error: string | undefined;
  #result: { readonly value: unknown } | undefined;
  #last: { readonly value: unknown } | undefined;

  /** `show` gets what people may see while the tool runs. */
  constructor(limit: number, show: (event: ToolEvent) => void) {
    this.#limit = limit;
    this.#show = show;
    this.#output = new ToolOutput(limit);
  }

  /** One value of a stream. */
  add(value: unknown): void {
    if (typeof value === "string") this.#addOutput(value);
    else if (isInterrupt(value)) this.#interrupts.push(value);
    else if (isToolEvent(value)) this.#addEvent(value);
    else this.#last = { value };
  }

  /** The value that a tool returned, which is its result unless it is one of ours. */
  end(value: unknown): void {
    if (value === undefined) return;
    if (isInterrupt(value)) this.#interrupts.push(value);
    else if (Array.isArray(value) && value.length > 0 && value.every(isInterrupt)) {
      this.#interrupts.push(...value);
    } else if (isToolEvent(value)) this.#addEvent(value);
    else this.#result ??= { value };
  }

  outcome(): ToolOutcome {
    if (this.#error !== undefined) return { kind: "error", text: this.#error };
    if (this.#interrupts.length > 0) return { kind: "interrupts", interrupts: this.#interrupts };
    const given = this.#result ?? this.#last;
    if (given === undefined) {
      return { kind: "result", value: this.#output.isEmpty ? null : this.#output.text() };
    }
    try {
      return { kind: "result", value: boundedOutput(given.value, this.#limit) };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { kind: "error", text: `The result of the tool is not JSON: ${why}` };
    }
  }

  #addOutput(text: string): void {
    const shown = this.#output.add(text);
    if (shown !== "") this.#show({ kind: "tool:output", text: shown });
  }

  #addEvent(event: ToolEvent): void {
    switch (event.kind) {
      case "tool:output":
        return this.#addOutput(event.text);
      case "tool:result":
        this.#result = { value: event.value };
        return;
      case "tool:error":
        this.#error = event.text;
        return;
      case "tool:progress":
      case "tool:event":
      case "tool:source":
      case "tool:usage":
        return this.#show(event);
      default:
        throw new TypeError(`there is no tool event ${JSON.stringify((event as ToolEvent).kind)}`);
    }
  }
}

function isToolEvent(value: unknown): value is ToolEvent {
  const kind = (value as { readonly kind?: unknown } | null | undefined)?.kind;
  return typeof kind === "string" && kind.startsWith("tool:");
}
