import {
  A2AError,
  CODECS,
  type Codec,
  type JsonRpcRequest,
  type OperationName,
  type ProtocolVersion,
  findMethod,
} from "@convoke/protocol";

/** A request whose operation and wire version are known. */
export interface Opened {
  readonly operation: OperationName;
  readonly codec: Codec;
}

/**
 * Which operation in which version. The two versions spell their methods
 * differently, so the method decides; a header that contradicts it is served
 * all the same, as older 1.0 clients need (1.0 §3.6.2), unless we are strict.
 */
export function openMethod(
  { method }: JsonRpcRequest,
  asked: ProtocolVersion | undefined,
  isStrict = false,
): Opened {
  const found = findMethod(method);
  const fits = !isStrict || asked === undefined || asked === found?.version;
  if (found !== undefined && fits) {
    return { operation: found.operation, codec: CODECS[found.version] };
  }
  const known = asked === "1.0" ? "1.0" : "0.3";
  throw new A2AError("MethodNotFound", `A2A ${known} has no method ${JSON.stringify(method)}`, {
    details: { method },
  });
}
