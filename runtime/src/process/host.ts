import { chmodSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { HostLimitation } from '../driver.ts'
import { prepareCgroupBase } from './cgroup-base.ts'
import type { CgroupBase } from './cgroup-files.ts'
import type { Disks } from './disk/disks.ts'
import { type Bwrap, limitationsByPart } from './host-limitations.ts'
import type { HostReport, ProtectionReport } from './host-report.ts'
import { findDisks } from './disk/find-disks.ts'
import { installationNumber } from './network/allocations.ts'
import { type NetworkMode, findNetwork } from './network/find-network.ts'
import { removeNetworks } from './network/namespaces.ts'
import { type Network, type NetworkKind, type NetworkTargets, noTargets } from './network/network.ts'
import { type BwrapFeatures, type Sandbox, canDropTo, confine, findBwrap } from './sandbox.ts'
import { shortHash } from './short-hash.ts'
import { uidFor } from './uids.ts'
import { type WorkFolders, findWorkFolders } from './work-folder.ts'

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
  /** A line for the log about the sandbox, limits, disks, networks and users of programs. */
  summary: string
  /** The same information by kind of protection, with what each kind does not protect. */
  report: HostReport
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
  /** Disk space of each container; 0: unlimited. Default: 4 GiB. */
  containerDiskBytes?: number
}

const defaults = {
  sandbox: 'auto',
  limits: 'auto',
  workFolders: 'auto',
  network: 'auto',
  targets: noTargets,
  disk: 'auto',
  containerDiskBytes: 4 * 1024 ** 3,
} as const satisfies Partial<HostOptions>

/** The uid of an unprivileged user, with which this process tests what programs may do. */
const TEST_UID = 65_534

/** Detects the features of the host. All callers with the same state directory share its uids and cgroups. */
export async function prepareHost(options: HostOptions): Promise<Host> {
  const chosen = { ...defaults, ...options }
  mkdirSync(chosen.stateDir, { recursive: true })
  const stateDir = realpathSync(chosen.stateDir)
  chmodSync(stateDir, 0o711)
  const label = shortHash(stateDir)
  const isRoot = process.getuid?.() === 0
  const hasUids = isRoot && (await canDropTo(TEST_UID))
  const { state: bwrap, features: bwrapFeatures } =
    chosen.sandbox === 'auto' ? await findBwrap(hasUids ? TEST_UID : null, stateDir) : bwrapOff
  const sandbox = bwrap.status === 'usable' ? 'bwrap' : 'none'
  const cgroups = chosen.limits === 'auto' ? prepareCgroupBase(`shoal-${label}`) : null
  // Without a separate uid, programs could modify the image despite the overlay.
  const mayUseOverlays = chosen.workFolders === 'auto' && hasUids
  const { workFolders, summary: workFoldersSummary } = await findWorkFolders(stateDir, mayUseOverlays)
  const { number, problem } = hasUids ? await allocateNumber(stateDir) : { number: 0, problem: null }
  const { network, limitation: networkLimitation } = await findNetwork(chosen.network, {
    stateDir,
    label,
    number,
    targets: chosen.targets,
    hasUids,
    problem,
    sandbox: sandbox === 'bwrap' ? confine({ sandbox, bwrapFeatures }, { uid: null, ...NO_FILES }) : null,
  })
  const { disks, limitation: diskLimitation } = await findDisks({
    stateDir,
    mode: chosen.disk,
    containerBytes: chosen.containerDiskBytes,
    hasUids,
    hasFilter: sandbox === 'bwrap' && bwrapFeatures.filterFile !== null,
  })
  const features = { isRoot, hasUids, bwrap, bwrapFeatures, cgroups, workFolders, network, disks } as const
  const report = reportOf(features, { network: networkLimitation, disk: diskLimitation, users: problem })
  return {
    stateDir,
    label,
    sandbox,
    bwrapFeatures,
    workFolders,
    cgroups,
    network,
    disks,
    uidOf: (key) => (hasUids ? uidFor(join(stateDir, 'uids.json'), key, number) : null),
    summary: `${Object.values(report)
      .map(({ state }) => state)
      .join(', ')}, ${workFoldersSummary}`,
    report,
    limitations: Object.values(report).flatMap(({ problems }) => problems),
  }
}

const bwrapOff = { state: { status: 'off' as const }, features: { filterFile: null, limitsTmp: false } }

type Features = Pick<Host, 'cgroups' | 'workFolders' | 'network' | 'disks'> & {
  isRoot: boolean
  hasUids: boolean
  bwrap: Bwrap
}

/** What each protection does not protect, or why it may fail; null if it has no such problem. */
type Problems = { network: HostLimitation | null; disk: HostLimitation | null; users: string | null }

function reportOf(features: Features & { bwrapFeatures: BwrapFeatures }, found: Problems): HostReport {
  const { bwrap, cgroups, disks, network, isRoot, hasUids } = features
  const limitations = limitationsByPart({ ...features, hasCgroups: cgroups !== null })
  const sharedUser = isRoot ? 'all squids as root' : 'all squids as the user of the server'
  const sharedUids =
    found.users === null ? [] : [`Another installation on this host may give its squids the same uids: ${found.users}.`]
  const part = (state: string, isProtected: boolean, problems: (string | null)[]): ProtectionReport => ({
    state,
    isProtected,
    problems: problems.filter((problem) => problem !== null),
  })
  return {
    sandbox: part(
      bwrap.status === 'usable' ? 'sandbox bubblewrap' : `no sandbox (bubblewrap is ${bwrap.status})`,
      bwrap.status === 'usable',
      limitations.sandbox,
    ),
    limits: part(
      cgroups ? `limits by cgroups (version ${cgroups.version})` : 'limits of the JavaScript heap only',
      cgroups !== null,
      limitations.limits,
    ),
    disk: part(DISK_SUMMARIES[disks.kind], disks.kind !== 'none', [found.disk]),
    network: part(NETWORK_SUMMARIES[network.kind], network.kind !== 'shared', [found.network]),
    users: part(hasUids ? 'a user for each version' : sharedUser, hasUids, [...limitations.users, ...sharedUids]),
  }
}

/** A confinement for testing the sandbox. */
const NO_FILES = { readableDirs: [], writableDirs: [], tmpBytes: 1024 * 1024 }

const DISK_SUMMARIES: Record<Disks['kind'], string> = {
  quota: 'disk space by quotas of btrfs',
  image: 'disk space by disk images',
  none: 'no limit of disk space',
}

const NETWORK_SUMMARIES: Record<NetworkKind, string> = {
  namespace: 'a network for each version',
  pasta: 'a network by pasta for each version',
  uids: 'the network of the host with rules for each version',
  shared: 'the network of the host',
}

/** Allocates the number of this installation. `problem`: why another installation may use the same number, and thus the same uids. */
async function allocateNumber(stateDir: string): Promise<{ number: number; problem: string | null }> {
  try {
    return { number: await installationNumber(stateDir, removeNetworks), problem: null }
  } catch (error) {
    return { number: 0, problem: error instanceof Error ? error.message : String(error) }
  }
}

/** Returns the mark of the isolated program `name`. It includes the label, since other servers on the host may use the same name. */
export const programMark = (host: Pick<Host, 'label'>, name: string): string => `${host.label}/${name}`
