import { type JsonObject, at, isObject, listAt, textAt } from "../wire/json.ts";

/** An extension as a card declares it. */
export interface DeclaredExtension {
  readonly uri: string;
  readonly required: boolean;
}

/** What a card says. The words of 0.3 and 1.0 do not collide, so it may have either form or both. */
export class CardView {
  readonly json: JsonObject;

  constructor(json: JsonObject) {
    this.json = json;
  }

  get streaming(): boolean {
    return at(this.json, "capabilities", "streaming") === true;
  }

  get pushNotifications(): boolean {
    return at(this.json, "capabilities", "pushNotifications") === true;
  }

  get extendedCard(): boolean {
    return (
      this.json["supportsAuthenticatedExtendedCard"] === true ||
      at(this.json, "capabilities", "extendedAgentCard") === true
    );
  }

  get extensions(): readonly DeclaredExtension[] {
    return listAt(this.json, "capabilities", "extensions")
      .filter(isObject)
      .map((entry) => ({ uri: textAt(entry, "uri"), required: entry["required"] === true }))
      .filter(({ uri }) => uri !== "");
  }

  /** Whether callers must have credentials: every alternative asks for at least one scheme. */
  get demandsCredentials(): boolean {
    const current = listAt(this.json, "securityRequirements");
    const alternatives = current.length > 0 ? current : listAt(this.json, "security");
    return alternatives.length > 0 && alternatives.every((each) => schemesIn(each) > 0);
  }

  /** The media types that the agent and its skills take. */
  get inputModes(): readonly string[] {
    const skills = listAt(this.json, "skills").flatMap((skill) => listAt(skill, "inputModes"));
    return [...listAt(this.json, "defaultInputModes"), ...skills].map(String);
  }
}

function schemesIn(alternative: unknown): number {
  const schemes = at(alternative, "schemes") ?? alternative;
  return isObject(schemes) ? Object.keys(schemes).length : 0;
}
