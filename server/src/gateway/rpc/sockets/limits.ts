/** Bounds of WebSocket connections. Tests set smaller ones. */
export type SocketLimits = {
  /** Connections of one organization to one gateway (SHOAL_RPC_SOCKETS_PER_ORG). */
  connectionsOfOrg: number
  /** Connections to one gateway (SHOAL_RPC_SOCKETS). */
  connections: number
  subscriptionsOfConnection: number
  /** Subscriptions of one organization at one gateway. */
  subscriptionsOfOrg: number
  /** Largest message from a client; a larger one closes the connection (1009). */
  messageBytes: number
  /** Calls under way on one connection. Further messages are read when one of them has ended. */
  callsInFlight: number
  /** Bytes that wait for a client to read them. A notification beyond closes the connection (4408), an answer becomes an error. */
  unsentBytes: number
  /** No call is begun while more than this waits for the client. */
  calmBytes: number
  /** How often a client is pinged; one that has not answered by the next ping is cut off. */
  pingMs: number
  /** How often token, debt and quota of open connections are checked. */
  checkMs: number
  /** How far notifications may be ahead of the rate of the organization before its connections are closed (4429). */
  maxRateDebtMs: number
  /** How long a refused message keeps its place among the calls in flight: a client that ignores refusals is read slowly. */
  refusedMs: number
  /** How long a client may take to answer a closing handshake, and calls to end at shutdown. */
  closeMs: number
}

export const defaultLimits: Omit<SocketLimits, 'connections' | 'connectionsOfOrg'> = {
  subscriptionsOfConnection: 100,
  subscriptionsOfOrg: 1_000,
  messageBytes: 5_000_000,
  callsInFlight: 32,
  unsentBytes: 8_388_608,
  calmBytes: 1_048_576,
  pingMs: 30_000,
  checkMs: 1_000,
  maxRateDebtMs: 10_000,
  refusedMs: 250,
  closeMs: 2_000,
}

/**
 * Why the gateway closes a connection. 1009 (message too large) comes from the WebSocket library; codes from 4000 on are ours, and
 * end with the HTTP status of the same refusal.
 */
export const closeCodes = {
  /** The gateway stops or restarts, or the followed chain was replaced: connect again. */
  restart: 1012,
  failed: 1011,
  unauthorized: 4401,
  forbidden: 4403,
  slowReader: 4408,
  limitExceeded: 4429,
} as const
