import type { TracingOptions } from "@convoke/protocol";

/** The variable in which OpenTelemetry's instrumentation of models looks. */
const CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/** The values that mean spans. `event_only` means log records, which are not written here. */
const CONTENT_VALUES: ReadonlySet<string> = new Set(["true", "span_only", "span_and_event"]);

/** Adds the defaults, of which one is in the environment. */
export function resolveTracing(
  { content, chunks = false }: TracingOptions = {},
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Required<TracingOptions> {
  const given = environment[CONTENT_VARIABLE]?.toLowerCase() ?? "";
  return { content: content ?? CONTENT_VALUES.has(given), chunks };
}
