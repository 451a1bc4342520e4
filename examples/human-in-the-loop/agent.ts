import { type Agent, type ModelSpec, defineAgent, tool } from "convoke";
import { MAIL, deliver, isColleague } from "./mail.ts";

const sendMail = tool({
  name: "send_mail",
  description: "Sends a mail.",
  input: MAIL,
  // Colleagues get mail as it is; what leaves the house is read by a person first.
  confirm: ({ input }) => {
    const { to, subject, text } = MAIL.parse(input);
    if (isColleague(to)) return "allow";
    return {
      title: `Send “${subject}” to ${to}`,
      risk: "warning",
      preview: [{ kind: "text", text }],
    };
  },
  // The outbox knows the key, so the call may run again after a crash.
  idempotent: true,
  run: async (mail, { key }) => {
    await deliver(mail, key);
    return `The mail to ${mail.to} is on its way.`;
  },
});

/** Writes mail, and sends none out of the house that nobody has approved. */
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
