import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { HostLimitation } from '../driver.ts'
import { makeCgroupBase } from './cgroup-base.ts'
import type { CgroupBase } from './cgroup-files.ts'
import { type BwrapState, type Sandbox, canDropTo, tryBwrap } from './sandbox.ts'
import { uidFor } from './uids.ts'
import { type WorkFolders, canMountOverlay } from './work-folder.ts'

/** The features of this host, detected once. */
export type Host = {
  /** Directory for all state of the runtime. Others may traverse but not list it. */
  stateDir: string
  /** Ten characters that distinguish this state directory from others on the host. */
  label: string
  sandbox: Sandbox
  workFolders: WorkFolders
  cgroups: CgroupBase | null
  /** The permanent uid of `key` (a version or a tenant); null when programs run as the user of the server. */
  uidOf(key: string): number | null
  /** One line for the log about sandbox, limits and users of programs. */
  summary: string
  shortcomings: HostLimitation[]
}

export type HostOptions = {
  stateDir: string
  /** `auto`: bubblewrap when it works here. */
  sandbox?: 'auto' | 'none'
  /** `auto`: cgroups if they can be created. */
  limits?: 'auto' | 'none'
  /** `auto`: overlays if they can be mounted. */
  workFolders?: 'auto' | 'links'
}

/** Detects the features of the host. Calls with the same directory share uids and cgroups. */
export async function prepareHost(options: HostOptions): Promise<Host> {
  const { stateDir: requestedDir, sandbox = 'auto', limits = 'auto', workFolders = 'auto' } = options
  mkdirSync(requestedDir, { recursive: true })
  const stateDir = realpathSync(requestedDir)
  chmodSync(stateDir, 0o711)
  const label = shortHash(stateDir)
  const isRoot = process.getuid?.() === 0
  const hasUids = isRoot && (await canDropTo(65_534))
  const bwrap = sandbox === 'auto' ? await tryBwrap(hasUids ? 65_534 : null) : { is: 'off' as const }
  const cgroups = limits === 'auto' ? makeCgroupBase(`shoal-${label}`) : null
  // Without a separate uid, programs could modify the image despite the overlay.
  const hasOverlays = workFolders === 'auto' && hasUids && (await canMountOverlay(stateDir))
  const uids = join(stateDir, 'uids.json')
  return {
    stateDir,
    label,
    sandbox: bwrap.is === 'usable' ? 'bwrap' : 'none',
    workFolders: hasOverlays ? 'overlay' : 'links',
    cgroups,
    uidOf: (key) => (hasUids ? uidFor(uids, key) : null),
    summary: [
      bwrap.is === 'usable' ? 'sandbox bubblewrap' : `no sandbox (bubblewrap is ${bwrap.is})`,
      cgroups ? `limits by cgroups (version ${cgroups.version})` : 'no limits but of the JavaScript heap',
      hasOverlays ? 'work folders by overlays' : 'work folders of links',
      hasUids ? 'a user for each version' : isRoot ? 'all as root' : 'all as the user of the server',
    ].join(', '),
    shortcomings: shortcomings({ isRoot, hasUids, bwrap, hasCgroups: cgroups !== null }),
  }
}

/** The mark of the programs of a box: its name, distinguished from those of other servers on the host. */
export const boxMark = (host: Pick<Host, 'label'>, name: string): string => `${host.label}/${name}`

/** Ten lower-case characters for names that must be short and safe. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 10)
}

/** Missing features of the host and their consequences, as sentences for operators. */
export function shortcomings(has: {
  isRoot: boolean
  hasUids: boolean
  bwrap: BwrapState | { is: 'off' }
  hasCgroups: boolean
}): HostLimitation[] {
  const found: HostLimitation[] = []
  if (!has.hasCgroups)
    found.push(
      'Memory and CPU limits of squids are not enforced: cgroups cannot be created on this host (only the JavaScript heap is limited).',
    )
  if (has.bwrap.is !== 'usable') found.push(`${withoutBwrap(has.bwrap)} ${openWithoutBwrap(has.hasUids)}`)
  if (has.isRoot && !has.hasUids)
    found.push('Squids run as root: setpriv (util-linux) is missing or may not change users here.')
  return found
}

function withoutBwrap(bwrap: Exclude<BwrapState, { is: 'usable' }> | { is: 'off' }): string {
  if (bwrap.is === 'off') return 'The sandbox is disabled (SHOAL_SANDBOX=none).'
  if (bwrap.is === 'missing') return 'The package bubblewrap is not installed (apt-get install bubblewrap).'
  return `bubblewrap is installed but does not work here: ${bwrap.reason.replace(/\.$/, '')}.`
}

const openWithoutBwrap = (hasUids: boolean) =>
  hasUids
    ? 'Without it squids see all files of this host that every user may read, and the list of its processes.'
    : 'Without it squids run as the same user as the server and can read its files, keys and the data of others: run only squids you trust, or start the server as root.'
