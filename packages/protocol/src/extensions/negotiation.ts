import { canonicalJson, isObject } from "../internal/json.ts";
import type { AgentExtension } from "../model/agent.ts";
import { A2AError } from "../model/errors.ts";
import type { Message } from "../model/message.ts";
import { checkApprovalAnswer } from "./approvals.ts";
import { readBudget } from "./budget.ts";
import { declaredTools, toolResult } from "./client-tools.ts";
import { EXTENSIONS, dataOfType } from "./extensions.ts";
import { chosenSkill } from "./skill.ts";

/** More than any caller needs; bounds the work per request. */
export const MAX_EXTENSIONS = 64;

/** Maximum length of an extension URI. */
export const MAX_URI_LENGTH = 1024;

/**
 * Parses the values of an extensions header into distinct URIs, in order. Entries are separated by
 * commas, whitespace and empty entries are ignored (RFC 9110 §5.6.1), and several headers form one
 * list. Whether the agent supports a URI is not checked here.
 */
export function parseExtensionList(header: string, values: readonly string[]): readonly string[] {
  const uris = new Set<string>();
  for (const value of values) {
    for (const piece of value.split(",")) {
      const uri = piece.trim();
      if (uri === "") continue;
      if (uri.length > MAX_URI_LENGTH) {
        throw tooLong(
          header,
          `have a URI of more than ${MAX_URI_LENGTH} characters`,
          MAX_URI_LENGTH,
        );
      }
      uris.add(uri);
      if (uris.size > MAX_EXTENSIONS) {
        throw tooLong(header, `name more than ${MAX_EXTENSIONS} extensions`, MAX_EXTENSIONS);
      }
    }
  }
  return [...uris];
}

/** Formats URIs as the value of one header. */
export function formatExtensionList(uris: Iterable<string>): string {
  return [...uris].join(", ");
}

function tooLong(header: string, problem: string, maximum: number): A2AError {
  return new A2AError("InvalidParams", `${header} must not ${problem}`, {
    field: header,
    details: { header, maximum: String(maximum) },
  });
}

/**
 * Rejects extensions that a card could not declare or that callers could never activate, with an
 * error that names the field. It is a mistake of the agent's author, so it is a TypeError and never
 * crosses the wire.
 */
export function checkAgentExtensions(extensions: readonly AgentExtension[]): void {
  if (!Array.isArray(extensions)) {
    throw new TypeError('extensions must be a list such as [{ uri: "https://…/v1" }]');
  }
  const places = new Map<string, number>();
  for (const [place, extension] of (extensions as readonly unknown[]).entries()) {
    const field = `extensions[${place}]`;
    const { uri } = checkOne(extension, field);
    const earlier = places.get(uri);
    if (earlier !== undefined) {
      throw new TypeError(`${field}.uri repeats that of extensions[${earlier}]: ${uri}`);
    }
    places.set(uri, place);
  }
}

function checkOne(extension: unknown, field: string): AgentExtension {
  if (typeof extension !== "object" || extension === null) {
    throw new TypeError(`${field} must be an object such as { uri: "https://…/v1" }`);
  }
  const { uri, description, required, params } = extension as Readonly<Record<string, unknown>>;
  checkUri(uri, `${field}.uri`);
  if (description !== undefined && typeof description !== "string") {
    throw new TypeError(`${field}.description must be a string`);
  }
  if (required !== undefined && typeof required !== "boolean") {
    throw new TypeError(`${field}.required must be true or false`);
  }
  if (params !== undefined) checkParams(params, `${field}.params`);
  return extension as AgentExtension;
}

/** A scheme and something after it, in characters that a header can carry. */
const ABSOLUTE_URI = /^[a-z][a-z0-9+.-]*:[\x21-\x7e]+$/i;

function checkUri(uri: unknown, field: string): void {
  if (typeof uri !== "string" || !ABSOLUTE_URI.test(uri) || !URL.canParse(uri)) {
    const given = JSON.stringify(uri) ?? String(uri);
    throw new TypeError(`${field} must be an absolute URI such as https://…/v1, not ${given}`);
  }
  if (uri.includes(",")) {
    throw new TypeError(`${field} must not have a comma, which callers could not send: ${uri}`);
  }
  if (uri.length > MAX_URI_LENGTH) {
    throw new TypeError(`${field} must not be longer than ${MAX_URI_LENGTH} characters`);
  }
}

/** A card is JSON, and a signed card must have a canonical form. */
function checkParams(params: unknown, field: string): void {
  if (!isObject(params)) throw new TypeError(`${field} must be an object`);
  try {
    canonicalJson(params);
  } catch (error) {
    throw new TypeError(`${field} must be JSON: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Checks the data of our own extensions in a message. Data of an extension that is not active is
 * not checked: it is kept like any other metadata.
 */
export function checkExtensionData(message: Message, active: ReadonlySet<string>): void {
  if (active.has(EXTENSIONS.skill.uri)) chosenSkill(message);
  if (active.has(EXTENSIONS.budget.uri)) readBudget(message.metadata);
  if (active.has(EXTENSIONS.clientTools.uri)) {
    declaredTools(message.metadata);
    for (const { data, field } of dataOfType(message, EXTENSIONS.clientTools.uri, "tool-result")) {
      toolResult(data, field);
    }
  }
  if (active.has(EXTENSIONS.approvals.uri)) {
    for (const { data, field } of dataOfType(
      message,
      EXTENSIONS.approvals.uri,
      "approval-answer",
    )) {
      checkApprovalAnswer(data, field);
    }
  }
}
