/**
 * The reason in a turn's signal when its server stops. The task is not canceled:
 * the next process goes on with it, so nothing behind it is to be canceled either.
 */
export class ServerStopping extends Error {
  constructor() {
    super("the server is stopping");
    this.name = "ServerStopping";
  }

  /** By name, so that two copies of this package agree. */
  static is(reason: unknown): reason is ServerStopping {
    return reason instanceof Error && reason.name === "ServerStopping";
  }
}
