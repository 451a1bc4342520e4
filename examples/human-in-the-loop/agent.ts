import { type Agent, type ModelSpec, defineAgent, tool } from "convoke";
import { MAIL, deliver, isColleague } from "./mail.ts";

const sendMail = tool({
  name: "send_mail",
  description: "Sends a mail.",
  inputSchema: MAIL,
  // Mail to colleagues is sent directly; a person reviews mail to anyone else first.
  confirm: ({ input: { to, subject, text } }) => {
    if (isColleague(to)) return "allow";
    return {
      title: `Send “${subject}” to ${to}`,
      risk: "warning",
      preview: [{ kind: "text", text }],
    };
  },
  // The outbox deduplicates by key, so the call may run again after a crash.
  idempotent: true,
  run: async (mail, { key }) => {
    await deliver(mail, key);
    return `The mail to ${mail.to} is on its way.`;
  },
});

/** Writes mail, and sends external mail only after it was approved. */
export function mailroom(model: ModelSpec): Agent {
  return defineAgent({
    name: "Mailroom",
    description: "Writes and sends mail.",
    model,
    instructions: "Write short, friendly mail. When a mail is refused, do as the feedback says.",
    tools: [sendMail],
  });
}

export default mailroom(process.env["MODEL"] ?? "demo");
