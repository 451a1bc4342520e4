import type { TraceContext } from "@convoke/protocol";
import { context, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import { expect } from "vitest";
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from "./otlp-receiver.ts";

/** This process with an SDK that exports to a receiver, as an operator sets it up. */
export class TracedProcess {
  readonly receiver: OtlpReceiver;
  readonly #provider: NodeTracerProvider;
  readonly #open: OpenSpans;

  private constructor(receiver: OtlpReceiver, provider: NodeTracerProvider, open: OpenSpans) {
    this.receiver = receiver;
    this.#provider = provider;
    this.#open = open;
  }

  static async start(): Promise<TracedProcess> {
    const receiver = await startOtlpReceiver();
    const open = new OpenSpans();
    const exporter = new OTLPTraceExporter({ url: receiver.url });
    const provider = new NodeTracerProvider({
      spanProcessors: [open, new SimpleSpanProcessor(exporter)],
    });
    provider.register();
    return new TracedProcess(receiver, provider, open);
  }

  async stop(): Promise<void> {
    await this.#provider.shutdown();
    await this.receiver.close();
    trace.disable();
    context.disable();
  }

  /** The names of the spans that have not ended. */
  get open(): readonly string[] {
    return this.#open.names;
  }

  /** A span of a program that calls an agent, which ends when the work does. */
  async asCaller<T>(name: string, work: (trace: TraceContext) => Promise<T>): Promise<T> {
    const span = trace.getTracer("caller").startSpan(name);
    const { traceId, spanId } = span.spanContext();
    try {
      return await work({ traceId, spanId });
    } finally {
      span.end();
    }
  }

  /** The spans of a trace, once all spans have ended and those with the given names have arrived. */
  async spans(traceId: string, names: readonly string[] = []): Promise<readonly ReceivedSpan[]> {
    const found = (): readonly ReceivedSpan[] =>
      this.receiver.spans.filter((span) => span.traceId === traceId);
    const patience = { timeout: 20_000, interval: 10 };
    await expect.poll(() => this.open, patience).toEqual([]);
    await expect
      .poll(() => found().map(({ name }) => name), patience)
      .toEqual(expect.arrayContaining([...names]));
    await this.#provider.forceFlush();
    return found();
  }
}

class OpenSpans implements SpanProcessor {
  readonly #spans = new Map<string, string>();

  get names(): readonly string[] {
    return [...this.#spans.values()];
  }

  onStart(span: ReadableSpan): void {
    this.#spans.set(span.spanContext().spanId, span.name);
  }

  onEnd(span: ReadableSpan): void {
    this.#spans.delete(span.spanContext().spanId);
  }

  forceFlush(): Promise<void> {
    return Promise.resolve();
  }

  shutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/**
 * The names of the spans, each below its parent and in the order in which they started. The span of
 * a task, which starts with the first run, comes last.
 */
export function tree(spans: readonly ReceivedSpan[]): string {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const below = (parent: ReceivedSpan | undefined, indent: string): string =>
    spans
      .filter(({ parentSpanId }) =>
        parent === undefined ? !ids.has(parentSpanId ?? "") : parentSpanId === parent.spanId,
      )
      .toSorted((one, other) => order(one) - order(other))
      .map((span) => `${indent}${span.name}\n${below(span, `${indent}  `)}`)
      .join("");
  return below(undefined, "");
}

function order({ name, start }: ReceivedSpan): number {
  return name.startsWith("task ") ? Number.POSITIVE_INFINITY : start;
}

/** The span with that name. */
export function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.filter((span) => span.name === name);
  expect(found.map((span) => span.name)).toEqual([name]);
  return found[0]!;
}
