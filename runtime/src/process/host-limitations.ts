import type { HostLimitation } from '../driver.ts'
import type { BwrapFeatures, BwrapState } from './sandbox.ts'

export type Bwrap = BwrapState | { status: 'off' }

type DetectedFeatures = {
  isRoot: boolean
  hasUids: boolean
  bwrap: Bwrap
  bwrapFeatures: BwrapFeatures
  hasCgroups: boolean
}

/** Returns the missing features of the host and their consequences, as sentences for operators. */
export function findLimitations(features: DetectedFeatures): HostLimitation[] {
  const { limits, sandbox, users } = limitationsByPart(features)
  return [...limits, ...sandbox, ...users]
}

export function limitationsByPart(
  features: DetectedFeatures,
): Record<'limits' | 'sandbox' | 'users', HostLimitation[]> {
  return {
    limits: features.hasCgroups
      ? []
      : [
          'Memory and CPU limits of squids are not enforced: cgroups cannot be created on this host (only the JavaScript heap is limited).',
        ],
    sandbox:
      features.bwrap.status === 'usable'
        ? missingBwrapFeatures(features.bwrapFeatures)
        : [`${whyNoBwrap(features.bwrap)} ${consequenceWithoutBwrap(features.hasUids)}`],
    users: missingUsers(features),
  }
}

function missingUsers({ isRoot, hasUids, bwrap }: DetectedFeatures): HostLimitation[] {
  if (hasUids) return []
  if (isRoot) return ['Squids run as root: setpriv (util-linux) is missing or may not change users here.']
  // Without bubblewrap, `consequenceWithoutBwrap` says more.
  if (bwrap.status !== 'usable') return []
  return [
    'All squids run as the user of the server, because the server does not run as root: only bubblewrap separates them from the server and from each other.',
  ]
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

function whyNoBwrap(bwrap: Exclude<Bwrap, { status: 'usable' }>): string {
  if (bwrap.status === 'off') return 'The sandbox is disabled (SHOAL_SANDBOX=none).'
  if (bwrap.status === 'missing') return 'The package bubblewrap is not installed (apt-get install bubblewrap).'
  return `bubblewrap is installed but does not work here: ${bwrap.reason.replace(/\.$/, '')}.`
}

const consequenceWithoutBwrap = (hasUids: boolean) =>
  hasUids
    ? 'Without it squids see all files of this host that every user may read, and the list of its processes.'
    : 'Without it squids run as the same user as the server and can read its files, keys and the data of others: run only squids you trust, or start the server as root.'
