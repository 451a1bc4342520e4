import { packageVersion } from "@convoke/engine/version";
import { boundedSchema } from "@convoke/protocol";
import {
  Client,
  type JsonSchemaType,
  type JsonSchemaValidator,
  type JsonSchemaValidatorResult,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UrlElicitationRequiredError,
  type jsonSchemaValidator,
} from "@modelcontextprotocol/client";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { webUrl } from "../tools/interrupts.ts";
import { McpError, type Visit } from "./mcp-error.ts";

const NEW_REVISION = "2026-07-28";

/** Creates a client of one server. `isNew`: the server only supports the newer protocol. */
export function createClient(isNew: boolean, onToolsChanged: () => void): Client {
  const self = { name: "convoke", version: packageVersion() };
  return new Client(self, {
    capabilities: { elicitation: { form: { applyDefaults: true }, url: {} } },
    ...(isNew && { versionNegotiation: { mode: { pin: NEW_REVISION } } }),
    // The client's default validator would compile regular expressions supplied by the server.
    jsonSchemaValidator: new OutputValidator(),
    listChanged: { tools: { autoRefresh: false, onChanged: onToolsChanged } },
  });
}

/**
 * Checks the structured results of tools against the safe part of their output schemas. The MCP
 * client requests the validators of all tools at the first call of any tool, so each one is
 * compiled only when its tool returns a result.
 */
class OutputValidator implements jsonSchemaValidator {
  readonly #ajv = new AjvJsonSchemaValidator();

  getValidator<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    let validate: JsonSchemaValidator<T> | undefined;
    return (input) => {
      validate ??= this.#compile<T>(schema);
      return withShortProblem(validate(input));
    };
  }

  #compile<T>(schema: JsonSchemaType): JsonSchemaValidator<T> {
    try {
      const bounded = boundedSchema(schema, "outputSchema") as JsonSchemaType;
      return this.#ajv.getValidator<T>(bounded);
    } catch {
      // The problem was logged when the tools were listed. A bad schema must not discard the
      // result.
      return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
    }
  }
}

/**
 * Limits the text for the model, because a result may have a problem in each of a million items.
 */
const MAX_OUTPUT_PROBLEM = 1000;

function withShortProblem<T>(result: JsonSchemaValidatorResult<T>): JsonSchemaValidatorResult<T> {
  return result.valid
    ? result
    : { ...result, errorMessage: result.errorMessage.slice(0, MAX_OUTPUT_PROBLEM) };
}

const MAX_SAID = 4000;

/** Converts an error thrown by the MCP client to an `McpError`. */
export function translateError(error: unknown): McpError {
  if (error instanceof McpError) return error;
  if (error instanceof UrlElicitationRequiredError) {
    const visits = error.elicitations.flatMap(({ url, message }): readonly Visit[] => {
      const address = webUrl(url);
      return address === undefined ? [] : [{ url: address, prompt: message }];
    });
    return new McpError("visit", "the user must visit a page first", { cause: error, visits });
  }
  if (error instanceof SdkHttpError) {
    const message = `it answered with HTTP ${error.status}`;
    return new McpError("refused", message, { cause: error });
  }
  if (error instanceof ProtocolError) {
    const message = `it answered with error ${error.code}`;
    return new McpError("refused", message, {
      cause: error,
      said: error.message.slice(0, MAX_SAID),
    });
  }
  if (error instanceof SdkError) return sdkError(error);
  return new McpError("unreadable", "its answer makes no sense", { cause: error });
}

function sdkError(cause: SdkError): McpError {
  if (cause.code === SdkErrorCode.ConnectionClosed || cause.code === SdkErrorCode.NotConnected) {
    return new McpError("gone", "the connection to it ended", { cause });
  }
  if (cause.code === SdkErrorCode.RequestTimeout) {
    return new McpError("unanswered", "it did not answer in time", { cause });
  }
  return new McpError("unreadable", "its answer makes no sense", { cause });
}
