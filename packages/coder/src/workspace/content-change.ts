/** The content of one file before and after a change. Undefined: there is no such file then. */
export interface ContentChange {
  /** The path for people. */
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}
