import type { HttpRequest, HttpResponse } from "./exchange.ts";

/** What every way into the agent does alike, whoever has the port. */
export interface Entrance {
  readonly handle: (request: HttpRequest) => Promise<HttpResponse>;
  /** The path before all of the agent's own; empty at the root. */
  readonly basePath: string;
  readonly maxBodyBytes: number;
  /** An id for each request; the answer carries it and so does the log. */
  readonly newRequestId: () => string;
  readonly onAnswer: (facts: AnswerFacts) => void;
}

/** What the log says of a request: nothing of its content. */
interface AnswerFacts {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
}
