import { listInterfaces } from "@convoke/client";
import type { RawCard } from "@convoke/protocol";
import { type JsonObject, isObject, oneLine, printable } from "@convoke/protocol/internal";

/** A skill on a card. */
export interface SkillView {
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly examples: readonly string[];
}

/** A card in words. Cards are not validated: a field of the wrong type counts as absent. */
export interface CardView {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly provider: string;
  readonly documentationUrl: string;
  readonly capabilities: readonly string[];
  readonly inputModes: readonly string[];
  readonly outputModes: readonly string[];
  readonly interfaces: readonly { readonly how: string; readonly url: string }[];
  readonly security: readonly string[];
  readonly extensions: readonly {
    readonly uri: string;
    readonly description: string;
    readonly isRequired: boolean;
  }[];
  readonly skills: readonly SkillView[];
  readonly signatures: number;
}

/** Reads a card of either version, without what could deceive its reader. */
export function readCard(card: RawCard): CardView {
  const fields = card as JsonObject;
  const capabilities = object(fields["capabilities"]);
  const provider = object(fields["provider"]);
  return {
    name: oneLine(text(fields["name"])),
    version: oneLine(text(fields["version"]), 60),
    description: printable(text(fields["description"])),
    provider: oneLine([text(provider["organization"]), text(provider["url"])].join(" ")),
    documentationUrl: oneLine(text(fields["documentationUrl"])),
    capabilities: namesOfTrue(capabilities),
    inputModes: texts(fields["defaultInputModes"]),
    outputModes: texts(fields["defaultOutputModes"]),
    interfaces: listInterfaces(card).map(({ binding, version, url, tenant }) => ({
      how: oneLine(`${binding} ${version}`),
      url: oneLine(tenant === undefined ? url : `${url} (tenant ${tenant})`),
    })),
    security: Object.entries(object(fields["securitySchemes"])).map(describeScheme),
    extensions: list(capabilities["extensions"]).map((extension) => ({
      uri: oneLine(text(extension["uri"])),
      description: oneLine(text(extension["description"])),
      isRequired: extension["required"] === true,
    })),
    skills: list(fields["skills"]).map(readSkill),
    signatures: list(fields["signatures"]).length,
  };
}

function readSkill(skill: JsonObject): SkillView {
  return {
    name: oneLine(text(skill["name"]) || text(skill["id"])),
    description: printable(text(skill["description"])),
    tags: texts(skill["tags"]),
    examples: texts(skill["examples"]),
  };
}

/** `pushNotifications: true` becomes "push notifications". */
function namesOfTrue(capabilities: JsonObject): readonly string[] {
  return Object.entries(capabilities)
    .filter(([, value]) => value === true)
    .map(([name]) => oneLine(name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)));
}

/** 0.3 has `type: "http"`, 1.0 a member `httpAuthSecurityScheme`; both name the scheme. */
function describeScheme([name, given]: readonly [string, unknown]): string {
  const scheme = object(given);
  const member = Object.keys(scheme).find((key) => key.endsWith("SecurityScheme"));
  const type = text(scheme["type"]) || (member?.replace(/SecurityScheme$/, "") ?? "");
  const detail = text((member === undefined ? scheme : object(scheme[member]))["scheme"]);
  return oneLine(`${name} (${[type, detail].filter((word) => word !== "").join(", ")})`);
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function object(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

function list(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function texts(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.filter((item) => typeof item === "string").map((item) => oneLine(item));
}
