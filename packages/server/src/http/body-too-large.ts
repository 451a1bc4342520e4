import { A2AError } from "@convoke/protocol";

export function bodyTooLarge(maxBytes: number): A2AError {
  return new A2AError(
    "PayloadTooLarge",
    `the body is larger than ${maxBytes} bytes (the limit bodyBytes)`,
    {
      details: { limit: "bodyBytes", most: String(maxBytes) },
    },
  );
}

/** Someone before the agent has read the body and did not say what it was. */
export function bodyWasTaken(fix: string): Error {
  return new Error(`the body was read before the agent got the request: ${fix}`);
}

/** The caller has left before its body was complete: nothing of ours is wrong, and no one reads the answer. */
export function bodyCutOff(): A2AError {
  return new A2AError("InvalidRequest", "the body was cut off");
}
