/**
 * Writes the machine-readable contracts that the packages publish: the OpenAPI description of all
 * requests, and the JSON Schemas of the messages of A2A. They are generated from the tables that
 * servers use; a test compares them with the files.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ProtocolVersion } from "@convoke/protocol";
import { jsonSchemas } from "@convoke/protocol/grpc";
import { openApiDocument } from "../packages/server/src/openapi/document.ts";

/** The files and their contents. */
export function contracts(): ReadonlyMap<string, string> {
  const files = {
    "packages/server/openapi.json": openApiDocument(),
    "packages/protocol/schema/a2a-0.3.json": schemaOf("0.3"),
    "packages/protocol/schema/a2a-1.0.json": schemaOf("1.0"),
  };
  return new Map(
    Object.entries(files).map(([path, value]) => [
      fileURLToPath(new URL(`../${path}`, import.meta.url)),
      `${JSON.stringify(value, undefined, 2)}\n`,
    ]),
  );
}

function schemaOf(version: ProtocolVersion): object {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: `A2A ${version}`,
    description: "The messages of A2A as REST carries them (ProtoJSON), by name in $defs.",
    $defs: jsonSchemas(version),
  };
}

if (import.meta.main) {
  for (const [path, text] of contracts()) writeFileSync(path, text);
}
