import type { JsonSchema } from "@convoke/protocol/grpc";
import type { QueryType } from "../bindings/rest/read.ts";

/** What the document says about a request, whichever binding answers it. */
export interface RouteFacts {
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  readonly query?: Readonly<Record<string, QueryType>>;
  readonly body?: JsonSchema;
  /** Whether the request may have no body. Default: it needs one if `body` is set. */
  readonly isBodyOptional?: boolean;
  /** The answer by its media type. None: the answer has no body. */
  readonly answer?: Readonly<Record<string, JsonSchema>>;
  /** The status of a success. Default 200. */
  readonly status?: 200 | 201 | 204;
  /** Whether it is always an error. Default false. */
  readonly isRejected?: boolean;
  /** Whether it needs no credentials. Default false. */
  readonly isPublic?: boolean;
}

/** An OpenAPI operation. The parameters of the path are those of its template. */
export function toOperation(path: string, facts: RouteFacts): JsonSchema {
  const { id, tag, summary, query = {}, body, isBodyOptional, answer, status = 200 } = facts;
  const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const inQuery = Object.entries(query).map(([name, type]) => ({
    name,
    in: "query",
    schema: { type: type === "text" ? "string" : type },
  }));
  const parameters = [...inPath, ...inQuery];
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(facts.isPublic === true && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: isBodyOptional !== true,
        content: { "application/json": { schema: body } },
      },
    }),
    responses: {
      ...(facts.isRejected !== true && {
        [status]: {
          description: status === 204 ? "Done; there is no body." : "Success.",
          ...(answer !== undefined && { content: contentOf(answer) }),
        },
      }),
      default: { $ref: "#/components/responses/Error" },
    },
  };
}

function contentOf(answer: Readonly<Record<string, JsonSchema>>): JsonSchema {
  return Object.fromEntries(Object.entries(answer).map(([type, schema]) => [type, { schema }]));
}

/** An answer in JSON. */
export function json(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return { "application/json": schema };
}

/** Server-sent events; the schema is that of the data of each event. */
export function eventStream(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return { "text/event-stream": schema };
}

/** An object with these properties, and perhaps more. */
export function object(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema {
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

export function list(items: JsonSchema): JsonSchema {
  return { type: "array", items };
}

export const text: JsonSchema = { type: "string" };

export const count: JsonSchema = { type: "integer", minimum: 0 };

export const anyObject: JsonSchema = { type: "object" };
