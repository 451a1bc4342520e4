import { DataFolderError } from "@convoke/backends/sqlite";
import type { ServeSettings } from "./settings.ts";

/** The server cannot start; the message is one sentence that says what to do. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** One sentence about why the server did not start. What is not expected is thrown on. */
export function explainStart(error: unknown, { port, host }: ServeSettings): StartError {
  if (error instanceof StartError) return error;
  if (error instanceof DataFolderError) return new StartError(error.message);
  switch ((error as NodeJS.ErrnoException).code) {
    case "EADDRINUSE":
      return new StartError(
        `Port ${port} is in use. Try: PORT=${port === 65_535 ? 0 : port + 1} npm start`,
      );
    case "EACCES":
      return new StartError(`Port ${port} is not open to this user. Try: PORT=3000 npm start`);
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
    case "EAI_AGAIN":
    case "EINVAL":
    case "ENOTFOUND":
      return new StartError(
        `BIND_HOST ${host} is not an address of this machine. Try: BIND_HOST=127.0.0.1 npm start`,
      );
    default:
      throw error;
  }
}
