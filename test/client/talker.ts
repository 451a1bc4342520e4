import { defineAgent } from "convoke";
import { setTimeout as sleep } from "node:timers/promises";

/** One letter of each length that UTF-8 has. */
const LETTERS = ["a", "ä", "€", "🦉", "\n", '"', "\\"];

/**
 * Says as many chunks as it is told, in all kinds of letters and at an uneven
 * pace, with words and files in between.
 */
export const talker = defineAgent({
  name: "Talker",
  description: "Says as much as it is told.",
  // A run that is cut by the end of its process is begun anew, so that it still ends.
  restart: true,
  async *run({ text, status, artifact, signal }) {
    const count = Number(text);
    for (let place = 0; place < count; place++) {
      const letter = LETTERS[place % LETTERS.length] ?? "";
      if (place % 11 === 5) yield status(`${place} of ${count} ${letter}`);
      if (place % 17 === 9) yield artifact(`file-${place}`, { place, letter });
      yield `${place}${letter.repeat(1 + (place % 5))} `;
      if (place % 3 === 0) await sleep(place % 4, undefined, { signal });
    }
  },
});
