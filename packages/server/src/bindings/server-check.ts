/** A check of one agent of the server, through its own address. */
export interface ServerCheckRequest {
  /** The address of the agent. */
  readonly url: string;
  /** The headers that authenticate the operator. */
  readonly credentials: Readonly<Record<string, string>>;
  /** Only these requirements or probes; empty means all. */
  readonly only: readonly string[];
  readonly signal: AbortSignal;
  /** Called before each probe. */
  readonly onProbe: (progress: object) => void;
}

/** Checks how well an agent conforms to A2A. Resolves to the report, which is sent as JSON. */
export type CheckServer = (request: ServerCheckRequest) => Promise<object>;
