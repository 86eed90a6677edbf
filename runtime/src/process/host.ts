import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { HostLimitation } from '../driver.ts'
import { makeCgroupBase } from './cgroup-base.ts'
import type { CgroupBase } from './cgroup-files.ts'
import { type BwrapState, type Sandbox, canDropTo, tryBwrap } from './sandbox.ts'
import { uidFor } from './uids.ts'
import { type WorkFolders, canMountOverlay } from './work-folder.ts'

/** What this host can do for us, found out once. */
export type Host = {
  /** Everything the runtime keeps. Others may walk through it, not list it. */
  stateDir: string
  /** Ten characters that tell this state directory from others on the host. */
  label: string
  sandbox: Sandbox
  workFolders: WorkFolders
  cgroups: CgroupBase | null
  /** The uid of `key` (a version or a tenant), the same for ever; null when programs run as the user we are. */
  uidOf(key: string): number | null
  /** One line for the log: which sandbox, limits and users programs get here. */
  summary: string
  shortcomings: HostLimitation[]
}

export type HostOptions = {
  stateDir: string
  /** `auto`: bubblewrap when it works here. */
  sandbox?: 'auto' | 'none'
  /** `auto`: cgroups when we may make them. */
  limits?: 'auto' | 'none'
  /** `auto`: overlays when we may mount them. */
  workFolders?: 'auto' | 'links'
}

/** Looks at the host. Two calls with the same directory share its uids and cgroups. */
export async function prepareHost(options: HostOptions): Promise<Host> {
  const { stateDir: wanted, sandbox = 'auto', limits = 'auto', workFolders = 'auto' } = options
  mkdirSync(wanted, { recursive: true })
  const stateDir = realpathSync(wanted)
  chmodSync(stateDir, 0o711)
  const label = shortHash(stateDir)
  const isRoot = process.getuid?.() === 0
  const hasUids = isRoot && (await canDropTo(65_534))
  const bwrap = sandbox === 'auto' ? await tryBwrap(hasUids ? 65_534 : null) : { is: 'off' as const }
  const cgroups = limits === 'auto' ? makeCgroupBase(`shoal-${label}`) : null
  // Without a uid of its own a program could change the image all the same.
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

/** What the programs of a box are marked with: its name, told from those of other servers on the host. */
export const boxMark = (host: Pick<Host, 'label'>, name: string): string => `${host.label}/${name}`

/** Ten lower-case characters out of any text: names that must be short and safe. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 10)
}

/** What is missing on a host, and what stays open without it: each a sentence for operators. */
export function shortcomings(has: {
  isRoot: boolean
  hasUids: boolean
  bwrap: BwrapState | { is: 'off' }
  hasCgroups: boolean
}): HostLimitation[] {
  const found: HostLimitation[] = []
  if (!has.hasCgroups)
    found.push(
      'Memory and CPU limits of squids are not enforced: this host lets us make no cgroups (only the JavaScript heap is limited).',
    )
  if (has.bwrap.is !== 'usable') found.push(`${withoutBwrap(has.bwrap)} ${openWithoutBwrap(has.hasUids)}`)
  if (has.isRoot && !has.hasUids)
    found.push('Squids run as root: setpriv (util-linux) is missing or may not change users here.')
  return found
}

function withoutBwrap(bwrap: Exclude<BwrapState, { is: 'usable' }> | { is: 'off' }): string {
  if (bwrap.is === 'off') return 'The sandbox is switched off (SHOAL_SANDBOX=none).'
  if (bwrap.is === 'missing') return 'The package bubblewrap is not installed (apt-get install bubblewrap).'
  return `bubblewrap is installed but does not work here: ${bwrap.reason.replace(/\.$/, '')}.`
}

const openWithoutBwrap = (hasUids: boolean) =>
  hasUids
    ? 'Without it squids see all files of this host that every user may read, and the list of its processes.'
    : 'Without it squids run as the same user as the server and can read its files, keys and the data of others: run only squids you trust, or start the server as root.'
