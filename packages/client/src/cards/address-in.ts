import { ClientError, type RawCard } from "@convoke/protocol";
import { interfacesOf } from "./card-interfaces.ts";
import { grpcUrl, webUrl } from "./interface-url.ts";

/**
 * The address that stands for a card which was given as an object: where it came
 * from, else its first interface. Credentials are bound to its origin.
 */
export function addressIn(card: RawCard, cardUrl: string | undefined): string {
  if (cardUrl !== undefined) return cardUrl;
  for (const { url, binding } of interfacesOf(card)) {
    const read = binding.toUpperCase() === "GRPC" ? grpcUrl : webUrl;
    const address = read(url, undefined);
    if (address !== undefined) return address;
  }
  throw new ClientError(
    "no-interface",
    "the card names no interface by a whole URL; say in cardUrl where the card came from",
  );
}
