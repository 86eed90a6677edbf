/** Limits of WebSocket connections. Tests set smaller ones. */
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
  /** Concurrent calls of one connection. Further messages are read when one of them has ended. */
  callsInFlight: number
  /** Bytes buffered for a client. A notification beyond closes the connection (4408); a response beyond becomes an error. */
  unsentBytes: number
  /** No call is started while more bytes than this are buffered for the client. */
  pauseBytes: number
  /** How often a client is pinged; one that has not responded by the next ping is disconnected. */
  pingMs: number
  /** How often token, account status and quota of open connections are checked. */
  checkMs: number
  /** How far notifications may exceed the organization's rate before its connections are closed (4429). */
  maxRateDebtMs: number
  /** How long a refused message counts as in flight, which slows down clients that ignore refusals. */
  refusedMs: number
  /** Timeout of the closing handshake, and of calls in flight at shutdown. */
  closeMs: number
}

export const defaultLimits: Omit<SocketLimits, 'connections' | 'connectionsOfOrg'> = {
  subscriptionsOfConnection: 100,
  subscriptionsOfOrg: 1_000,
  messageBytes: 5_000_000,
  callsInFlight: 32,
  unsentBytes: 8_388_608,
  pauseBytes: 1_048_576,
  pingMs: 30_000,
  checkMs: 1_000,
  maxRateDebtMs: 10_000,
  refusedMs: 250,
  closeMs: 2_000,
}

/**
 * Codes with which the gateway closes a connection. 1009 (message too large) is sent by the WebSocket library. Codes from 4000 on
 * are Shoal's and end with the corresponding HTTP status.
 */
export const closeCodes = {
  /** The gateway is stopping or the followed chain was replaced: reconnect. */
  restart: 1012,
  failed: 1011,
  unauthorized: 4401,
  forbidden: 4403,
  slowReader: 4408,
  limitExceeded: 4429,
} as const
