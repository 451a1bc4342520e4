import type { Caller } from "@convoke/protocol";
import { type HttpRequest, header } from "../http/exchange.ts";
import { type Authenticate, authenticateNobody, createBearerCheck } from "./authenticate.ts";
import { createHostCheck } from "./check-host.ts";

export interface GuardOptions {
  readonly token?: string;
  readonly allowedHosts?: readonly string[];
}

/** The one gate that every request passes, whatever its path. */
export class Guard {
  #checkHost: (host: string | undefined) => void;
  #authenticate: Authenticate;

  constructor({ token, allowedHosts = [] }: GuardOptions) {
    this.#checkHost = createHostCheck(allowedHosts);
    this.#authenticate = token === undefined ? authenticateNobody : createBearerCheck(token);
  }

  /** For what everyone may read, such as the card. */
  admit(request: HttpRequest): void {
    this.#checkHost(header(request, "host"));
  }

  /** For everything else: who calls. */
  identify(request: HttpRequest): Caller {
    this.#checkHost(header(request, "host"));
    return this.#authenticate(header(request, "authorization"));
  }
}
