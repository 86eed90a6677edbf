import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { describe, expect } from 'vitest'
import { removeCgroupBase } from './cgroup.ts'
import { type Host, type HostOptions, prepareHost } from './host.ts'

export type HostKind = Required<Pick<HostOptions, 'sandbox' | 'limits' | 'workFolders'>>

/** The features of this host when none is disabled. */
const features = await detectFeatures()

async function detectFeatures(): Promise<
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

/** Returns why a kind cannot be tested on this host; null when it can. */
function unsupportedReason({ sandbox, limits }: Partial<HostKind>): string | null {
  if (sandbox !== 'none' && features.sandbox === 'none') {
    return features.isInstalled ? 'bubblewrap does not work here' : 'bubblewrap is not installed'
  }
  if (limits === 'auto' && !features.cgroups) return 'cgroups cannot be created here'
  return null
}

/** Hosts with both sandbox and limits, and with neither. Where cgroups cannot be created, also hosts with only a sandbox. */
export const standardKinds: readonly Partial<HostKind>[] = [
  { sandbox: 'auto', limits: 'auto' },
  { sandbox: 'none', limits: 'none' },
  ...(features.cgroups ? [] : [{ sandbox: 'auto', limits: 'none' } as const]),
]

/**
 * Describes tests for kinds of host: `npm test` runs them for the first kind that this host supports, `npm run test:slow` for the
 * others, and a run of named files for all. The file must have no other tests, and be one of `kindSuites` in scripts/test-suites.ts.
 * @throws Error when run as root without bubblewrap, which root can install
 */
export function describeKinds<K extends Partial<HostKind>>(kinds: readonly K[], body: (kind: K) => void): void {
  const first = kinds.find((kind) => unsupportedReason(kind) === null)
  const others = kinds.filter((kind) => kind !== first)
  const tested = { first: first ? [first] : kinds, others }[process.env['SHOAL_TEST_KINDS'] ?? '']
  describeAllKinds(tested ?? kinds, body)
}

/**
 * Describes tests for each kind of host, named after the features in use. Skips kinds that this host does not support, with the
 * reason in the name.
 * @throws Error when run as root without bubblewrap, which root can install
 */
export function describeAllKinds<K extends Partial<HostKind>>(kinds: readonly K[], body: (kind: K) => void): void {
  for (const kind of kinds) {
    const reason = unsupportedReason(kind)
    if (reason === 'bubblewrap is not installed' && isRoot)
      throw new Error('bubblewrap is not installed, so no sandbox would be tested: apt-get install bubblewrap')
    const parts = [
      kind.sandbox && `sandbox ${kind.sandbox === 'auto' ? 'bubblewrap' : 'none'}`,
      kind.limits && `limits ${kind.limits === 'auto' ? 'cgroups' : 'none'}`,
      kind.workFolders && `work folders ${kind.workFolders === 'auto' ? features.workFolders : 'links'}`,
    ]
    const name = `with ${parts.filter(Boolean).join(' and ')}${reason ? ` (skipped: ${reason})` : ''}`
    describe.skipIf(reason !== null).each([name])('%s', () => {
      body(kind)
    })
  }
}

/** Records the sandbox, limits and other features that a suite runs with, for the summary of `npm test`. */
export function recordIsolation({ summary }: Pick<Host, 'summary'>): void {
  const file = process.env['SHOAL_TEST_ISOLATION']
  const suite = relative(process.cwd(), expect.getState().testPath ?? '')
  if (file) appendFileSync(file, `${suite}\t${summary}\n`)
}
