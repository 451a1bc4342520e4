import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOfStream } from "node:stream/consumers";
import { signedHeaders } from "./webhook.ts";

interface ChatMessage {
  readonly id: string;
  /** Posting with the same key again posts nothing. */
  readonly key?: string;
  readonly text: string;
  readonly buttons: readonly { readonly label: string; readonly value: string }[];
}

export interface ChatSettings {
  readonly file: string;
  /** Of the bot, and of the webhooks to it. */
  readonly token: string;
  readonly secret: string;
}

/** A chat service with one channel. It keeps its messages in a file. */
export class TinyChat {
  /** Where events are posted. */
  webhookUrl = "";
  onMessage: (message: ChatMessage) => void = () => undefined;
  readonly messages: ChatMessage[];
  readonly #settings: ChatSettings;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  constructor(settings: ChatSettings) {
    const { file } = settings;
    this.#settings = settings;
    const kept = existsSync(file) ? readFileSync(file, "utf8") : "[]";
    this.messages = JSON.parse(kept) as ChatMessage[];
  }

  async open(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** A user writes something. Resolves to the status of the webhook. */
  say(text: string): Promise<number> {
    const { id } = this.#add({ text, buttons: [] });
    return this.send(JSON.stringify({ type: "message", id: `chat-${id}`, text }));
  }

  /** A user presses a button of a message. Resolves to the status of the webhook. */
  press(messageId: string, label: string, user: string): Promise<number> {
    const message = this.messages.find(({ id }) => id === messageId);
    const button = message?.buttons.find((one) => one.label.toLowerCase() === label.toLowerCase());
    if (button === undefined) return Promise.resolve(404);
    return this.send(JSON.stringify({ type: "press", user, messageId, value: button.value }));
  }

  /** Posts a signed event to the bot. */
  async send(body: string, headers = signedHeaders(this.#settings.secret, body)): Promise<number> {
    const { status } = await fetch(this.webhookUrl, { method: "POST", headers, body });
    return status;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, api, kind, id = "", label = ""] = (request.url ?? "").split("/");
    const body = await textOfStream(request);
    // The window of the chat, for people: curl instead of a keyboard and a mouse.
    if (api === "say") return void response.writeHead(await this.say(body)).end();
    if (api === "press") {
      return void response.writeHead(await this.press(kind!, id, label || "lea")).end();
    }
    if (request.headers.authorization !== `Bearer ${this.#settings.token}`) {
      return void response.writeHead(401).end();
    }
    const message = JSON.parse(body) as Omit<ChatMessage, "id">;
    const posted = id === "" ? this.#add(message) : this.#change(id, message);
    response.writeHead(200).end(JSON.stringify({ id: posted.id }));
  }

  #add(message: Omit<ChatMessage, "id">): ChatMessage {
    const earlier = this.messages.find(({ key }) => key !== undefined && key === message.key);
    if (earlier !== undefined) return earlier;
    const added = { ...message, id: String(this.messages.length + 1) };
    this.messages.push(added);
    return this.#keep(added);
  }

  #change(id: string, { text, buttons }: Omit<ChatMessage, "id">): ChatMessage {
    const place = this.messages.findIndex((message) => message.id === id);
    this.messages[place] = { ...this.messages[place]!, text, buttons };
    return this.#keep(this.messages[place]);
  }

  #keep(message: ChatMessage): ChatMessage {
    writeFileSync(this.#settings.file, JSON.stringify(this.messages));
    this.onMessage(message);
    return message;
  }
}
