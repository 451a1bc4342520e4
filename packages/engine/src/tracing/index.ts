// Spans of OpenTelemetry. No other folder of the product uses its API.
export { isTracing } from "./opentelemetry.ts";
export {
  Span,
  type SpanAttributes,
  type SpanOptions,
  abortName,
  activeTrace,
  flushSpans,
  inSpan,
  startSpan,
  withSpan,
} from "./span.ts";
