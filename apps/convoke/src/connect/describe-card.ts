import { listInterfaces } from "@convoke/client";
import type { RawCard } from "@convoke/protocol";
import { oneLine, printable } from "@convoke/protocol/internal";
import { listField, objectField, textField } from "../terminal/json-fields.ts";
import type { Colours } from "../terminal/output.ts";

/** A card as text: name, interfaces, capabilities, authentication and skills. */
export function describeCard(card: RawCard, { bold, dim }: Colours): string {
  const title = `${bold(oneLine(textField(card, "name")))} ${dim(oneLine(textField(card, "version")))}`;
  const sections = [
    section("Interfaces", interfaceLines(card)),
    section("Capabilities", capabilityLines(card)),
    section("Authentication", schemeLines(card)),
    section("Skills", listField(card, "skills").flatMap(skillLines)),
  ];
  const head = [title.trim(), printable(textField(card, "description"))].filter(
    (line) => line !== "",
  );
  return `${[head.join("\n"), ...sections.filter((text) => text !== "")].join("\n\n")}\n`;

  function section(name: string, lines: readonly string[]): string {
    return lines.length === 0 ? "" : [bold(name), ...lines.map((line) => `  ${line}`)].join("\n");
  }

  function skillLines(skill: unknown): readonly string[] {
    const name = textField(skill, "name") || textField(skill, "id");
    const examples = listField(skill, "examples").filter((example) => typeof example === "string");
    return [
      `${oneLine(name)}: ${oneLine(textField(skill, "description"))}`,
      ...examples.map((example) => dim(`  "${oneLine(example)}"`)),
    ];
  }
}

function interfaceLines(card: RawCard): readonly string[] {
  const rows = listInterfaces(card).map(({ binding, version, url }) => ({
    how: oneLine(`${binding} ${version}`),
    url: oneLine(url),
  }));
  const width = Math.max(0, ...rows.map(({ how }) => how.length));
  return rows.map(({ how, url }) => `${how.padEnd(width)}  ${url}`);
}

/** `pushNotifications: true` becomes "push notifications"; capabilities that are false are omitted. */
function capabilityLines(card: RawCard): readonly string[] {
  const capabilities = objectField(card, "capabilities");
  const named = Object.entries(capabilities)
    .filter(([, value]) => value === true)
    .map(([name]) => oneLine(name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)));
  const extensions = listField(capabilities, "extensions").map(
    (extension) => `extension ${oneLine(textField(extension, "uri"))}`,
  );
  return [...named, ...extensions];
}

/** 0.3 has `type: "http"`, 1.0 a member `httpAuthSecurityScheme`; both name the scheme. */
function schemeLines(card: RawCard): readonly string[] {
  const schemes = objectField(card, "securitySchemes");
  return Object.keys(schemes).map((name) => {
    const scheme = objectField(schemes, name);
    const member = Object.keys(scheme).find((key) => key.endsWith("SecurityScheme"));
    const type = textField(scheme, "type") || (member?.replace(/SecurityScheme$/, "") ?? "");
    const detail = textField(member === undefined ? scheme : objectField(scheme, member), "scheme");
    return oneLine(`${name} (${[type, detail].filter((word) => word !== "").join(", ")})`);
  });
}
