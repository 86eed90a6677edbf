import { chmodSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { HostLimitation } from '../driver.ts'
import { makeCgroupBase } from './cgroup-base.ts'
import type { CgroupBase } from './cgroup-files.ts'
import type { Disks } from './disk/disks.ts'
import { findDisks } from './disk/find-disks.ts'
import { installationNumber } from './network/allocations.ts'
import { type NetworkMode, findNetwork } from './network/find-network.ts'
import { removeNetworks } from './network/namespaces.ts'
import { type Network, type NetworkKind, type NetworkTargets, noTargets } from './network/network.ts'
import { type BwrapFeatures, type BwrapState, type Sandbox, canDropTo, confine, findBwrap } from './sandbox.ts'
import { shortHash } from './short-hash.ts'
import { uidFor } from './uids.ts'
import { type WorkFolders, canMountOverlay } from './work-folder.ts'

/** The features of this host, detected once. */
export type Host = {
  /** Directory for all state of the runtime. Others may traverse but not list it. */
  stateDir: string
  /** Ten characters that identify this state directory among all on the host. */
  label: string
  sandbox: Sandbox
  bwrapFeatures: BwrapFeatures
  workFolders: WorkFolders
  cgroups: CgroupBase | null
  network: Network
  disks: Disks
  /** Returns the permanent uid of `key` (a version or a tenant); null when programs run as the user of the server. */
  uidOf(key: string): number | null
  /** A line for the log about the sandbox, limits, networks and users of programs. */
  summary: string
  limitations: HostLimitation[]
}

export type HostOptions = {
  stateDir: string
  /** `auto`: bubblewrap when it works here. */
  sandbox?: 'auto' | 'none'
  /** `auto`: cgroups if they can be created. */
  limits?: 'auto' | 'none'
  /** `auto`: overlays if they can be mounted. */
  workFolders?: 'auto' | 'links'
  network?: NetworkMode
  /** Addresses that programs may reach in addition to DNS and the public internet. Default: none. */
  targets?: NetworkTargets
  /** `auto`: the best limit of disk space that works here. */
  disk?: 'auto' | 'none'
  /** Disk space of each container; 0: not limited. Default: 4 GiB. */
  containerDiskBytes?: number
}

const DEFAULT_DISK_BYTES = 4 * 1024 ** 3

/** Detects the features of the host. Hosts with the same state directory share uids and cgroups. */
export async function prepareHost(options: HostOptions): Promise<Host> {
  const { stateDir: requestedDir, sandbox = 'auto', limits = 'auto', workFolders = 'auto' } = options
  const { network: networkMode = 'auto', targets = noTargets } = options
  const { disk: mode = 'auto', containerDiskBytes: containerBytes = DEFAULT_DISK_BYTES } = options
  mkdirSync(requestedDir, { recursive: true })
  const stateDir = realpathSync(requestedDir)
  chmodSync(stateDir, 0o711)
  const label = shortHash(stateDir)
  const isRoot = process.getuid?.() === 0
  const hasUids = isRoot && (await canDropTo(65_534))
  const { state: bwrap, features: bwrapFeatures } =
    sandbox === 'auto'
      ? await findBwrap(hasUids ? 65_534 : null, stateDir)
      : { state: { status: 'off' as const }, features: { filterFile: null, limitsTmp: false } }
  const cgroups = limits === 'auto' ? makeCgroupBase(`shoal-${label}`) : null
  // Without a separate uid, programs could modify the image despite the overlay.
  const hasOverlays = workFolders === 'auto' && hasUids && (await canMountOverlay(stateDir))
  const uids = join(stateDir, 'uids.json')
  const sandboxPrefix =
    bwrap.status === 'usable' ? confine({ sandbox: 'bwrap', bwrapFeatures }, { uid: null, ...NO_FILES }) : null
  const { number, problem } = hasUids ? await allocateNumber(stateDir) : { number: 0, problem: null }
  const networkOptions = { stateDir, label, number, targets, hasUids, problem, sandbox: sandboxPrefix }
  const { network, limitation } = await findNetwork(networkMode, networkOptions)
  const { disks, limitation: diskLimitation } = await findDisks({ stateDir, mode, containerBytes, hasUids })
  return {
    stateDir,
    label,
    sandbox: bwrap.status === 'usable' ? 'bwrap' : 'none',
    bwrapFeatures,
    workFolders: hasOverlays ? 'overlay' : 'links',
    cgroups,
    network,
    disks,
    uidOf: (key) => (hasUids ? uidFor(uids, key, number) : null),
    summary: [
      bwrap.status === 'usable' ? 'sandbox bubblewrap' : `no sandbox (bubblewrap is ${bwrap.status})`,
      cgroups ? `limits by cgroups (version ${cgroups.version})` : 'limits of the JavaScript heap only',
      hasOverlays ? 'work folders by overlays' : 'work folders of links',
      disks.kind === 'image' ? 'disk space by images' : 'no limit of disk space',
      NETWORK_SUMMARIES[network.kind],
      hasUids ? 'a user for each version' : isRoot ? 'all squids as root' : 'all squids as the user of the server',
    ].join(', '),
    limitations: [
      ...findLimitations({ isRoot, hasUids, bwrap, bwrapFeatures, hasCgroups: cgroups !== null }),
      ...[limitation, diskLimitation].filter((sentence) => sentence !== null),
      ...(problem === null ? [] : [`Another installation on this host may give its squids the same uids: ${problem}.`]),
    ],
  }
}

/** A confinement for testing the sandbox. */
const NO_FILES = { readableDirs: [], writableDirs: [], tmpBytes: 1024 * 1024 }

const NETWORK_SUMMARIES: Record<NetworkKind, string> = {
  namespace: 'a network for each version',
  pasta: 'a network by pasta for each version',
  uids: 'the network of the host with rules for each version',
  shared: 'the network of the host',
}

/** Allocates the number of this installation. `problem`: why the number, and so the uids, may also be used by another installation. */
async function allocateNumber(stateDir: string): Promise<{ number: number; problem: string | null }> {
  try {
    return { number: await installationNumber(stateDir, removeNetworks), problem: null }
  } catch (error) {
    return { number: 0, problem: error instanceof Error ? error.message : String(error) }
  }
}

/** Returns the mark of the isolated program `name`. It includes the label, since other servers on the host may use the same name. */
export const programMark = (host: Pick<Host, 'label'>, name: string): string => `${host.label}/${name}`

/** Returns the missing features of the host and their consequences, as sentences for operators. */
export function findLimitations(features: {
  isRoot: boolean
  hasUids: boolean
  bwrap: BwrapState | { status: 'off' }
  bwrapFeatures: BwrapFeatures
  hasCgroups: boolean
}): HostLimitation[] {
  const limitations: HostLimitation[] = []
  if (!features.hasCgroups)
    limitations.push(
      'Memory and CPU limits of squids are not enforced: cgroups cannot be created on this host (only the JavaScript heap is limited).',
    )
  if (features.bwrap.status !== 'usable')
    limitations.push(`${whyNoBwrap(features.bwrap)} ${consequenceWithoutBwrap(features.hasUids)}`)
  else limitations.push(...missingBwrapFeatures(features.bwrapFeatures))
  if (features.isRoot && !features.hasUids)
    limitations.push('Squids run as root: setpriv (util-linux) is missing or may not change users here.')
  return limitations
}

function missingBwrapFeatures({ filterFile, limitsTmp }: BwrapFeatures): HostLimitation[] {
  return [
    ...(filterFile === null
      ? [
          'Squids may use every system call of the kernel: it does not support filters (seccomp), or the machine is neither x86-64 nor arm64.',
        ]
      : []),
    ...(limitsTmp
      ? []
      : [
          'Only the memory limit of a squid bounds its files in /tmp: bubblewrap is older than 0.7, which can limit their size.',
        ]),
  ]
}

function whyNoBwrap(bwrap: Exclude<BwrapState, { status: 'usable' }> | { status: 'off' }): string {
  if (bwrap.status === 'off') return 'The sandbox is disabled (SHOAL_SANDBOX=none).'
  if (bwrap.status === 'missing') return 'The package bubblewrap is not installed (apt-get install bubblewrap).'
  return `bubblewrap is installed but does not work here: ${bwrap.reason.replace(/\.$/, '')}.`
}

const consequenceWithoutBwrap = (hasUids: boolean) =>
  hasUids
    ? 'Without it squids see all files of this host that every user may read, and the list of its processes.'
    : 'Without it squids run as the same user as the server and can read its files, keys and the data of others: run only squids you trust, or start the server as root.'
