import type { RequirementGroup } from "./requirement.ts";

/** What an operator can observe from the outside. */
export const OBSERVABILITY: RequirementGroup = {
  title: "Tracing and observability",
  requirements: [
    {
      id: "R121",
      text:
        "The traceparent and tracestate headers of a request are accepted and continued " +
        "with the incoming sampled flag, also after a restart.",
      source: "user document 001",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R122",
      text: "Events have traceId and spanId in their metadata.",
      source: "user document 001",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R123",
      text:
        "Every request, task, turn, model call, tool call, sub-agent call and push delivery is an " +
        "OpenTelemetry span, and every A2A event is an event of the span of its turn.",
      source: "user document 001",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "R124",
      text:
        "The trace continues into tools and sub-agents, so that one trace id covers the " +
        "whole call tree.",
      source: "user document 001",
      milestone: "tools",
      status: "proven",
    },
  ],
};
