/** What the process of an agent is told when it starts. */
export interface TreeSettings {
  readonly name: string;
  readonly port: number;
  /** Where it keeps its tasks. */
  readonly folder: string;
  /** The file in which it notes what it did. */
  readonly notes: string;
  /** The agents that it may call, by their names. */
  readonly subAgents: Readonly<Record<string, string>>;
  readonly allowsCycles: boolean;
}
