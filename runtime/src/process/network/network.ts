import type { HostLimitation } from '../../driver.ts'
import type { ConnectionLimits } from './connection-limits.ts'

/** The purpose of a network. Programs of squids and of builds may reach different targets. */
export type NetworkUse = 'squid' | 'build'

/** An address that programs may reach although it is not on the public internet. */
export type NetworkTarget = {
  /** A name, an IPv4 address or a CIDR. A loopback address means this host's loopback, and needs a port. */
  host: string
  /** A TCP port; null: every port and protocol. */
  port: number | null
  /**
   * For loopback targets: the service sees the address of the program's network instead of 127.0.0.1, so that it can
   * distinguish squids from programs of the host.
   */
  showsClient?: boolean
  /** Whether a network may have only a given number of connections to it. Applies to targets with a port. */
  isLimited?: boolean
}

/** The addresses that programs may reach in addition to DNS and the public internet. */
export type NetworkTargets = Record<NetworkUse, NetworkTarget[]>

/**
 * `namespace`: a network namespace for each workload and build. `pasta`: the same without root. `uids`: the host's network, with
 * rules for the users of programs. `shared`: the host's network without restrictions.
 */
export type NetworkKind = 'namespace' | 'pasta' | 'uids' | 'shared'

/** The networks of the programs of one state directory. They outlive the server, as the programs do. */
export interface Network {
  readonly kind: NetworkKind
  /**
   * Creates the network `name` unless it exists. `limitedConnections`: see `Workload`; the value at its creation applies.
   * @returns the command prefix that runs a program in it as `uid`
   * @throws Error if the network cannot be created
   */
  open(name: string, use: NetworkUse, uid: number | null, limitedConnections?: number): Promise<string[]>
  /** Removes a network, even if programs still run in it. Does nothing if it does not exist. */
  close(name: string): Promise<void>
  /**
   * Adopts the networks `names` of earlier servers: applies the current rules to them, and removes all other networks of earlier servers.
   * Networks that this process has opened remain. From then on, networks may be created in advance, before they are opened.
   */
  adopt(names: string[]): Promise<void>
  /** Stops checking the rules of the host, and removes rules that no open network needs. The open networks remain. */
  detach(): Promise<void>
}

export type NetworkOptions = {
  /** See `Host.stateDir` and `Host.label`. */
  stateDir: string
  label: string
  /** See `installationNumber`. */
  number: number
  targets: NetworkTargets
  /** How often the rules of the host are checked; default: 10 seconds. */
  watchMs?: number
  /** The limits of each network; default: `CONNECTION_LIMITS`. */
  connections?: ConnectionLimits
}

/** `limitation`: a sentence for operators about what the network does not protect; null if there is no limitation. */
export type FoundNetwork = { network: Network; limitation: HostLimitation | null }

/** The host's own network, without restrictions, for programs of trusted users. */
export const sharedNetwork: Network = {
  kind: 'shared',
  open: async () => [],
  close: async () => undefined,
  adopt: async () => undefined,
  detach: async () => undefined,
}

export const noTargets: NetworkTargets = { squid: [], build: [] }
