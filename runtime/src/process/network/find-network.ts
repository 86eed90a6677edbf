import { findProgram } from './find-program.ts'
import { NamespaceNetwork } from './namespace-network.ts'
import { type FoundNetwork, type Network, type NetworkOptions, sharedNetwork } from './network.ts'
import { PastaNetwork } from './pasta-network.ts'
import { UidNetwork } from './uid-network.ts'

/** The risks of squids without their own network, as a sentence for operators. */
const SHARED_NETWORK_RISKS =
  'Squids and builds use the network of this host: they reach its loopback, private networks and the metadata service of its cloud, and can open ports: run only squids you trust.'

/** The risks of rules for uids compared with a network for each version, as a sentence for operators. */
const UIDS_RISKS =
  'Rules for the users of squids protect this host and its networks instead; but squids can occupy ports of this host, and programs of a version cannot connect to each other.'

/** `auto`: the best kind that works. `uids`: rules for uids, even where namespaces work. */
export type NetworkMode = 'auto' | 'uids' | 'none'

/**
 * Finds the best kind of network that works on this host.
 * @param options.problem why the number of the installation may not be unique; null if it is
 * @param options.sandbox a command prefix that confines programs of the server's user; null without a sandbox
 * @returns a network, and a sentence for operators about what it does not protect
 */
export async function findNetwork(
  mode: NetworkMode,
  options: NetworkOptions & { hasUids: boolean; problem: string | null; sandbox: string[] | null },
): Promise<FoundNetwork> {
  if (mode === 'none') return useSharedNetwork('The networks of squids are disabled (SHOAL_NETWORK=none).')
  if (!options.hasUids) return await findWithoutRoot(mode, options, options.sandbox)
  if (options.problem !== null) return useSharedNetwork(reasonOf(options.problem))
  const namespaces =
    mode === 'uids'
      ? 'SHOAL_NETWORK is "uids".'
      : await open(['ip', 'nft', 'nsenter'], () => NamespaceNetwork.open(options))
  if (typeof namespaces !== 'string') return { network: namespaces, limitation: namespaces.limitation }
  const uids = await open(['nft'], () => UidNetwork.open(options))
  if (typeof uids !== 'string') return { network: uids, limitation: `${namespaces} ${UIDS_RISKS}` }
  return useSharedNetwork(mode === 'uids' ? uids : namespaces)
}

async function findWithoutRoot(
  mode: NetworkMode,
  options: NetworkOptions,
  sandbox: string[] | null,
): Promise<FoundNetwork> {
  if (mode === 'uids') return useSharedNetwork('Rules for the users of squids need root.')
  if (process.getuid?.() === 0) return useSharedNetwork('A network for each version needs setpriv (util-linux).')
  // Without a sandbox, programs could change the files of the server, and thus do everything that the server can.
  if (sandbox === null) return useSharedNetwork('A network for each version needs root or bubblewrap.')
  const pasta = await open(['pasta', 'nft', 'nsenter'], () => PastaNetwork.open(options, sandbox))
  return typeof pasta === 'string' ? useSharedNetwork(pasta) : { network: pasta, limitation: pasta.limitation }
}

const useSharedNetwork = (reason: string): FoundNetwork => ({
  network: sharedNetwork,
  limitation: `${reason} ${SHARED_NETWORK_RISKS}`,
})

/** Returns a network, or a sentence that explains why there is none. */
async function open<Kind extends Network>(programs: string[], create: () => Promise<Kind>): Promise<Kind | string> {
  const missing = programs.filter((program) => findProgram(program) === null).map((program) => PACKAGES[program])
  if (missing.length > 0) {
    const packages = missing.map((name) => `the package ${name} (apt-get install ${name})`)
    return `A network for each version needs ${packages.join(' and ')}.`
  }
  try {
    return await create()
  } catch (error) {
    return reasonOf(error instanceof Error ? error.message : String(error))
  }
}

const PACKAGES: Record<string, string> = { ip: 'iproute2', nft: 'nftables', nsenter: 'util-linux', pasta: 'passt' }

const reasonOf = (message: string) =>
  `This host cannot give each version its own network: ${message.replace(/\.$/, '')}.`
