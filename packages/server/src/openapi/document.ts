import type { ProtocolVersion } from "@convoke/protocol";
import { type JsonSchema, jsonSchemas } from "@convoke/protocol/grpc";
import { SCHEMA_PREFIXES, jsonRpcRoutes, restRoutes } from "./a2a-routes.ts";
import { anyObject, object, text, toOperation } from "./operation.ts";
import { ownRoutes } from "./own-routes.ts";

const DESCRIPTION = `The requests that a Convoke server answers: A2A 1.0 and 0.3 over REST and JSON-RPC,
and what is not part of A2A. It is the same for every server: requests of features that are switched
off are answered with 404. Each path of REST 1.0 also exists below \`/{tenant}\`, and everything of an
agent below \`/agents/{id}\` if the server has several. REST bodies are ProtoJSON.`;

const TAGS: Readonly<Record<string, string>> = {
  "REST 1.0": "A2A 1.0, HTTP+JSON binding.",
  "REST 0.3": "A2A 0.3, HTTP+JSON binding.",
  "JSON-RPC": "A2A 0.3 and 1.0, JSON-RPC binding.",
  Public: "Needs no credentials.",
  Convoke: "Tasks, approvals, pushes and the agents of a server. Not part of A2A.",
  Polling: "The polling protocol before A2A.",
  Coder: "Requests of clients of coding agents. Other agents do not have them.",
};

/** The document as JSON. It never changes, so it is made once. */
export function openApiText(): string {
  serialized ??= JSON.stringify(openApiDocument());
  return serialized;
}

let serialized: string | undefined;

/** The OpenAPI 3.1 description of all requests over HTTP, from the tables that route them. */
export function openApiDocument(): JsonSchema {
  const routes = [...restRoutes(), ...jsonRpcRoutes(), ...ownRoutes()];
  const byPath = Map.groupBy(routes, ([path]) => path);
  const paths = [...byPath].map(([path, all]) => [
    path,
    Object.fromEntries(
      all.map(([, method, facts]) => [method.toLowerCase(), toOperation(path, facts)]),
    ),
  ]);
  return {
    openapi: "3.1.1",
    info: {
      title: "Convoke",
      version: "1.0",
      description: DESCRIPTION.replaceAll("\n", " "),
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    // Relative to the address of the document, so that it is right behind every proxy.
    servers: [{ url: "." }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    // Which of them a server takes is on its card; one that listens on loopback may take none.
    security: [{ bearer: [] }, { apiKey: [] }, {}],
    paths: Object.fromEntries(paths) as JsonSchema,
    components: {
      schemas: { ...schemasFor("1.0"), ...schemasFor("0.3") },
      responses: {
        Error: {
          description: "What went wrong. The text names the field and the fix.",
          content: {
            "application/json": { schema: object({ error: { anyOf: [anyObject, text] } }) },
          },
        },
      },
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
        apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
      },
    },
  };
}

function schemasFor(version: ProtocolVersion): Readonly<Record<string, JsonSchema>> {
  const prefix = SCHEMA_PREFIXES[version];
  const schemas = jsonSchemas(version, `#/components/schemas/${prefix}`);
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [`${prefix}${name}`, schema]),
  );
}
