import type { RequirementGroup } from "./requirement.ts";

/** Who has access to what, and which data never leaves or enters. */
export const SECURITY: RequirementGroup = {
  title: "Security",
  requirements: [
    {
      id: "R114",
      text:
        "Requests have a bearer token, and the JWT or API key is checked before anything " +
        "is accepted. Without a valid one the response is HTTP 401 with a JSON-RPC error " +
        '-32603 and the reason "unauthenticated".',
      source: "user document 001; A2A 0.3 §4.4",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "R115",
      text:
        "The card declares the authentication that the server requires as securitySchemes " +
        "and security.",
      source: "user document 001; A2A 0.3 §5.5",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R116",
      text:
        "Identity comes only from the HTTP layer; nothing in a payload can authenticate a " +
        "caller.",
      source: "user document 003; A2A 0.3 §4.3",
      milestone: "skeleton",
      status: "proven",
    },
    {
      id: "R117",
      text:
        "Access depends on identity, requested skill and OAuth scope. A denial is HTTP " +
        '403 with a JSON-RPC error -32603, the reason "forbidden" and the text ' +
        '"Forbidden: Insufficient permissions for skill" with the skill\'s name.',
      source: "user document 001",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "R118",
      text:
        "Responses state the rate limit, the remaining requests and the reset time in " +
        "X-RateLimit headers.",
      source: "user document 001",
      milestone: "guard",
      status: "proven",
    },
    {
      id: "R119",
      text: "Webhook requests authenticate with the configured headers and token.",
      source: "user document 003; A2A 0.3 §9.5; A2A 1.0 §4.3.3",
      milestone: "push",
      status: "proven",
    },
    {
      id: "R120",
      text:
        "No outbound URL from the network reaches a private or special address in any " +
        "notation. Cards are public with CORS, and inbound sessions are limited to five a " +
        "minute per authenticated source; further ones get 429 with Retry-After.",
      source: "later practice of user document 004",
      milestone: "host",
      status: "proven",
    },
  ],
};
