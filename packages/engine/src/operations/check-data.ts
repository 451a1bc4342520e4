import {
  EXTENSIONS,
  type Message,
  checkExtensionData,
  chosenSkill,
  unknownSkill,
} from "@convoke/protocol";
import type { Call } from "./call.ts";

/** Refuses a message that says something wrong in the words of an extension that is active. */
export async function checkData(
  message: Message,
  call: Call,
  active: ReadonlySet<string>,
): Promise<void> {
  checkExtensionData(message, active);
  if (active.has(EXTENSIONS.skill.uri)) await checkSkill(chosenSkill(message), call);
}

/** A skill must be on the card, or on the one that this caller is shown. */
async function checkSkill(chosen: string | undefined, call: Call): Promise<void> {
  const { engine, extendedCard, caller } = call;
  const isChosen = ({ id }: { readonly id: string }): boolean => id === chosen;
  const { skills } = engine.agent.info;
  if (chosen === undefined || skills.some(isChosen)) return;
  const more = (await extendedCard?.(caller))?.info.skills ?? skills;
  if (!more.some(isChosen)) throw unknownSkill(more.map(({ id }) => id));
}
