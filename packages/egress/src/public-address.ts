import { BlockList } from "node:net";
import type { Address } from "./address.ts";

/** IPv4 that is not the public internet (IANA's special-purpose registry, RFC 6890). */
const SPECIAL_IPV4 = [
  "0.0.0.0/8", // this network; many systems connect it to loopback
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by carriers, and by cloud metadata services
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // a public address on paper; inside Azure it is the host's own agent
  "169.254.0.0/16", // link-local, where cloud metadata lives
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.88.99.0/24", // relays from 6to4, obsolete
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
];

/** Only here IPv6 addresses are given out to the public (RFC 4291 §2.4). */
const GLOBAL_IPV6 = ["2000::/3"];

/** What is special inside of it. */
const SPECIAL_IPV6 = [
  "2001::/23", // protocol assignments, with Teredo, which carries IPv4 inside
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4, which carries IPv4 inside
  "3fff::/20", // documentation
];

const special4 = blockList("ipv4", SPECIAL_IPV4);
const global6 = blockList("ipv6", GLOBAL_IPV6);
const special6 = blockList("ipv6", SPECIAL_IPV6);

/** Whether an address is one of the public internet. */
export function isPublicAddress({ text, family, inner }: Address): boolean {
  if (inner) return isPublicAddress(inner);
  if (family === "ipv4") return !special4.check(text, "ipv4");
  return global6.check(text, "ipv6") && !special6.check(text, "ipv6");
}

function blockList(family: Address["family"], subnets: readonly string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets) {
    const [network = "", bits] = subnet.split("/");
    list.addSubnet(network, Number(bits), family);
  }
  return list;
}
