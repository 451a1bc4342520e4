import { ServerResponse } from "node:http";
import { crash } from "./crash-point.ts";

/** Kills this process when an answer, or a piece of a stream, that matches is about to be written. */
export function crashBeforeAnswer(pattern: string): void {
  const prototype = ServerResponse.prototype as unknown as Record<"write" | "end", Write>;
  for (const method of ["write", "end"] as const) {
    const write = prototype[method];
    prototype[method] = function (this: ServerResponse, ...parameters: unknown[]): unknown {
      if (new RegExp(pattern).test(String(parameters[0]))) crash();
      return write.apply(this, parameters);
    };
  }
}

type Write = (this: ServerResponse, ...parameters: unknown[]) => unknown;
