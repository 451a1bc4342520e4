import { A2AError, type Caller } from "@convoke/protocol";
import type { Cors } from "../http/cors.ts";
import { type HttpRequest, header } from "../http/exchange.ts";
import { forwardedOf } from "../http/forwarded.ts";
import { type Authenticate, authenticateNobody, createBearerCheck } from "./authenticate.ts";
import { createHostCheck } from "./check-host.ts";
import { checkOrigin } from "./check-origin.ts";

export interface GuardOptions {
  readonly token?: string;
  readonly allowedHosts?: readonly string[];
  /** The agent's address behind a proxy; its own pages may call. */
  readonly publicUrl?: string;
  /** Whether the name that a proxy was reached by is checked as well. */
  readonly trustProxy?: boolean;
  /** Which pages of other origins may call; by default none. */
  readonly cors?: Pick<Cors, "allows">;
  /** Who calls, where whoever embeds the agent knows it: it is asked instead of looking for a token. */
  readonly callerOf?: (request: HttpRequest) => Caller | undefined;
}

/** The one gate that every request passes, whatever its path. */
export class Guard {
  #checkName: (host: string | undefined) => void;
  #trustProxy: boolean;
  #publicHost: string | undefined;
  #isListed: (origin: string) => boolean;
  #authenticate: Authenticate;
  #callerOf: GuardOptions["callerOf"];

  constructor(options: GuardOptions) {
    const { token, allowedHosts = [], publicUrl, trustProxy = false, cors, callerOf } = options;
    if (token !== undefined && callerOf !== undefined) {
      throw new TypeError("token and callerOf both say who calls: give one of them");
    }
    this.#callerOf = callerOf;
    this.#checkName = createHostCheck(allowedHosts);
    this.#trustProxy = trustProxy;
    this.#publicHost = publicUrl === undefined ? undefined : new URL(publicUrl).host;
    this.#isListed = (origin) => cors?.allows(origin) === true;
    this.#authenticate = token === undefined ? authenticateNobody : createBearerCheck(token);
  }

  /** For what everyone may read, such as the card. */
  admit(request: HttpRequest): void {
    this.#checkHost(request);
  }

  /** For a browser that asks whether its page may call. It shows no token yet. */
  admitPage(request: HttpRequest): void {
    const forwarded = this.#checkHost(request);
    const hosts = [header(request, "host"), forwarded, this.#publicHost];
    checkOrigin(request, hosts, this.#isListed);
  }

  /** For everything else: who calls. */
  identify(request: HttpRequest): Caller {
    this.admitPage(request);
    if (this.#callerOf !== undefined) return known(this.#callerOf(request));
    return this.#authenticate(header(request, "authorization"));
  }

  /** Returns the name that a trusted proxy was reached by. */
  #checkHost(request: HttpRequest): string | undefined {
    this.#checkName(header(request, "host"));
    const { host } = this.#trustProxy ? forwardedOf(request) : {};
    if (host !== undefined) this.#checkName(host);
    return host;
  }
}

function known(caller: Caller | undefined): Caller {
  if (caller !== undefined) return caller;
  const detail = "it is not known who calls";
  throw new A2AError("Unauthenticated", detail, { details: { reason: "unauthenticated" } });
}
