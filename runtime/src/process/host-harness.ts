import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect } from 'vitest'
import { removeCgroupBase } from './cgroup.ts'
import { type Host, type HostOptions, prepareHost } from './host.ts'

export type Kind = Required<Pick<HostOptions, 'sandbox' | 'limits' | 'workFolders'>>

/** As the server finds this host when nothing is switched off. */
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

/** Why a kind cannot be tested here; null when it can. */
function obstacle({ sandbox, limits }: Partial<Kind>): string | null {
  if (sandbox !== 'none' && found.sandbox === 'none') {
    return found.isInstalled ? 'bubblewrap does not work here' : 'bubblewrap is not installed'
  }
  if (limits === 'auto' && !found.cgroups) return 'no cgroups can be made here'
  return null
}

/** Both together, and none; where there are no cgroups, as for an ordinary user, the sandbox without them too. */
export const bothOrNone: readonly Partial<Kind>[] = [
  { sandbox: 'auto', limits: 'auto' },
  { sandbox: 'none', limits: 'none' },
  ...(found.cgroups ? [] : [{ sandbox: 'auto', limits: 'none' } as const]),
]

/**
 * Tests of each kind of host, named by what they really have. What this host cannot offer is skipped, with the reason in its name.
 * @throws Error as root without bubblewrap, who could have installed it
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

/** Notes what a suite runs with, for the line that `npm test` prints about it. */
export function noteHost({ summary }: Pick<Host, 'summary'>): void {
  const file = process.env['SHOAL_TEST_HOSTS']
  const suite = relative(process.cwd(), expect.getState().testPath ?? '')
  if (file) appendFileSync(file, `${suite}\t${summary}\n`)
}
