import { A2AError, invalidParams } from "../../model/errors.ts";
import { messageCodecs } from "./message.ts";
import { SCALARS, encodeBase64 } from "./scalars.ts";
import { duration } from "./well-known-types.ts";
import { type Kind, type ProtoTables, readDelimited, readFields } from "./wire-format.ts";

/** A google.rpc.Status. Each detail has an `@type`, as `google.protobuf.Any` has in JSON. */
export interface StatusDetails {
  readonly code: number;
  readonly message: string;
  readonly details: readonly object[];
}

const PREFIX = "type.googleapis.com/";

const TABLES: ProtoTables = {
  messages: {
    Status: {
      code: [1, "int32"],
      message: [2, "string"],
      details: [3, "Any", "repeated"],
    },
    "google.rpc.ErrorInfo": {
      reason: [1, "string"],
      domain: [2, "string"],
      metadata: [3, "string", "map"],
    },
    "google.rpc.RetryInfo": { retryDelay: [1, "Duration"] },
    "google.rpc.BadRequest": { fieldViolations: [1, "FieldViolation", "repeated"] },
    FieldViolation: {
      field: [1, "string"],
      description: [2, "string"],
      reason: [3, "string"],
    },
  },
  enums: {},
};

const NOTHING = new Uint8Array();

/** google.protobuf.Any. The value of an unknown type stays bytes, in base64. */
const any: Kind = {
  wireType: 2,
  write(writer, value, field) {
    const { "@type": type, ...message } = value as { readonly "@type"?: unknown };
    if (typeof type !== "string") throw invalidParams(`${field}.@type`, "must be a string");
    writer.fork().uint32(10).string(type).uint32(18);
    if (isKnown(type)) writer.bytes(codecs(nameIn(type)).encode(message));
    else SCALARS.bytes.write(writer, (message as { readonly value?: unknown }).value, field);
    writer.ldelim();
  },
  read(reader) {
    let type = "";
    let bytes: Uint8Array = NOTHING;
    readDelimited(reader, () => {
      readFields(reader, (tag) => {
        if (tag === 10) type = reader.stringVerify();
        else if (tag === 18) bytes = reader.bytes();
        else return false;
        return true;
      });
    });
    return isKnown(type)
      ? { "@type": type, ...(codecs(nameIn(type)).decode(bytes) as object) }
      : { "@type": type, value: encodeBase64(bytes) };
  },
};

const codecs = messageCodecs(TABLES, { Any: any, Duration: duration });

function isKnown(type: string): boolean {
  return type.startsWith(PREFIX) && Object.hasOwn(TABLES.messages, nameIn(type));
}

function nameIn(type: string): string {
  return type.slice(PREFIX.length);
}

/** For the trailer `grpc-status-details-bin`. */
export function encodeStatusDetails(status: StatusDetails): Uint8Array {
  return codecs("Status").encode(status);
}

export function decodeStatusDetails(bytes: Uint8Array): StatusDetails {
  try {
    const {
      code = 0,
      message = "",
      details = [],
    } = codecs("Status").decode(bytes) as Partial<StatusDetails>;
    return { code, message, details };
  } catch (cause) {
    if (A2AError.is(cause)) throw cause;
    const detail = "the details of the status are not valid protobuf";
    throw new A2AError("InvalidAgentResponse", detail, { cause });
  }
}
