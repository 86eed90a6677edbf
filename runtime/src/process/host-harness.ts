import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect } from 'vitest'
import { removeCgroupBase } from './cgroup.ts'
import { type Host, type HostOptions, prepareHost } from './host.ts'

export type Kind = Required<Pick<HostOptions, 'sandbox' | 'limits' | 'workFolders'>>

/** The features of this host when nothing is disabled. */
const found = await findHost()

async function findHost(): Promise<
  Pick<Host, 'sandbox' | 'workFolders' | 'cgroups' | 'summary'> & { isInstalled: boolean }
> {
  const stateDir = mkdtempSync(join(tmpdir(), 'shoal-host-'))
  try {
    const host = await prepareHost({ stateDir })
    if (host.cgroups) await removeCgroupBase(host.cgroups)
    return { ...host, isInstalled: !host.summary.includes('bubblewrap is missing') }
  } finally {
    rmSync(stateDir, { recursive: true })
  }
}

const isRoot = process.getuid?.() === 0

/** Why a kind cannot be tested on this host; null when it can. */
function obstacle({ sandbox, limits }: Partial<Kind>): string | null {
  if (sandbox !== 'none' && found.sandbox === 'none') {
    return found.isInstalled ? 'bubblewrap does not work here' : 'bubblewrap is not installed'
  }
  if (limits === 'auto' && !found.cgroups) return 'cgroups cannot be created here'
  return null
}

/** Sandbox and limits together, and neither; without cgroups, as for an ordinary user, also only the sandbox. */
export const bothOrNone: readonly Partial<Kind>[] = [
  { sandbox: 'auto', limits: 'auto' },
  { sandbox: 'none', limits: 'none' },
  ...(found.cgroups ? [] : [{ sandbox: 'auto', limits: 'none' } as const]),
]

/**
 * Describes tests for each kind of host, named after the features in use. Skips kinds that this host does not support, with the
 * reason in the name.
 * @throws Error when run as root without bubblewrap, which root can install
 */
export function describeKinds<K extends Partial<Kind>>(kinds: readonly K[], body: (kind: K) => void): void {
  for (const kind of kinds) {
    const reason = obstacle(kind)
    if (reason === 'bubblewrap is not installed' && isRoot)
      throw new Error('bubblewrap is not installed, so no sandbox would be tested: apt-get install bubblewrap')
    const parts = [
      kind.sandbox && `sandbox ${kind.sandbox === 'auto' ? 'bubblewrap' : 'none'}`,
      kind.limits && `limits ${kind.limits === 'auto' ? 'cgroups' : 'none'}`,
      kind.workFolders && `work folders ${kind.workFolders === 'auto' ? found.workFolders : 'links'}`,
    ]
    const name = `with ${parts.filter(Boolean).join(' and ')}${reason ? ` (skipped: ${reason})` : ''}`
    describe.skipIf(reason !== null).each([name])('%s', () => {
      body(kind)
    })
  }
}

/** Records the features that a suite runs with, for the summary of `npm test`. */
export function noteHost({ summary }: Pick<Host, 'summary'>): void {
  const file = process.env['SHOAL_TEST_HOSTS']
  const suite = relative(process.cwd(), expect.getState().testPath ?? '')
  if (file) appendFileSync(file, `${suite}\t${summary}\n`)
}
