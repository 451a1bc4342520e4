import { type IncomingMessage, type Server, createServer } from "node:http";
import { text } from "node:stream/consumers";
import { type RemoteAgent, connect, createPushReceiver, textOf } from "convoke";
import { isGenuine } from "./webhook.ts";

const MAX_BYTES = 1024 * 1024;

export interface BotSettings {
  /** Where the agent and the chat service find this bot. */
  readonly botUrl: string;
  readonly agent: { readonly url: string; readonly token: string; readonly pushSecret: string };
  readonly chat: { readonly url: string; readonly token: string; readonly secret: string };
  /** The users of the chat who may decide. */
  readonly approvers: readonly string[];
}

/** What the chat service posts: somebody wrote something, or pressed a button. */
type ChatEvent =
  | { readonly type: "message"; readonly id: string; readonly text: string }
  | {
      readonly type: "press";
      readonly user: string;
      readonly messageId: string;
      /** What the bot has put into the button. */
      readonly value: string;
    };

interface Approval {
  readonly id: string;
  readonly taskId: string;
  readonly digest: string;
  readonly title: string;
  /** What would be sent. */
  readonly preview?: { readonly kind: string; readonly text?: string };
}

interface ApprovalPage {
  readonly approvals: readonly Approval[];
  readonly nextPageToken: string;
}

/**
 * Brings a chat and an agent together. It stores nothing: all it needs later is in the buttons and
 * at the agent, so it can be restarted at any time.
 */
export async function createBot(settings: BotSettings): Promise<Server> {
  const { agent: agentAt, chat } = settings;
  const agent = await connect(agentAt.url, { token: agentAt.token });
  const receiver = createPushReceiver({ secret: agentAt.pushSecret });
  const bot = new Bot(settings, agent);

  async function answer(request: IncomingMessage): Promise<number> {
    if (!(Number(request.headers["content-length"]) <= MAX_BYTES)) return 413;
    const body = await text(request);
    if (request.url === "/chat") {
      if (!isGenuine(chat.secret, request.headers, body)) return 401;
      return bot.takeChatEvent(JSON.parse(body) as ChatEvent);
    }
    const received = await receiver.receive({ headers: request.headers, body });
    if (received.kind !== "event") return received.kind === "refused" ? received.status : 204;
    try {
      const { taskId, event } = received;
      if (event.kind === "status-update") await bot.takeStatus(taskId, event.status.state);
      return 204;
    } catch (error) {
      // The agent sends it again.
      receiver.forget(received.deliveryId);
      throw error;
    }
  }

  return createServer((request, response) => {
    answer(request).then(
      (status) => response.writeHead(status).end(),
      (error: unknown) => {
        console.error("the bot could not handle a webhook:", error);
        response.writeHead(500).end();
      },
    );
  });
}

class Bot {
  readonly #settings: BotSettings;
  readonly #agent: RemoteAgent;

  constructor(settings: BotSettings, agent: RemoteAgent) {
    this.#settings = settings;
    this.#agent = agent;
  }

  async takeChatEvent(event: ChatEvent): Promise<number> {
    if (event.type === "press") return this.#decide(event);
    const pushConfig = { url: new URL("/a2a", this.#settings.botUrl).href };
    // A webhook that comes again has the same id, so it is the same message for the agent.
    await this.#agent.send(event.text, { messageId: event.id, wait: false, pushConfig });
    return 200;
  }

  async takeStatus(taskId: string, state: string): Promise<void> {
    if (state === "input-required") {
      for await (const approval of this.#openApprovals()) {
        if (approval.taskId !== taskId) continue;
        const { id, digest } = approval;
        const buttons = (["once", "reject"] as const).map((decision) => ({
          label: decision === "once" ? "Approve" : "Reject",
          value: JSON.stringify({ id, digest, decision }),
        }));
        const text = `${approval.title}?\n${approval.preview?.text ?? ""}`;
        await this.#post("messages", { key: id, text, buttons });
      }
    } else if (["completed", "failed", "rejected"].includes(state)) {
      const done = textOf(await this.#agent.get(taskId));
      await this.#post("messages", { key: `${taskId}:${state}`, text: done, buttons: [] });
    }
  }

  async *#openApprovals(): AsyncIterable<Approval> {
    let query: string | undefined = "pageSize=100";
    while (query !== undefined) {
      const page: ApprovalPage = await this.#ask<ApprovalPage>(`approvals?${query}`);
      yield* page.approvals;
      const { nextPageToken: token } = page;
      query = token === "" ? undefined : `pageSize=100&pageToken=${encodeURIComponent(token)}`;
    }
  }

  async #decide({ user, messageId, value }: ChatEvent & { type: "press" }): Promise<number> {
    if (!this.#settings.approvers.includes(user)) return 403;
    const { id, ...answer } = JSON.parse(value) as Approval & { decision: string };
    const { decision } = answer;
    const isAccepted = await this.#ask(`approvals/${encodeURIComponent(id)}:answer`, answer).then(
      () => true,
      (error: unknown) => {
        // A press that comes again: the first one has decided, and nothing is left to do.
        if (error instanceof HttpError && error.status === 400) return false;
        throw error;
      },
    );
    const said = `${decision === "once" ? "Approved" : "Rejected"} by ${user}.`;
    if (isAccepted) await this.#post(`messages/${messageId}`, { text: said, buttons: [] });
    return 200;
  }

  #ask<Answer>(path: string, body?: object): Promise<Answer> {
    const { url, token } = this.#settings.agent;
    return request<Answer>(new URL(`/convoke/${path}`, url), token, body);
  }

  #post(path: string, body: object): Promise<object> {
    const { url, token } = this.#settings.chat;
    return request(new URL(`/api/${path}`, url), token, body);
  }
}

class HttpError extends Error {
  readonly status: number;

  constructor(url: URL, status: number) {
    super(`${url.origin}${url.pathname} responded with ${status}`);
    this.status = status;
  }
}

async function request<Answer>(url: URL, token: string, body?: object): Promise<Answer> {
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    signal: AbortSignal.timeout(10_000),
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new HttpError(url, response.status);
  return (await response.json()) as Answer;
}
