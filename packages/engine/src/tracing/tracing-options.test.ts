import { expect, test } from "vitest";
import { resolveTracing } from "./tracing-options.ts";

test("by default, spans contain neither content nor chunks", () => {
  expect(resolveTracing({}, {})).toEqual({ content: false, chunks: false });
});

test.each([
  ["true", true],
  ["SPAN_ONLY", true],
  ["SPAN_AND_EVENT", true],
  ["EVENT_ONLY", false],
  ["NO_CONTENT", false],
  ["false", false],
])("the variable of OpenTelemetry with the value %s means content: %s", (value, content) => {
  const environment = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: value };

  expect(resolveTracing({}, environment).content).toBe(content);
});

test("the option overrides the variable", () => {
  const environment = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" };

  expect(resolveTracing({ content: false }, environment).content).toBe(false);
});
