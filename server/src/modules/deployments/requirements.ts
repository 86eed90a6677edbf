import { isUnpaid, type OrgStatus } from '@shoal/contract'
import type { Config } from '../../config/config.ts'
import { refuse } from '../../errors.ts'
import { programResources, type evaluateEnvironments, type SquidPlan, type Variables } from '../manifest/index.ts'
import { DeployFailure } from './failure.ts'

/** Storage limit of playground databases (contract 6.3). */
const playgroundStorageBytes = 10 * 2 ** 30

export type OrgDeployState = { code: string; status: OrgStatus; isPlayground: boolean; deletedAt: Date | null }

/** Null when the organization may run programs; otherwise why not, and what to do. */
export function computeRefusal(org: OrgDeployState, config: Pick<Config, 'publicUrl'>): string | null {
  const billing = `${config.publicUrl}/billing?organization=${org.code}`
  if (org.deletedAt) return `Organization ${org.code} is being deleted.`
  if (isUnpaid(org.status))
    return `Organization ${org.code} is not active: payment is overdue. Please update your card details at ${billing}.`
  if (org.status === 'DRAFT' && !org.isPlayground)
    return `Organization ${org.code} is not active yet. Please set up its billing at ${billing}; the playground of each user is free.`
  return null
}

/** Null when its spending cap allows new programs; otherwise why not, and what to do. */
export function capRefusal(
  org: { code: string; deploysStoppedUntil: Date | null },
  config: Pick<Config, 'publicUrl'>,
  now: Date,
): string | null {
  if (org.deploysStoppedUntil === null || org.deploysStoppedUntil <= now) return null
  const limits = `${config.publicUrl}/billing/limits?organization=${org.code}`
  return `Organization ${org.code} has reached its spending cap of this month. Raise it at ${limits}, or wait for the next month.`
}

/** @throws Refusal 405 when the organization may not deploy now */
export function refuseUnlessDeployable(
  org: (OrgDeployState & { deploysStoppedUntil: Date | null }) | null,
  config: Pick<Config, 'publicUrl'>,
  now: Date,
): void {
  const reason = org ? computeRefusal(org, config) : 'The organization no longer exists.'
  if (reason) throw refuse('ORGANIZATION_NOT_ACTIVE', reason)
  const capped = org && capRefusal(org, config, now)
  if (capped) throw refuse('SPENDING_CAP_REACHED', capped)
}

/** @throws DeployFailure for features that the organization's plan or this installation does not offer */
export function checkPlan(plan: SquidPlan, org: Pick<OrgDeployState, 'isPlayground'>): void {
  if (plan.hasHasura)
    throw unsupported('hasura', 'Serve GraphQL with the api section, for example by squid-graphql-server')
  if (plan.hasNeon) throw unsupported('neon', 'Use the addon postgres')
  if (org.isPlayground) checkPlayground(plan)
  const profiles = [
    ['scale.api.profile', plan.api?.profile],
    ['scale.processor.profile', plan.processorProfile],
  ] as const
  for (const [key, profile] of profiles)
    if (profile && !programResources(profile, plan.isDedicated))
      throw new DeployFailure(
        'REQUIREMENTS',
        `${key}: ${profile} exists for dedicated versions only. Set scale.dedicated to true, or choose large or smaller.`,
      )
}

/** Null when a version with this plan could be deployed; otherwise the message of `checkPlan`. */
export function planRefusal(plan: SquidPlan, org: Pick<OrgDeployState, 'isPlayground'>): string | null {
  try {
    checkPlan(plan, org)
    return null
  } catch (error) {
    if (error instanceof DeployFailure) return error.message
    throw error
  }
}

function checkPlayground(plan: SquidPlan): void {
  if (plan.isDedicated)
    throw new DeployFailure(
      'PERMISSIONS',
      'A playground runs collocated squids only. Set scale.dedicated to false or remove the section scale; an organization can have dedicated squids.',
    )
  if ((plan.postgres?.totalBytes ?? 0) > playgroundStorageBytes)
    throw new DeployFailure(
      'PERMISSIONS',
      'A database in a playground has up to 10Gi. Lower scale.addons.postgres.storage, or deploy to an organization.',
    )
}

const unsupported = (addon: string, instead: string) =>
  new DeployFailure(
    'REQUIREMENTS',
    `This installation does not offer the addon ${addon}. ${instead}, and remove deploy.addons.${addon} from the manifest.`,
  )

/** Limits of Linux: 128 KiB per variable with its name, and 2 MiB in total, of which the platform's own variables need little. */
const maxVariable = 128 * 1024 - 1
const maxEnvironment = 1_000_000

/** @throws DeployFailure for an environment that is too large for a program */
export function checkEnvironments({ deploy, init, api, processors }: ReturnType<typeof evaluateEnvironments>): void {
  const sections: [string, Variables][] = [['init', init], ['api', api], ...Object.entries(processors)]
  for (const [container, own] of sections) {
    const sizes = Object.entries({ ...deploy, ...own }).map(([name, value]) => ({
      name,
      bytes: Buffer.byteLength(name) + Buffer.byteLength(value) + 2,
    }))
    const long = sizes.find(({ bytes }) => bytes > maxVariable)
    if (long)
      throw new DeployFailure(
        'REQUIREMENTS',
        `The variable ${long.name} of ${container} has ${kb(long.bytes)}; the maximum is ${kb(maxVariable)}. Shorten it, or read it from a file in the squid.`,
      )
    const bytes = sizes.reduce((total, size) => total + size.bytes, 0)
    if (bytes > maxEnvironment)
      throw new DeployFailure(
        'REQUIREMENTS',
        `The environment of ${container} has ${kb(bytes)}; the maximum is ${kb(maxEnvironment)}. Shorten the values in the manifest, or delete unused secrets: every squid receives all of them.`,
      )
  }
}

const kb = (bytes: number) => `${Math.ceil(bytes / 1000)} kB`
