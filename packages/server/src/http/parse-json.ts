import { isUtf8 } from "node:buffer";
import { A2AError } from "@convoke/protocol";

/**
 * How deep JSON may nest. What reads and writes values recurses, so a deeper
 * body could exhaust the stack; no A2A object needs a tenth of it.
 */
const MAX_DEPTH = 128;

/** The JSON value of a body. */
export function parseJson(body: Uint8Array): unknown {
  if (!isUtf8(body)) throw new A2AError("JsonParse", "the body is not valid UTF-8");
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  // A body too short to nest that deep needs no look.
  if (text.length > 2 * MAX_DEPTH && depthOf(text) > MAX_DEPTH) {
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

/** The deepest nesting of arrays and objects; brackets inside strings do not count. */
function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (let place = 0; place < text.length; place++) {
    const code = text.charCodeAt(place);
    if (code === QUOTE) place = endOfString(text, place);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) deepest = Math.max(deepest, ++depth);
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
  }
  return deepest;
}

function endOfString(text: string, start: number): number {
  for (let place = start + 1; place < text.length; place++) {
    const code = text.charCodeAt(place);
    if (code === BACKSLASH) place++;
    else if (code === QUOTE) return place;
  }
  return text.length;
}
