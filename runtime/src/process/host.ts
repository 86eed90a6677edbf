import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { Shortcoming } from '../driver.ts'
import { makeCgroupBase } from './cgroup-base.ts'
import type { CgroupBase } from './cgroup-files.ts'
import { type Sandbox, canDropTo, canUseBwrap } from './sandbox.ts'
import { uidFor } from './uids.ts'

/** What this host can do for us, found out once. */
export type Host = {
  /** Everything the runtime keeps. Others may walk through it, not list it. */
  stateDir: string
  /** Ten characters that tell this state directory from others on the host. */
  label: string
  sandbox: Sandbox
  cgroups: CgroupBase | null
  /** The uid of `key` (a version or a tenant), the same for ever; null when programs run as the user we are. */
  uidOf(key: string): number | null
  shortcomings: Shortcoming[]
}

export type HostOptions = {
  stateDir: string
  /** `auto`: bubblewrap when it works here. */
  sandbox?: 'auto' | 'none'
  /** `auto`: cgroups when we may make them. */
  limits?: 'auto' | 'none'
}

/** Looks at the host. Two calls with the same directory share its uids and cgroups. */
export async function prepareHost({ stateDir: wanted, sandbox = 'auto', limits = 'auto' }: HostOptions): Promise<Host> {
  mkdirSync(wanted, { recursive: true })
  const stateDir = realpathSync(wanted)
  chmodSync(stateDir, 0o711)
  const label = shortHash(stateDir)
  const isRoot = process.getuid?.() === 0
  const hasUids = isRoot && (await canDropTo(65_534))
  const hasBwrap = sandbox === 'auto' && process.platform === 'linux' && (await canUseBwrap(hasUids ? 65_534 : null))
  const cgroups = limits === 'auto' ? makeCgroupBase(`shoal-${label}`) : null
  const uids = join(stateDir, 'uids.json')
  return {
    stateDir,
    label,
    sandbox: hasBwrap ? 'bwrap' : 'none',
    cgroups,
    uidOf: (key) => (hasUids ? uidFor(uids, key) : null),
    shortcomings: shortcomings({ isRoot, hasUids, hasBwrap, hasCgroups: cgroups !== null }),
  }
}

/** What the programs of a box are marked with: its name, told from those of other servers on the host. */
export const boxMark = (host: Pick<Host, 'label'>, name: string): string => `${host.label}/${name}`

/** Ten lower-case characters out of any text: names that must be short and safe. */
export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 10)
}

function shortcomings(has: {
  isRoot: boolean
  hasUids: boolean
  hasBwrap: boolean
  hasCgroups: boolean
}): Shortcoming[] {
  const sentences: [boolean, Shortcoming][] = [
    [
      !has.hasCgroups,
      'Memory and CPU limits of squids are not enforced: this host lets us make no cgroups (only the JavaScript heap is limited).',
    ],
    [
      !has.hasBwrap && has.hasUids,
      'Squids see the files of this host that every user may read, and its processes: bubblewrap is not used (install it to close this).',
    ],
    [
      !has.hasBwrap && !has.hasUids,
      'Squids run as the same user as the server with no sandbox and could read its files: run only squids you trust, install bubblewrap, or start the server as root.',
    ],
    [has.isRoot && !has.hasUids, 'Squids run as root: setpriv (util-linux) is missing or may not change users here.'],
  ]
  return sentences.filter(([isTrue]) => isTrue).map(([, sentence]) => sentence)
}
