import type { RequirementGroup } from "./requirement.ts";

/** What an operator can follow from the outside. */
export const OBSERVABILITY: RequirementGroup = {
  title: "Tracing and observability",
  requirements: [
    {
      id: "R121",
      text:
        "The traceparent and tracestate headers of a request are accepted and continued, with " +
        "the sampled flag as it came, also after a restart.",
      source: "user document 001",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R122",
      text: "Events carry traceId and spanId in their metadata.",
      source: "user document 001",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R123",
      text: "Every request and every A2A event leaves an OpenTelemetry span.",
      source: "user document 001",
      milestone: "guard",
      status: "planned",
    },
    {
      id: "R124",
      text:
        "The trace goes on into tools and sub-agents, so that one trace id covers the whole " +
        "tree of calls.",
      source: "user document 001",
      milestone: "tools",
      status: "proven",
    },
  ],
};
