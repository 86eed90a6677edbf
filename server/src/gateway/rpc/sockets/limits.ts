/** Limits of WebSocket connections. Tests set smaller ones. */
export type SocketLimits = {
  /** Connections of one organization to one gateway (SHOAL_RPC_SOCKETS_PER_ORG). */
  connectionsPerOrg: number
  /** Connections to one gateway (SHOAL_RPC_SOCKETS). */
  connections: number
  subscriptionsPerConnection: number
  /** Subscriptions of one organization at one gateway. */
  subscriptionsPerOrg: number
  /** Largest message from a client; a larger one closes the connection (1009). */
  messageBytes: number
  /** Concurrent calls of one connection. Further messages are read when a call has ended. */
  callsInFlight: number
  /** Bytes buffered for a client. A notification that exceeds them closes the connection (4408); a response becomes an error. */
  unsentBytes: number
  /** Bytes buffered for all clients. When there are more, clients of the organization with the most are disconnected (4408). */
  totalUnsentBytes: number
  /** Calls wait while more than this number of bytes is buffered for the client. */
  pauseBytes: number
  /** Interval between pings. A client that has not responded by the next ping is disconnected. */
  pingMs: number
  /** Interval between checks of token, account status and quota of open connections. */
  checkMs: number
  /** A connection is closed (4429) when notifications exceed the organization's rate by more than it allows in this time. */
  maxRateDebtMs: number
  /** How long a rejected message counts as in flight, which slows down clients that ignore rejections. */
  rejectionDelayMs: number
  /** Timeout of the closing handshake, and of calls in flight at shutdown. */
  closeMs: number
}

/** The default limits, except those that settings define. */
export const defaultLimits: Omit<SocketLimits, 'connections' | 'connectionsPerOrg'> = {
  subscriptionsPerConnection: 100,
  subscriptionsPerOrg: 1_000,
  messageBytes: 2_000_000,
  callsInFlight: 32,
  unsentBytes: 8_388_608,
  totalUnsentBytes: 268_435_456,
  pauseBytes: 1_048_576,
  pingMs: 30_000,
  checkMs: 1_000,
  maxRateDebtMs: 10_000,
  rejectionDelayMs: 250,
  closeMs: 2_000,
}

/**
 * Codes with which the gateway closes a connection. The WebSocket library sends 1008 (too many fragments) and 1009 (message too large).
 * Codes from 4000 on are Shoal's and end with the corresponding HTTP status.
 */
export const closeCodes = {
  /** The gateway is stopping or the followed chain was replaced: reconnect. */
  restart: 1012,
  /** The gateway failed. */
  failed: 1011,
  unauthorized: 4401,
  forbidden: 4403,
  slowReader: 4408,
  limitExceeded: 4429,
} as const
