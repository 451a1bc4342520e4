import {
  A2AError,
  CODECS,
  type Codec,
  type JsonRpcRequest,
  LENIENT_CODECS,
  type OperationName,
  type ProtocolVersion,
  findMethod,
} from "@convoke/protocol";

import type { HttpRequest } from "../../http/exchange.ts";
import { requestedVersion } from "../../http/requested-version.ts";

/** A request whose operation and wire version are known. */
export interface Opened {
  readonly operation: OperationName;
  readonly codec: Codec;
}

/**
 * Which operation in which version. The two versions spell their methods
 * differently, so the method decides; a header that contradicts it is served
 * all the same, as older 1.0 clients need (1.0 §3.6.2), unless we are strict. So
 * is what early documents of 0.3 have besides.
 */
export function openMethod(
  { method }: JsonRpcRequest,
  asked: ProtocolVersion | undefined,
  isStrict = false,
): Opened {
  const found = findMethod(method);
  const fits = !isStrict || asked === undefined || asked === found?.version;
  if (found !== undefined && fits) {
    const codecs = isStrict ? CODECS : LENIENT_CODECS;
    return { operation: found.operation, codec: codecs[found.version] };
  }
  const known = asked === "1.0" ? "1.0" : "0.3";
  throw new A2AError("MethodNotFound", `A2A ${known} has no method ${JSON.stringify(method)}`, {
    details: { method },
  });
}

/**
 * In whose words an error is told before the method is known. A version we do
 * not speak is refused once the request's id is known, in the words of the newest.
 */
export function codecFor(request: HttpRequest): Codec {
  try {
    return CODECS[requestedVersion(request) ?? "0.3"];
  } catch {
    return CODECS["1.0"];
  }
}
