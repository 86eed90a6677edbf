import { isUnpaid, type OrgStatus } from '@shoal/contract'
import type { Config } from '../../config/config.ts'
import { refuse, type Refusal } from '../../errors.ts'
import { isReserveUsed } from '../../health/disk.ts'
import {
  missingForHasura,
  programResources,
  type evaluateEnvironments,
  type SquidPlan,
  type Variables,
} from '../manifest/index.ts'
import { DeployFailure } from './failure.ts'

/** The storage limit of databases in playgrounds. */
const playgroundStorageBytes = 10 * 2 ** 30

/** The state of an organization that decides whether it may run programs. */
export type OrgDeployState = {
  code: string
  status: OrgStatus
  isPlayground: boolean
  deletedAt: Date | null
  suspendedAt: Date | null
  suspensionReason: string | null
}

/** Returns why the organization may not run programs, and what to do; null when it may. */
export function programsRefusal(org: OrgDeployState, config: Pick<Config, 'publicUrl'>): string | null {
  const billing = `${config.publicUrl}/billing?organization=${org.code}`
  if (org.deletedAt) return `Organization ${org.code} is being deleted.`
  if (org.suspendedAt)
    return `The operator has suspended organization ${org.code}: ${org.suspensionReason} Squids start again when the suspension ends.`
  if (isUnpaid(org.status))
    return `Organization ${org.code} is not active: payment is overdue. Please update your card details at ${billing}.`
  if (org.status === 'DRAFT' && !org.isPlayground)
    return `Organization ${org.code} is not active yet. Please set up its billing at ${billing}; the playground of each user is free.`
  return null
}

/** Returns why the organization's spending cap does not allow new programs, and what to do; null when it does. */
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
export function checkMayDeploy(
  org: (OrgDeployState & { deploysStoppedUntil: Date | null }) | null,
  config: Pick<Config, 'publicUrl'>,
  now: Date,
): void {
  const reason = org ? programsRefusal(org, config) : 'The organization no longer exists.'
  if (reason) throw refuse('ORGANIZATION_NOT_ACTIVE', reason)
  const capReason = org && capRefusal(org, config, now)
  if (capReason) throw refuse('SPENDING_CAP_REACHED', capReason)
}

const diskReserveText =
  'The disk of this installation is almost full, so it accepts no deployments now. Running squids continue. Please try again later, or contact its operator.'

/**
 * Returns the refusal while the disk is almost full; otherwise null. Checks the disk of this process only if archives or builds use it: an
 * api on a separate host stores archives in S3, and the worker checks its own disk before it builds. Must be called outside of
 * transactions, because it waits while the disk hangs.
 */
export async function diskRefusal(config: Config): Promise<Refusal | null> {
  if (config.s3 && !config.SHOAL_ROLES.includes('worker')) return null
  return (await isReserveUsed(config)) ? refuse('DISK_ALMOST_FULL', diskReserveText) : null
}

/** Like `diskRefusal`. @throws Refusal 405 while the disk is almost full */
export async function checkDiskForRequest(config: Config): Promise<void> {
  const refusal = await diskRefusal(config)
  if (refusal) throw refusal
}

/** Checks the worker's disk before it builds a deployment that was accepted earlier. @throws DeployFailure while the disk is almost full */
export async function checkDiskForBuild(config: Config): Promise<void> {
  if (await isReserveUsed(config)) throw new DeployFailure('UNEXPECTED', diskReserveText)
}

/** @throws DeployFailure for a feature that the organization's plan or this installation does not offer */
export function checkPlan(
  plan: SquidPlan,
  org: Pick<OrgDeployState, 'isPlayground'>,
  config: Pick<Config, 'hasura' | 'SHOAL_RUNTIME'>,
): void {
  checkHasura(plan, config)
  if (plan.hasNeon) throw unsupportedAddon('neon', 'Use the addon postgres')
  if (org.isPlayground) checkPlayground(plan)
  const profiles = [
    ['scale.api.profile', plan.api?.profile],
    ['scale.processor.profile', plan.processorProfile],
    ['scale.addons.hasura.profile', plan.hasura?.profile],
  ] as const
  for (const [key, profile] of profiles)
    if (profile && !programResources(profile, plan.isDedicated))
      throw new DeployFailure(
        'REQUIREMENTS',
        `${key}: ${profile} exists for dedicated versions only. Set scale.dedicated to true, or choose large or smaller.`,
      )
}

/** Returns the message of `checkPlan` when a version with this plan cannot be deployed; otherwise null. */
export function planRefusal(...parameters: Parameters<typeof checkPlan>): string | null {
  try {
    checkPlan(...parameters)
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

/** @throws DeployFailure if the version needs Hasura, and the operator has not named its image or program */
export function checkHasura(plan: SquidPlan, config: Pick<Config, 'hasura' | 'SHOAL_RUNTIME'>): void {
  if (!plan.hasura || config.hasura) return
  const setting = config.SHOAL_RUNTIME === 'kubernetes' ? 'SHOAL_HASURA_IMAGE' : 'SHOAL_HASURA_PROGRAM'
  throw unsupportedAddon(
    'hasura',
    `Its operator can, with the setting ${setting}. Or serve GraphQL with the api section, for example by squid-graphql-server`,
  )
}

const unsupportedAddon = (addon: string, instead: string) =>
  new DeployFailure(
    'REQUIREMENTS',
    `This installation does not offer the addon ${addon}. ${instead}, and remove deploy.addons.${addon} from the manifest.`,
  )

/** Linux limits a variable with its name to 128 KiB, and all variables to 2 MiB, of which the platform's own variables need a part. */
const maxVariableBytes = 128 * 1024 - 1
const maxEnvironmentBytes = 1_000_000

/** @throws DeployFailure if the environment of a program is too large */
export function checkEnvironments(
  plan: Pick<SquidPlan, 'hasura' | 'postgres'>,
  { deploy, init, api, hasura, processors }: ReturnType<typeof evaluateEnvironments>,
): void {
  const missing = plan.hasura && missingForHasura({ ...deploy, ...hasura }, plan.postgres !== null)
  if (missing) throw new DeployFailure('REQUIREMENTS', missing)
  const sections: [string, Variables][] = [
    ['init', init],
    ['api', api],
    ['hasura', hasura],
    ...Object.entries(processors),
  ]
  for (const [container, own] of sections) {
    const sizes = Object.entries({ ...deploy, ...own }).map(([name, value]) => ({
      name,
      bytes: Buffer.byteLength(name) + Buffer.byteLength(value) + 2,
    }))
    const oversized = sizes.find(({ bytes }) => bytes > maxVariableBytes)
    if (oversized)
      throw new DeployFailure(
        'REQUIREMENTS',
        `The variable ${oversized.name} of ${container} has ${kb(oversized.bytes)}; the maximum is ${kb(maxVariableBytes)}. Shorten it, or read it from a file in the squid.`,
      )
    const bytes = sizes.reduce((total, size) => total + size.bytes, 0)
    if (bytes > maxEnvironmentBytes)
      throw new DeployFailure(
        'REQUIREMENTS',
        `The environment of ${container} has ${kb(bytes)}; the maximum is ${kb(maxEnvironmentBytes)}. Shorten the values in the manifest, or delete unused secrets: every squid receives all of them.`,
      )
  }
}

const kb = (bytes: number) => `${Math.ceil(bytes / 1000)} kB`
