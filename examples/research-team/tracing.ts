import { type Span, trace } from "@opentelemetry/api";
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";

// In production this is an OTLPTraceExporter, and one process per agent has a file like this.
const exporter = new InMemorySpanExporter();
new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();

/** The span below which everything happens that a question leads to. */
export function startQuestion(): Span {
  return trace.getTracer("research-team").startSpan("ask the team");
}

/** The trace of a question as a tree, with one line for each span. */
export function drawTrace(question: Span): string {
  const { traceId, spanId: id } = question.spanContext();
  const spans = exporter
    .getFinishedSpans()
    .filter((span) => span.spanContext().traceId === traceId);
  return draw(
    spans.find((span) => spanId(span) === id)!,
    spans,
    "",
  );
}

function draw(span: ReadableSpan, spans: readonly ReadableSpan[], indent: string): string {
  const children = spans
    .filter((other) => parentId(other) === spanId(span))
    .toSorted((one, other) => startOf(one) - startOf(other))
    .map((child) => draw(child, spans, `${indent}  `));
  return [`${indent}${span.name}`, ...children].join("\n");
}

function spanId(span: ReadableSpan): string {
  return span.spanContext().spanId;
}

function parentId({ parentSpanContext }: ReadableSpan): string {
  return parentSpanContext?.spanId ?? "";
}

function startOf({ startTime: [seconds, nanos] }: ReadableSpan): number {
  return seconds * 1e9 + nanos;
}
