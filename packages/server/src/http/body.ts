import { isUtf8 } from "node:buffer";
import { A2AError } from "@convoke/protocol";

/**
 * The maximum nesting depth of JSON. Decoding and encoding is recursive, so a
 * deeper body could exhaust the stack. A2A objects need less than a tenth of it.
 */
const MAX_DEPTH = 128;

/** Parses a body as JSON. */
export function parseJson(body: Uint8Array): unknown {
  if (!isUtf8(body)) throw new A2AError("JsonParse", "the body is not valid UTF-8");
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  // A short body cannot nest that deep.
  if (text.length > 2 * MAX_DEPTH && nestingDepth(text) > MAX_DEPTH) {
    throw new A2AError("InvalidRequest", `the body nests deeper than ${MAX_DEPTH} levels`, {
      details: { limit: "jsonDepth", maximum: String(MAX_DEPTH) },
    });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new A2AError("JsonParse", "the body is not valid JSON", { cause });
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The maximum nesting depth of arrays and objects. Brackets inside strings do not count. */
function nestingDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) deepest = Math.max(deepest, ++depth);
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
  }
  return deepest;
}

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === BACKSLASH) index++;
    else if (code === QUOTE) return index;
  }
  return text.length;
}

export function bodyTooLarge(maxBytes: number): A2AError {
  return new A2AError(
    "PayloadTooLarge",
    `the body is larger than ${maxBytes} bytes (the limit bodyBytes)`,
    {
      details: { limit: "bodyBytes", most: String(maxBytes) },
    },
  );
}

/** Other middleware has read the body without providing its content. */
export function bodyAlreadyRead(fix: string): Error {
  return new Error(`the body was read before the agent got the request: ${fix}`);
}

/** The client disconnected before its body was complete. */
export function bodyCutOff(): A2AError {
  return new A2AError("InvalidRequest", "the body was cut off");
}
